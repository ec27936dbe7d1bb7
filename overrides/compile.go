// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/jsonpatch"
	"github.com/fairlead-dev/fairlead/overrides/selection"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// Set is a compiled list of overrides. Apply can use one Set for many members, also concurrently.
type Set struct {
	overrides []override
}

type override struct {
	index     int
	selection selection.Selection
	target    v1alpha1.OverrideTarget
	patch     []operation
	merge     map[string]any // nil if the override has a patch
	directive string         // the first directive of the strategic merge in merge, for example $patch; "" if there is none
}

type operation struct {
	jsonpatch.Operation
	source *source // the source of the value (valueFrom); nil if the operation itself has a value
}

// Compile parses overrides for Apply. Every error of Compile is an *Error. Validate refuses everything that Compile refuses, and more. The
// errors of Validate also name the exact field.
func Compile(list []v1alpha1.Override) (*Set, error) {
	set := &Set{overrides: make([]override, 0, len(list))}
	for i := range list {
		o, err := compile(i, &list[i])
		if err != nil {
			return nil, err
		}
		set.overrides = append(set.overrides, o)
	}
	return set, nil
}

func compile(index int, from *v1alpha1.Override) (override, error) {
	fail := func(operation int, part string, err error) (override, error) {
		return override{}, &Error{Override: index, Operation: operation, Part: part, Doing: "reading it", Problem: err.Error()}
	}
	o := override{index: index, target: from.Target}
	var err error
	if o.selection, err = selection.New(from.Clusters); err != nil {
		return fail(None, "clusters", err)
	}
	if (len(from.Patch) > 0) == (from.Merge != nil) {
		return fail(None, "", errors.New("give patch or merge, exactly one of them"))
	}
	if from.Merge != nil {
		if o.merge, err = strictjson.DecodeObject(from.Merge.Raw); err != nil {
			return fail(None, "merge", err)
		}
		o.directive = directive(o.merge)
		return o, nil
	}
	o.patch = make([]operation, len(from.Patch))
	for j := range from.Patch {
		if o.patch[j], err = newOperation(&from.Patch[j]); err != nil {
			return fail(j, "", err)
		}
	}
	return o, nil
}

// Selecting returns the indexes of the overrides that select member m, in the order of the spec.
func (s *Set) Selecting(m selection.Member) []int {
	var selecting []int
	for i := range s.overrides {
		if s.overrides[i].selection.Selects(m) {
			selecting = append(selecting, i)
		}
	}
	return selecting
}

// Variant appends to key everything in which the renderings of two members can differ: which overrides select the member, and the values that
// these overrides take from the member. Members with equal keys get equal objects, so the caller renders only once for them.
func (s *Set) Variant(key []byte, m selection.Member) []byte {
	for i := range s.overrides {
		o := &s.overrides[i]
		if !o.selection.Selects(m) {
			continue
		}
		key = strconv.AppendInt(key, int64(i), 10)
		key = append(key, ';')
		for j := range o.patch {
			if o.patch[j].source == nil {
				continue
			}
			value, there := o.patch[j].source.value(m)
			if !there {
				key = append(key, '-')
				continue
			}
			key = strconv.AppendInt(key, int64(len(value)), 10)
			key = append(append(key, ':'), value...)
		}
	}
	return key
}

// Selecting returns the indexes of the overrides in list that select member m, in the order of list.
func Selecting(list []v1alpha1.Override, m selection.Member) ([]int, error) {
	set, err := Compile(list)
	if err != nil {
		return nil, err
	}
	return set.Selecting(m), nil
}

// Apply applies the overrides in list that select member m. It compiles list at each call: for many members use Compile and Set.Apply.
func Apply(objects []*unstructured.Unstructured, list []v1alpha1.Override, m selection.Member) ([]*unstructured.Unstructured, error) {
	set, err := Compile(list)
	if err != nil {
		return nil, err
	}
	result, _, err := set.Apply(objects, m)
	return result, err
}
