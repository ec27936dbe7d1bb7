// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// validateStartingCSVs refuses a Subscription whose startingCSV is a later version than targetCSV. On a member where the
// operator is not installed yet, the manager would approve no InstallPlan, and would report UpgradeSkipsTarget only after
// the push. Objects that cannot be decoded are left to overrides.Validate.
func validateStartingCSVs(spec *v1alpha1.WrapperSpec) field.ErrorList {
	if len(spec.Upgrade.Subscriptions) == 0 {
		return nil
	}
	targets := spec.Upgrade.Targets()
	var errs field.ErrorList
	for i, obj := range objectsOf(spec, upgrade.Subscription) {
		starting, _, _ := unstructured.NestedString(obj.Object, "spec", "startingCSV")
		target := targets[obj.GetName()]
		if upgrade.IsLater(starting, target) {
			errs = append(errs, field.Invalid(field.NewPath("spec", "objects").Index(i).Child("spec", "startingCSV"), starting,
				fmt.Sprintf("it is a later version than targetCSV, %s, and OLM cannot downgrade: leave startingCSV out; the manager then sets it to targetCSV", target)))
		}
	}
	return errs
}

// validateReinstalls refuses a wrapper that asks for a rollback by reinstalls while the manager reinstalls no operators. The rollback
// would end, and members would still run the version that failed. That is why onFailure: Rollback is refused without rollback: Reinstall.
// The parameter before is the earlier spec; nil if the wrapper is new. A wrapper that asked for it before, for example when the manager
// had the flag, can still be edited: it gets a warning.
func (v validation) validateReinstalls(before, spec *v1alpha1.WrapperSpec) field.ErrorList {
	if v.reinstallsOperators || !rollsBackByReinstalls(spec) || before != nil && rollsBackByReinstalls(before) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "rollout", "onFailure"), "the manager runs without --reinstall-operators, so upgrade.rollback: Reinstall "+
		"has no effect, and clusters would keep the operator that failed: write onFailure: Pause, or let an administrator of the host start the manager with that flag")}
}

func rollsBackByReinstalls(spec *v1alpha1.WrapperSpec) bool {
	return spec.Rollout.OnFailure == v1alpha1.FailureRollback && spec.Upgrade.Reinstalls()
}

// latestAtOnce warns if the manager would take a new version for all members at once, because the rollout has no waves.
func latestAtOnce(spec *v1alpha1.WrapperSpec) []string {
	if !upgrade.TakesLatest(&spec.Upgrade) || len(spec.Rollout.Waves) > 0 {
		return nil
	}
	return []string{"spec.upgrade: without spec.rollout.waves, a Subscription whose approve is Latest takes a version when OLM offers it on all placed clusters, and no cluster tries it first"}
}

// becomingManual warns of Subscriptions that were Automatic before an edit, and that have a target after it. The parameter
// before is the earlier spec; nil if the wrapper is new. The warning is needed because one Manual Subscription makes every
// InstallPlan of its namespace Manual. The manager checks for Subscriptions of other owners before it creates a
// Subscription, but not before it changes one.
func becomingManual(before, spec *v1alpha1.WrapperSpec) []string {
	if before == nil || len(spec.Upgrade.Subscriptions) == 0 {
		return nil
	}
	automatic := make(map[types.NamespacedName]bool)
	for _, sub := range objectsOf(before, upgrade.Subscription) {
		approval, _, _ := unstructured.NestedString(sub.Object, "spec", "installPlanApproval")
		automatic[types.NamespacedName{Namespace: sub.GetNamespace(), Name: sub.GetName()}] = approval != string(operators.ApprovalManual)
	}
	targets := spec.Upgrade.Targets()
	var warnings []string
	for i, sub := range objectsOf(spec, upgrade.Subscription) {
		if targets[sub.GetName()] == "" || !automatic[types.NamespacedName{Namespace: sub.GetNamespace(), Name: sub.GetName()}] {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("spec.objects[%d].spec.installPlanApproval: Subscription %s was Automatic and becomes Manual. OLM then makes every InstallPlan "+
			"of its namespace wait for approval: if other owners have Subscriptions there, the manager approves their upgrades only together with a step of this wrapper",
			i, sub.GetName()))
	}
	return warnings
}

// unorderedTargets warns of targets whose names do not end in a version, so that no order of versions is known.
func unorderedTargets(spec *v1alpha1.WrapperSpec) []string {
	var warnings []string
	for i := range spec.Upgrade.Subscriptions {
		target := spec.Upgrade.Subscriptions[i].TargetCSV
		if target == "" {
			continue // the Subscription has approve: Latest, and so no targetCSV
		}
		if _, ok := upgrade.Order(target, target); !ok {
			warnings = append(warnings, fmt.Sprintf("spec.upgrade.subscriptions[%d].targetCSV: %s does not end in a version such as v1.2.3, "+
				"so the manager approves the InstallPlan for this CSV only, and none for a version before it", i, target))
		}
	}
	return warnings
}
