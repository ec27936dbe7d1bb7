// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// IsBlocked reports whether an object in a Delivery's status can become healthy only after a person acts. The parameter subscriptions
// has the Subscriptions of the same status. It is true for two kinds of objects only, because the same reason may mean something else
// for another kind:
//   - a ClusterExtension (OLM v1) that OLM does not try again
//   - a Subscription with a target whose InstallPlan has failed, or has been executed for longer than olmDeadline
func IsBlocked(o *v1alpha1.ObjectStatus, subscriptions []v1alpha1.ObservedSubscription) bool {
	if o.Health != v1alpha1.Degraded {
		return false
	}
	switch (schema.GroupKind{Group: o.Group, Kind: o.Kind}) {
	case kindClusterExtension:
		return o.Reason == v1alpha1.ReasonBlocked
	case upgrade.Subscription:
		return (o.Reason == string(operators.SubscriptionInstallPlanFailed) || o.Reason == v1alpha1.ReasonInstallPlanTimedOut) &&
			slices.ContainsFunc(subscriptions, func(s v1alpha1.ObservedSubscription) bool { return s.Name == o.Name && s.TargetCSV != "" })
	}
	return false
}
