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

// protected are the fields that no override may change: the identity and the owners of an object, the fields that the member's API server writes, and
// Fairlead's marks. The annotations AnnotationKeep and AnnotationReplace are not protected: they are settings of the author.
var protected = []protection{
	{jsonpointer.Pointer{"apiVersion"}, "the field identifies the object, and an override must not make it another object"},
	{jsonpointer.Pointer{"kind"}, "the field identifies the object, and an override must not make it another object"},
	{jsonpointer.Pointer{"metadata", "name"}, "the field identifies the object, and an override must not make it another object"},
	{jsonpointer.Pointer{"metadata", "namespace"}, "the field identifies the object, and an override must not make it another object"},
	{jsonpointer.Pointer{"metadata", "generateName"}, "generateName would make a new object at each push"},
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
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelMade}, "the manager sets this label when it creates a namespace: remove the label"},
}

var (
	targetCSV           = jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationTargetCSV}
	installPlanApproval = jsonpointer.Pointer{"spec", "installPlanApproval"}
)

// manual protects spec.installPlanApproval of a Subscription that spec.upgrade names.
var manual = protection{installPlanApproval, "spec.upgrade names this Subscription, and without Manual OLM would upgrade past its target"}

type protection struct {
	path jsonpointer.Pointer
	why  string
}

// protectedChange compares an object before and after the overrides. It returns the first protected field that differs and a Failure about this field,
// or a nil Failure if all are equal. An absent field equals a null.
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
		return r.path, &jsonpatch.Failure{Problem: fmt.Sprintf("this would set %s to a value that no wrapped object may have: %s", r.path, r.why)}
	}
	return malformed(after)
}

func (p *protection) change(before, after map[string]any) *jsonpatch.Failure {
	was, _ := p.path.Lookup(before)
	is, _ := p.path.Lookup(after)
	if jsonpatch.Equal(was, is) {
		return nil
	}
	return &jsonpatch.Failure{Problem: fmt.Sprintf("this would change %s, which no override may change: %s", p.path, p.why)}
}

// malformed returns a path and a Failure if the labels or annotations of an object have a form with which the manager cannot add the marks. For example,
// if a label is not a string, adding a mark would remove all labels.
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

// servedGroup is the path of the API group in a CustomResourceDefinition. An override must not change it to Fairlead's own group, which no wrapper
// may define.
var servedGroup = jsonpointer.Pointer{"spec", "group"}

// mayChangeProtected reports whether an operation could change a protected field. Apply compares the protected fields after each such operation, so
// that its error can name the operation. In any case Apply compares them after the last operation.
func (op *operation) mayChangeProtected() bool {
	if op.Op == v1alpha1.PatchTest {
		return false
	}
	return holdsProtected(op.Path) || op.Op == v1alpha1.PatchMove && holdsProtected(op.From)
}

// holdsProtected reports whether a change at path p could change a protected field.
func holdsProtected(p jsonpointer.Pointer) bool {
	return p.Contains(servedGroup) || servedGroup.Contains(p) || p.Contains(installPlanApproval) || installPlanApproval.Contains(p) ||
		slices.ContainsFunc(protected, func(one protection) bool { return one.path[0] == p[0] })
}

// metadataEntries returns the cost, in units, to compare the protected fields of an object once.
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
