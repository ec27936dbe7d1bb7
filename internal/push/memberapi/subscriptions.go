// SPDX-License-Identifier: Apache-2.0

package memberapi

import (
	"context"
	"fmt"
	"strconv"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// The resources of OLM v0 that the manager reads and writes outside of passes.
var (
	Subscriptions          = olm("subscriptions")
	ClusterServiceVersions = olm("clusterserviceversions")
	InstallPlans           = olm("installplans")
	CatalogSources         = olm("catalogsources")
)

func olm(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: operators.GroupName, Version: operators.GroupVersion, Resource: resource}
}

// MaxSubscriptions is the largest number of Subscriptions of one namespace that ListSubscriptions reads.
const MaxSubscriptions = 500

// ListSubscriptions reads the Subscriptions of a namespace. complete is false if the namespace has more than MaxSubscriptions.
func ListSubscriptions(ctx context.Context, conn *member.Conn, namespace string) (all []operators.Subscription, complete bool, err error) {
	request := conn.REST().Get().AbsPath(member.Path(Subscriptions, namespace, "")...).Param("limit", strconv.Itoa(MaxSubscriptions))
	answer, err := member.Do(ctx, request, false)
	if err != nil {
		return nil, false, err
	}
	list := &subscriptionList{}
	if err := answer.IntoFields(operators.SubscriptionKind+"List", list); err != nil {
		return nil, false, fmt.Errorf("decoding the list: %w", err)
	}
	return list.subscriptions(), list.Metadata.Continue == "", nil
}

// subscriptionList has the fields of Subscriptions that the manager reads. It leaves out spec.config, because spec.config
// has quantities: a user of the member can write a quantity that takes very long to parse.
type subscriptionList struct {
	Metadata struct{ Continue string }
	Items    []struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              *struct {
			Package                          string `json:"name"`
			Channel, Source, SourceNamespace string
			StartingCSV                      string
			InstallPlanApproval              operators.Approval
		}
		Status operators.SubscriptionStatus
	}
}

func (l *subscriptionList) subscriptions() []operators.Subscription {
	all := make([]operators.Subscription, 0, len(l.Items))
	for i := range l.Items {
		from := &l.Items[i]
		sub := operators.Subscription{ObjectMeta: from.ObjectMeta, Status: from.Status}
		if s := from.Spec; s != nil {
			sub.Spec = &operators.SubscriptionSpec{Package: s.Package, Channel: s.Channel, CatalogSource: s.Source, CatalogSourceNamespace: s.SourceNamespace,
				StartingCSV: s.StartingCSV, InstallPlanApproval: s.InstallPlanApproval}
		}
		all = append(all, sub)
	}
	return all
}
