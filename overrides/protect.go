// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// protected are the fields that no override changes: who an object is, whose it is, what the member's
// API server fills in, and Fairlead's marks. AnnotationKeep and AnnotationReplace are the author's.
var protected = []protection{
	{pointer{"apiVersion"}, "an override tailors an object and does not make it another"},
	{pointer{"kind"}, "an override tailors an object and does not make it another"},
	{pointer{"metadata", "name"}, "an override tailors an object and does not make it another"},
	{pointer{"metadata", "namespace"}, "an override tailors an object and does not make it another"},
	{pointer{"metadata", "generateName"}, "it would make a new object at each push"},
	{pointer{"metadata", "ownerReferences"}, "owners on a member are the member's to name"},
	{pointer{"metadata", "finalizers"}, "a finalizer set from here would keep an object that nobody on the member lets go"},
	{pointer{"status"}, "it is the member's to write"},
	{pointer{"metadata", "uid"}, "it is the member's to write"},
	{pointer{"metadata", "resourceVersion"}, "it is the member's to write"},
	{pointer{"metadata", "generation"}, "it is the member's to write"},
	{pointer{"metadata", "managedFields"}, "it is the member's to write"},
	{pointer{"metadata", "creationTimestamp"}, "it is the member's to write"},
	{pointer{"metadata", "deletionTimestamp"}, "it is the member's to write"},
	{pointer{"metadata", "deletionGracePeriodSeconds"}, "it is the member's to write"},
	{pointer{"metadata", "selfLink"}, "it is the member's to write"},
	{pointer{"metadata", "labels", v1alpha1.LabelUID}, "Fairlead stamps its marks itself"},
	{pointer{"metadata", "annotations", v1alpha1.AnnotationWrapper}, "Fairlead stamps its marks itself"},
	{pointer{"metadata", "annotations", v1alpha1.AnnotationObject}, "Fairlead stamps its marks itself"},
	{pointer{"metadata", "annotations", v1alpha1.AnnotationRendering}, "Fairlead stamps its marks itself"},
	{pointer{"metadata", "labels", v1alpha1.LabelAggregateToHost}, "what Fairlead may do on a member is the member's to grant"},
	{pointer{"metadata", "labels", v1alpha1.LabelAggregateToCollector}, "what Fairlead may do on a member is the member's to grant"},
	{pointer{"metadata", "labels", v1alpha1.LabelOpen}, "the member's administrator opens namespaces there: take this label out"},
	{pointer{"metadata", "labels", v1alpha1.LabelMade}, "the manager sets it when it creates a namespace: take this label out"},
}

type protection struct {
	path pointer
	why  string
}

// trespass compares an object with what it was and says which protected field is another now. null
// and absent are the same. The second result is nil when all is well.
func trespass(before, after map[string]any) (pointer, *trouble) {
	for _, p := range protected {
		was, _ := p.path.lookup(before)
		is, _ := p.path.lookup(after)
		if !equal(was, is) {
			return p.path, &trouble{problem: fmt.Sprintf("this would change %s, which no override may: %s", p.path, p.why)}
		}
	}
	if r := reserved(&unstructured.Unstructured{Object: after}); r != nil {
		return r.path, &trouble{problem: fmt.Sprintf("this would make an object that is not federated by its %s: %s", r.path, r.why)}
	}
	return malformed(after)
}

// malformed says whether an object's metadata can carry marks: with a label that is no string, all
// labels would be lost when they are stamped.
func malformed(object map[string]any) (pointer, *trouble) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return pointer{"metadata"}, &trouble{problem: "this would leave the object without metadata"}
	}
	for _, field := range []string{"labels", "annotations"} {
		entries, ok := metadata[field].(map[string]any)
		if !ok {
			if metadata[field] == nil {
				continue
			}
			return pointer{"metadata", field}, &trouble{problem: fmt.Sprintf("/metadata/%s has to be an object", field)}
		}
		for key, value := range entries {
			if _, ok := value.(string); !ok {
				path := pointer{"metadata", field, key}
				return path, &trouble{problem: fmt.Sprintf("%s has to be a string; put it in quotes", path)}
			}
		}
	}
	return nil, nil
}

// servedGroup is the group that a CustomResourceDefinition serves, by which it can be reserved.
var servedGroup = pointer{"spec", "group"}

// mayTrespass says whether an operation can change a field that trespass looks at. It only tells after which operations
// to look, so that the one that crosses is named; the result is looked at in any case.
func (op *operation) mayTrespass() bool {
	if op.op == v1alpha1.PatchTest {
		return false
	}
	return holdsProtected(op.path) || op.op == v1alpha1.PatchMove && holdsProtected(op.from)
}

// holdsProtected says whether a pointer leads into a part of the object in which protected fields are.
func holdsProtected(p pointer) bool {
	return p.contains(servedGroup) || servedGroup.contains(p) ||
		slices.ContainsFunc(protected, func(one protection) bool { return one.path[0] == p[0] })
}
