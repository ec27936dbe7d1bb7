// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

var csvs = schema.GroupVersionResource{Group: operators.GroupName, Version: operators.GroupVersion, Resource: "clusterserviceversions"}

// installedBy returns the CSV that OLM has installed for a Subscription; the name is "" if there is none, or if the object of the removal is
// not a Subscription. The CSV has to be read before the Subscription is deleted, because nothing else leads to it.
func installedBy(ctx context.Context, conn *member.Conn, r *Removal, path []string) (csv types.NamespacedName, err error) {
	if r.GroupKind() != upgrade.Subscription {
		return csv, nil
	}
	answer, err := member.Do(ctx, conn.REST().Get().AbsPath(path...), false)
	if err != nil {
		return csv, err
	}
	var sub struct { // not operators.Subscription, because its spec.config has quantities
		Metadata struct{ Namespace string }
		Status   struct{ InstalledCSV string }
	}
	if err := answer.IntoFields(operators.SubscriptionKind, &sub); err != nil {
		return csv, err
	}
	if len(validation.IsDNS1123Subdomain(sub.Status.InstalledCSV)) > 0 {
		return csv, nil // none, or a member wrote what no object can be named
	}
	return types.NamespacedName{Namespace: sub.Metadata.Namespace, Name: sub.Status.InstalledCSV}, nil
}

// noteOperator adds the CSV of a Subscription that is gone to p.Kept, if the member still has it: OLM does not remove it. If the manager
// cannot read the CSV, it adds the CSV too.
func (p *Pruner) noteOperator(ctx context.Context, csv types.NamespacedName) error {
	if csv.Name == "" {
		return nil
	}
	_, err := memberapi.Metadata(ctx, p.conn, member.Path(csvs, csv.Namespace, csv.Name))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil && !memberapi.AnsweredAbout(csvs.Group, err) {
		return err
	}
	p.Kept = append(p.Kept, plan.Kept{Reason: v1alpha1.ReasonOperatorLeft, Object: memberapi.Ref(operators.ClusterServiceVersionKind, csv.String()),
		Why: "OLM leaves an operator when its Subscription is deleted"})
	return nil
}
