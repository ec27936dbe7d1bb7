// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/jsonpatch"
	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
)

// protected are the fields that no override changes: the identity and the owners of an object, the fields that the
// member's API server writes, and Fairlead's marks. AnnotationKeep and AnnotationReplace are not among them, because
// the author sets them.
var protected = []protection{
	{jsonpointer.Pointer{"apiVersion"}, "an override changes an object and does not make it another object"},
	{jsonpointer.Pointer{"kind"}, "an override changes an object and does not make it another object"},
	{jsonpointer.Pointer{"metadata", "name"}, "an override changes an object and does not make it another object"},
	{jsonpointer.Pointer{"metadata", "namespace"}, "an override changes an object and does not make it another object"},
	{jsonpointer.Pointer{"metadata", "generateName"}, "it would make a new object at each push"},
	{jsonpointer.Pointer{"metadata", "ownerReferences"}, "only the member names the owners of its objects"},
	{jsonpointer.Pointer{"metadata", "finalizers"}, "a finalizer from the host would block the object's deletion: no controller on the member removes it"},
	{jsonpointer.Pointer{"status"}, "only the member writes it"},
	{jsonpointer.Pointer{"metadata", "uid"}, "only the member writes it"},
	{jsonpointer.Pointer{"metadata", "resourceVersion"}, "only the member writes it"},
	{jsonpointer.Pointer{"metadata", "generation"}, "only the member writes it"},
	{jsonpointer.Pointer{"metadata", "managedFields"}, "only the member writes it"},
	{jsonpointer.Pointer{"metadata", "creationTimestamp"}, "only the member writes it"},
	{jsonpointer.Pointer{"metadata", "deletionTimestamp"}, "only the member writes it"},
	{jsonpointer.Pointer{"metadata", "deletionGracePeriodSeconds"}, "only the member writes it"},
	{jsonpointer.Pointer{"metadata", "selfLink"}, "only the member writes it"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelUID}, "only Fairlead sets its marks"},
	{jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationWrapper}, "only Fairlead sets its marks"},
	{jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationObject}, "only Fairlead sets its marks"},
	{jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationRendering}, "only Fairlead sets its marks"},
	{jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationAdopted}, "only Fairlead sets its marks"},
	{targetCSV, "Fairlead sets it from spec.upgrade"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelAggregateToHost}, "only the member's administrator gives Fairlead permissions on a member"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelAggregateToCollector}, "only the member's administrator gives Fairlead permissions on a member"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelOpen}, "only the member's administrator opens namespaces: remove this label"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelMade}, "the manager sets it when it creates a namespace: remove this label"},
}

var (
	targetCSV           = jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationTargetCSV}
	installPlanApproval = jsonpointer.Pointer{"spec", "installPlanApproval"}
)

// manual protects a Subscription that spec.upgrade names: it stays Manual.
var manual = protection{installPlanApproval, "spec.upgrade names this Subscription, and without Manual OLM would upgrade past its target"}

type protection struct {
	path jsonpointer.Pointer
	why  string
}

// protectedChange compares an object with its earlier state, and returns the first protected field that has changed.
// null and absent are equal. The second result is nil if no field has changed.
func protectedChange(before, after map[string]any) (jsonpointer.Pointer, *jsonpatch.Failure) {
	for i := range protected {
		if t := protected[i].change(before, after); t != nil {
			return protected[i].path, t
		}
	}
	if _, named := targetCSV.Lookup(before); named {
		if t := manual.change(before, after); t != nil {
			return manual.path, t
		}
	}
	if r := reserved(&unstructured.Unstructured{Object: after}); r != nil {
		return r.path, &jsonpatch.Failure{Problem: fmt.Sprintf("this would set %s to a value that no federated object may have: %s", r.path, r.why)}
	}
	return malformed(after)
}

func (p *protection) change(before, after map[string]any) *jsonpatch.Failure {
	was, _ := p.path.Lookup(before)
	is, _ := p.path.Lookup(after)
	if jsonpatch.Equal(was, is) {
		return nil
	}
	return &jsonpatch.Failure{Problem: fmt.Sprintf("this would change %s, which no override may: %s", p.path, p.why)}
}

// malformed reports whether the metadata of an object cannot carry marks. For example, a label that is no string would
// make the object lose all labels when the manager sets the marks.
func malformed(object map[string]any) (jsonpointer.Pointer, *jsonpatch.Failure) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return jsonpointer.Pointer{"metadata"}, &jsonpatch.Failure{Problem: "this would leave the object without metadata"}
	}
	for _, field := range []string{"labels", "annotations"} {
		entries, ok := metadata[field].(map[string]any)
		if !ok {
			if metadata[field] == nil {
				continue
			}
			return jsonpointer.Pointer{"metadata", field}, &jsonpatch.Failure{Problem: fmt.Sprintf("/metadata/%s has to be an object", field)}
		}
		for key, value := range entries {
			if _, ok := value.(string); !ok {
				path := jsonpointer.Pointer{"metadata", field, key}
				return path, &jsonpatch.Failure{Problem: fmt.Sprintf("%s has to be a string; put it in quotes", path)}
			}
		}
	}
	return nil, nil
}

// servedGroup is the field with the group that a CustomResourceDefinition serves. A CRD of a reserved group is
// reserved.
var servedGroup = jsonpointer.Pointer{"spec", "group"}

// mayChangeProtected reports whether an operation can change a protected field. It only selects the operations after
// which the fields are compared, so that an error can name the operation. The final result is always compared.
func (op *operation) mayChangeProtected() bool {
	if op.Op == v1alpha1.PatchTest {
		return false
	}
	return holdsProtected(op.Path) || op.Op == v1alpha1.PatchMove && holdsProtected(op.From)
}

// holdsProtected reports whether a pointer leads into a part of the object with protected fields.
func holdsProtected(p jsonpointer.Pointer) bool {
	return p.Contains(servedGroup) || servedGroup.Contains(p) || p.Contains(installPlanApproval) || installPlanApproval.Contains(p) ||
		slices.ContainsFunc(protected, func(one protection) bool { return one.path[0] == p[0] })
}

// metadataEntries is the cost of one check for changed protected fields.
func metadataEntries(object map[string]any) int64 {
	n := len(protected)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		for _, field := range []string{"labels", "annotations"} {
			if entries, ok := metadata[field].(map[string]any); ok {
				n += len(entries)
			}
		}
	}
	return int64(n) * jsonpatch.PerByte
}
