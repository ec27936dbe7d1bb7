// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/jsonpatch"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// ValidateWork returns a fault when the overrides that select every member take more work than they may. It applies them
// for a member without name and labels. An operation that fails there is skipped, because it may work for a real member.
// Admission and hostctl call it after Validate found no fault. A spec that passes can still be too costly for a member
// that more overrides select: Set.Apply then returns the error.
func ValidateWork(spec *v1alpha1.WrapperSpec) field.ErrorList {
	set, err := Compile(spec.Overrides)
	if err != nil {
		return nil // Validate's to say
	}
	objects := make([]*unstructured.Unstructured, 0, len(spec.Objects))
	for i := range spec.Objects {
		obj, err := strictjson.Decode(spec.Objects[i])
		if err != nil {
			return nil
		}
		objects = append(objects, obj)
	}
	r := &rendering{objects: objects, result: slices.Clone(objects), depths: make([]int, len(objects)), rehearsing: true}
	r.budget = jsonpatch.NewBudget(maxWork)
	for i := range set.overrides {
		o := &set.overrides[i]
		if !o.selection.Selects(r.member) {
			continue
		}
		if err := r.lay(o); err != nil && err.TooCostly {
			return field.ErrorList{field.Invalid(field.NewPath("spec").Child(err.Field()), field.OmitValueType{}, err.inWords())}
		}
	}
	return nil
}
