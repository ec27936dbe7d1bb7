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

// ValidateWork returns a fault if the overrides that select every member exceed the work limit. It applies these overrides for a member without a name and
// without labels. An operation that fails for this member could work for a real one, so ValidateWork skips it. Admission and hostctl call
// ValidateWork after Validate has found no fault. More overrides can select a real member. If all of them together exceed the limit, only
// Set.Apply returns an error, for that member.
func ValidateWork(spec *v1alpha1.WrapperSpec) field.ErrorList {
	set, err := Compile(spec.Overrides)
	if err != nil {
		return nil // Validate reports this fault
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
		if err := r.apply(o); err != nil && err.TooCostly {
			return field.ErrorList{field.Invalid(field.NewPath("spec").Child(err.Field()), field.OmitValueType{}, err.inWords())}
		}
	}
	return nil
}
