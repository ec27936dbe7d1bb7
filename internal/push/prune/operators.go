// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

var csvs = schema.GroupVersionResource{Group: operators.GroupName, Version: operators.GroupVersion, Resource: "clusterserviceversions"}

// installedBy returns the name of the CSV that OLM has installed for a Subscription. It is "" if there is none, if the object of the removal is
// not a Subscription, or if the member refuses to show it: that must not delay the removal. The manager has to read the name before it deletes
// the Subscription, because nothing else leads to the CSV.
func installedBy(ctx context.Context, conn *member.Conn, r *Removal, path []string) (csv string, err error) {
	if r.GroupKind() != upgrade.Subscription {
		return "", nil
	}
	answer, err := member.Do(ctx, conn.REST().Get().AbsPath(path...), false)
	if apierrors.IsNotFound(err) || err != nil && memberapi.AnsweredAbout(operators.GroupName, err) {
		return "", nil
	}
	var sub struct { // not operators.Subscription, because its spec.config has quantities
		Status struct{ InstalledCSV string }
	}
	if err == nil {
		err = answer.IntoFields(operators.SubscriptionKind, &sub)
	}
	if err != nil || len(validation.IsDNS1123Subdomain(sub.Status.InstalledCSV)) > 0 { // a member can write a text that is no name
		return "", err
	}
	return sub.Status.InstalledCSV, nil
}

// noteOperator adds the CSV of a Subscription that the manager has deleted to p.Kept, unless the member answers that it does not have the CSV:
// OLM does not remove it. Subscriptions are in the wrapper's namespace.
func (p *Pruner) noteOperator(ctx context.Context, csv string) {
	if csv == "" {
		return
	}
	namespace := p.desired.Wrapper.Namespace
	if _, err := memberapi.Metadata(ctx, p.conn, member.Path(csvs, namespace, csv)); apierrors.IsNotFound(err) {
		return
	}
	p.Kept = append(p.Kept, plan.Kept{Reason: v1alpha1.ReasonOperatorLeft, Object: memberapi.Ref(operators.ClusterServiceVersionKind, namespace+"/"+csv),
		Why: "OLM leaves an operator when its Subscription is deleted"})
}
