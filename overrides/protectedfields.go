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

// protected are the fields that no override changes: the identity and the owners of an object, the fields that the member's
// API server fills in, and Fairlead's marks. AnnotationKeep and AnnotationReplace are the author's.
var protected = []protection{
	{jsonpointer.Pointer{"apiVersion"}, "an override changes an object and does not make it another object"},
	{jsonpointer.Pointer{"kind"}, "an override changes an object and does not make it another object"},
	{jsonpointer.Pointer{"metadata", "name"}, "an override changes an object and does not make it another object"},
	{jsonpointer.Pointer{"metadata", "namespace"}, "an override changes an object and does not make it another object"},
	{jsonpointer.Pointer{"metadata", "generateName"}, "it would make a new object at each push"},
	{jsonpointer.Pointer{"metadata", "ownerReferences"}, "owners on a member are the member's to name"},
	{jsonpointer.Pointer{"metadata", "finalizers"}, "a finalizer from the host would block the object's deletion: no controller on the member removes it"},
	{jsonpointer.Pointer{"status"}, "it is the member's to write"},
	{jsonpointer.Pointer{"metadata", "uid"}, "it is the member's to write"},
	{jsonpointer.Pointer{"metadata", "resourceVersion"}, "it is the member's to write"},
	{jsonpointer.Pointer{"metadata", "generation"}, "it is the member's to write"},
	{jsonpointer.Pointer{"metadata", "managedFields"}, "it is the member's to write"},
	{jsonpointer.Pointer{"metadata", "creationTimestamp"}, "it is the member's to write"},
	{jsonpointer.Pointer{"metadata", "deletionTimestamp"}, "it is the member's to write"},
	{jsonpointer.Pointer{"metadata", "deletionGracePeriodSeconds"}, "it is the member's to write"},
	{jsonpointer.Pointer{"metadata", "selfLink"}, "it is the member's to write"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelUID}, "Fairlead stamps its marks itself"},
	{jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationWrapper}, "Fairlead stamps its marks itself"},
	{jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationObject}, "Fairlead stamps its marks itself"},
	{jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationRendering}, "Fairlead stamps its marks itself"},
	{jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationAdopted}, "Fairlead stamps its marks itself"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelAggregateToHost}, "what Fairlead may do on a member is the member's to grant"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelAggregateToCollector}, "what Fairlead may do on a member is the member's to grant"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelOpen}, "the member's administrator opens namespaces there: take this label out"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelMade}, "the manager sets it when it creates a namespace: take this label out"},
}

type protection struct {
	path jsonpointer.Pointer
	why  string
}

// protectedChange compares an object with its earlier state, and returns the first protected field that has changed.
// null and absent are equal. The second result is nil if none has changed.
func protectedChange(before, after map[string]any) (jsonpointer.Pointer, *jsonpatch.Failure) {
	for _, p := range protected {
		was, _ := p.path.Lookup(before)
		is, _ := p.path.Lookup(after)
		if !jsonpatch.Equal(was, is) {
			return p.path, &jsonpatch.Failure{Problem: fmt.Sprintf("this would change %s, which no override may: %s", p.path, p.why)}
		}
	}
	if r := reserved(&unstructured.Unstructured{Object: after}); r != nil {
		return r.path, &jsonpatch.Failure{Problem: fmt.Sprintf("this would make an object that is not federated by its %s: %s", r.path, r.why)}
	}
	return malformed(after)
}

// malformed reports whether the metadata of an object cannot carry marks: a label that is no string would make the
// object lose all labels when the manager sets the marks.
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

// servedGroup is the group that a CustomResourceDefinition serves. A CRD of a reserved group is reserved.
var servedGroup = jsonpointer.Pointer{"spec", "group"}

// mayChangeProtected reports whether an operation can change a protected field. It only selects the operations to
// check, so that an error names the operation. The result is always checked.
func (op *operation) mayChangeProtected() bool {
	if op.Op == v1alpha1.PatchTest {
		return false
	}
	return holdsProtected(op.Path) || op.Op == v1alpha1.PatchMove && holdsProtected(op.From)
}

// holdsProtected reports whether a pointer leads into a part of the object with protected fields.
func holdsProtected(p jsonpointer.Pointer) bool {
	return p.Contains(servedGroup) || servedGroup.Contains(p) ||
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
