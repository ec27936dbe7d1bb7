// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

var subscription = schema.GroupKind{Group: olm, Kind: "Subscription"}

// targets are the target CSVs by the names of Subscriptions, nil if the wrapper has none.
type targets map[string]string

func targetsOf(upgrade *v1alpha1.Upgrade) targets {
	if len(upgrade.Subscriptions) == 0 {
		return nil
	}
	t := make(targets, len(upgrade.Subscriptions))
	for i := range upgrade.Subscriptions {
		t[upgrade.Subscriptions[i].Name] = upgrade.Subscriptions[i].TargetCSV
	}
	return t
}

// set writes the target into a Subscription that spec.upgrade names. Without startingCSV, a member that joins later
// would first install the head of the channel, which may be beyond the target. An author's own startingCSV stays.
func (t targets) set(obj *unstructured.Unstructured) error {
	target := t[obj.GetName()]
	if target == "" || obj.GroupVersionKind().GroupKind() != subscription {
		return nil
	}
	spec, ok := obj.Object["spec"].(map[string]any)
	if !ok {
		return errors.New("spec has to be an object")
	}
	// Overrides cannot change it afterwards: package overrides protects it on objects with the annotation.
	if spec["installPlanApproval"] != "Manual" {
		return fmt.Errorf("spec.upgrade names Subscription %s, and its spec.installPlanApproval is not Manual: OLM would upgrade past %s by itself",
			obj.GetName(), target)
	}
	if given := spec["startingCSV"]; given == nil || given == "" {
		spec["startingCSV"] = target
	}
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string, 1)
	}
	annotations[v1alpha1.AnnotationTargetCSV] = target
	obj.SetAnnotations(annotations)
	return nil
}
