// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// LacksPlan reports whether the InstallPlan that a Subscription with a target waits for was deleted. The parameter plan is the plan
// that status.installPlanRef names; nil if it does not exist. The caller then looks for another one, with PlanInstead.
//
// OLM makes no new plan for a Subscription whose state is UpgradePending (nothingToUpdate in
// pkg/controller/operators/catalog/operator.go of OLM v0.46). But it makes one when another Subscription of the namespace changes.
// The new plan then also has the CSV of the first Subscription, whose status still names the old plan. And OLM itself deletes old
// plans: it keeps five in a namespace.
func LacksPlan(sub, plan *unstructured.Unstructured) bool {
	return plan == nil && upgrade.TargetOf(sub) != "" && text(sub.Object, "status", "installPlanRef", "name") != "" &&
		text(sub.Object, "status", "state") == string(operators.SubscriptionStateUpgradePending)
}

// PlanInstead returns the newest InstallPlan of a namespace that can still install the currentCSV of a Subscription; nil if there is
// none.
func PlanInstead(sub *unstructured.Unstructured, plans []unstructured.Unstructured) (newest *unstructured.Unstructured) {
	current, generation := text(sub.Object, "status", "currentCSV"), int64(-1)
	for i := range plans {
		plan := &plans[i]
		if !installs(plan, current) || text(plan.Object, "status", "phase") == string(operators.InstallPlanPhaseComplete) {
			continue
		}
		if g, _, _ := unstructured.NestedInt64(plan.Object, "spec", "generation"); newest == nil || g > generation {
			newest, generation = plan, g
		}
	}
	return newest
}

// installs reports whether an InstallPlan has a CSV.
func installs(plan *unstructured.Unstructured, csv string) bool {
	names, _, _ := unstructured.NestedStringSlice(plan.Object, "spec", "clusterServiceVersionNames")
	return slices.Contains(names, csv)
}
