// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// targets maps the names of Subscriptions to their target CSVs. With `approve: Latest` the target is TargetLatest, until
// the manager has taken a version.
type targets map[string]string

// set writes the target into a Subscription that spec.upgrade names, as an annotation and as startingCSV. Without
// startingCSV, OLM on a member that joins later would first install the newest version of the channel, which may be
// beyond the target. A startingCSV of the author stays.
func (t targets) set(obj *unstructured.Unstructured) error {
	target := t[obj.GetName()]
	if target == "" || obj.GroupVersionKind().GroupKind() != upgrade.Subscription {
		return nil
	}
	spec, ok := obj.Object["spec"].(map[string]any)
	if !ok {
		return errors.New("spec has to be an object")
	}
	// After this check no override can change installPlanApproval, because package overrides refuses a change of that
	// field on an object with the annotation.
	if spec["installPlanApproval"] != "Manual" {
		return fmt.Errorf("spec.upgrade names Subscription %s, and its spec.installPlanApproval is not Manual: set it to Manual, or OLM upgrades past the target by itself",
			obj.GetName())
	}
	if given := spec["startingCSV"]; target != v1alpha1.TargetLatest && (given == nil || given == "") {
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

// Target is the target of one Subscription in a rendering.
type Target struct {
	Namespace, Name string
	// CSV is the target CSV; "" if spec.upgrade does not name the Subscription.
	CSV string
}

// Targets returns the targets of all Subscriptions in the rendering, in the order of its objects.
func (r *Rendering) Targets() (all []Target, err error) {
	err = r.EachSubscription(func(o *Object, obj *unstructured.Unstructured) {
		all = append(all, Target{Namespace: o.Namespace, Name: o.Name, CSV: upgrade.TargetOf(obj)})
	})
	return all, err
}

// EachSubscription calls do for each Subscription in the rendering, in the order of its objects. obj is the decoded content of o. The error
// is one of decoding.
func (r *Rendering) EachSubscription(do func(o *Object, obj *unstructured.Unstructured)) error {
	for i := range r.Objects {
		o := &r.Objects[i]
		if o.GVK.GroupKind() != upgrade.Subscription {
			continue
		}
		obj, err := o.Unstructured()
		if err != nil {
			return err
		}
		do(o, obj)
	}
	return nil
}
