// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// validateUpgrade returns the faults of spec.upgrade: a name without a Subscription in the wrapper, a Subscription without installPlanApproval: Manual,
// onFailure: Rollback without rollback: Reinstall, or a field that rollback: Reinstall cannot be combined with. The parameter objects has all
// objects of the wrapper, in the order of the spec.
func validateUpgrade(spec *v1alpha1.WrapperSpec, objects []*unstructured.Unstructured, path *field.Path) field.ErrorList {
	upgrade := &spec.Upgrade
	if len(upgrade.Subscriptions) == 0 && upgrade.SharedNamespace == "" && upgrade.Rollback == "" {
		return nil
	}
	var names []string
	for _, obj := range objects {
		if isSubscription(obj) {
			names = append(names, obj.GetName())
		}
	}
	at := path.Child("upgrade")
	if len(names) == 0 {
		return field.ErrorList{field.Forbidden(at,
			"the wrapper has no Subscription (operators.coreos.com) that could be upgraded: add the Subscription to objects, or leave upgrade out")}
	}
	var errs field.ErrorList
	for i := range upgrade.Subscriptions {
		name := upgrade.Subscriptions[i].Name
		if !slices.Contains(names, name) {
			errs = append(errs, field.Invalid(at.Child("subscriptions").Index(i).Child("name"), name,
				"give the metadata.name of a Subscription in spec.objects; the wrapper has "+strings.Join(names, ", ")))
			continue
		}
		for j, obj := range objects {
			if isSubscription(obj) && obj.GetName() == name {
				errs = append(errs, validateManual(obj, path.Child("objects").Index(j))...)
			}
		}
	}
	if spec.Rollout.OnFailure == v1alpha1.FailureRollback && !upgrade.Reinstalls() {
		errs = append(errs, field.Forbidden(path.Child("rollout", "onFailure"),
			"OLM cannot downgrade an operator, so a wrapper with upgrade cannot roll back: write onFailure: Pause, or upgrade.rollback: Reinstall, "+
				"which needs the manager's flag --reinstall-operators"))
	}
	return append(errs, validateReinstall(spec, path)...)
}

// validateReinstall returns the faults of a spec with rollback: Reinstall: fields with which the manager could never finish a reinstall, or never begin one.
func validateReinstall(spec *v1alpha1.WrapperSpec, path *field.Path) field.ErrorList {
	if !spec.Upgrade.Reinstalls() {
		return nil
	}
	var errs field.ErrorList
	for i := range spec.Upgrade.Subscriptions {
		if spec.Upgrade.Subscriptions[i].Approve == v1alpha1.ApproveLatest {
			errs = append(errs, field.Forbidden(path.Child("upgrade", "subscriptions").Index(i).Child("approve"),
				"with approve: Latest the manager never goes back to an earlier version, so rollback: Reinstall has no effect: give targetCSV, or write rollback: Never"))
		}
	}
	if spec.Drift == v1alpha1.DriftReport {
		errs = append(errs, field.Forbidden(path.Child("drift"),
			"a reinstall deletes the Subscription and creates it again, and with drift: Report the manager creates nothing again: write drift: Repair, or upgrade.rollback: Never"))
	}
	return errs
}

// validateManual checks that a Subscription has installPlanApproval: Manual. Without it, OLM would upgrade before the manager has approved.
func validateManual(obj *unstructured.Unstructured, at *field.Path) field.ErrorList {
	const wayOut = "spec.upgrade names this Subscription: write installPlanApproval: Manual, or OLM upgrades by itself"
	if _, ok := obj.Object["spec"].(map[string]any); !ok {
		return field.ErrorList{field.Required(at.Child("spec"), "it has to be an object with channel, name, source and sourceNamespace")}
	}
	at = at.Child("spec", "installPlanApproval")
	switch value, _ := installPlanApproval.Lookup(obj.Object); value {
	case "Manual":
		return nil
	case nil, "":
		return field.ErrorList{field.Required(at, wayOut)}
	default:
		return field.ErrorList{field.Invalid(at, value, wayOut)}
	}
}

func isSubscription(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "operators.coreos.com", Kind: "Subscription"}
}
