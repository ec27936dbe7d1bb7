// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// validateStartingCSVs refuses a startingCSV beyond the target. The manager would approve no InstallPlan on a member
// without the operator, so this saves the author the wait for UpgradeSkipsTarget. It skips objects that it cannot read;
// overrides.Validate reports those.
func validateStartingCSVs(spec *v1alpha1.WrapperSpec) field.ErrorList {
	if len(spec.Upgrade.Subscriptions) == 0 {
		return nil
	}
	targets := make(map[string]string, len(spec.Upgrade.Subscriptions))
	for i := range spec.Upgrade.Subscriptions {
		targets[spec.Upgrade.Subscriptions[i].Name] = spec.Upgrade.Subscriptions[i].TargetCSV
	}
	var errs field.ErrorList
	for i := range spec.Objects {
		obj, err := strictjson.Decode(spec.Objects[i])
		if err != nil || obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "operators.coreos.com", Kind: "Subscription"}) {
			continue
		}
		starting, _, _ := unstructured.NestedString(obj.Object, "spec", "startingCSV")
		target := targets[obj.GetName()]
		if later, ok := upgrade.Order(starting, target); ok && later > 0 {
			errs = append(errs, field.Invalid(field.NewPath("spec", "objects").Index(i).Child("spec", "startingCSV"), starting,
				fmt.Sprintf("it is a later version than targetCSV, %s, and OLM cannot downgrade: leave startingCSV out, and the manager sets it to targetCSV", target)))
		}
	}
	return errs
}

// unorderedTargets warns of targets whose names have no version.
func unorderedTargets(spec *v1alpha1.WrapperSpec) []string {
	var warnings []string
	for i := range spec.Upgrade.Subscriptions {
		target := spec.Upgrade.Subscriptions[i].TargetCSV
		if _, ok := upgrade.Order(target, target); !ok {
			warnings = append(warnings, fmt.Sprintf("spec.upgrade.subscriptions[%d].targetCSV: %s does not end in a version such as v1.2.3, "+
				"so the manager approves the InstallPlan for this CSV only, and none for a version before it", i, target))
		}
	}
	return warnings
}
