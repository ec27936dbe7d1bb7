// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// maxCopied bounds what the copy operations of all overrides may add for one member, in bytes.
const maxCopied = 1 << 20

// Set is a list of overrides, read once and ready to be applied for many members. It is safe for
// concurrent use.
type Set struct {
	overrides []override
}

type override struct {
	index     int
	selection Selection
	target    v1alpha1.OverrideTarget
	patch     []operation
	merge     map[string]any // nil where it is a patch
}

type operation struct {
	op         v1alpha1.PatchOp
	path, from pointer
	value      any
	source     *source // nil where the value is given
}

// Compile reads overrides. What it refuses, Validate refuses with the exact field; an error here is
// an *Error.
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
	if o.selection, err = NewSelection(from.Clusters); err != nil {
		return fail(None, "clusters", err)
	}
	if (len(from.Patch) > 0) == (from.Merge != nil) {
		return fail(None, "", errors.New("give patch or merge, exactly one of them"))
	}
	if from.Merge != nil {
		if o.merge, err = decodeObject(from.Merge.Raw); err != nil {
			return fail(None, "merge", err)
		}
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

// Speaking is the indexes of the overrides that speak to a member, in order.
func (s *Set) Speaking(m Member) []int {
	var speaking []int
	for i := range s.overrides {
		if s.overrides[i].selection.Selects(m) {
			speaking = append(speaking, i)
		}
	}
	return speaking
}

// Variant appends to key what tells a member apart: the overrides that speak to it and the values
// that they take from it. Members with equal keys get equal objects.
func (s *Set) Variant(key []byte, m Member) []byte {
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

// Apply lays the overrides that speak to a member over objects and returns the result. An object that
// no override changes is the very one that was given; the others are copies. An error is an *Error.
func (s *Set) Apply(objects []*unstructured.Unstructured, m Member) ([]*unstructured.Unstructured, error) {
	result := slices.Clone(objects)
	budget := maxCopied
	for i := range s.overrides {
		o := &s.overrides[i]
		if !o.selection.Selects(m) {
			continue
		}
		targets, err := match(&o.target, objects)
		if err != nil {
			return nil, &Error{Override: o.index, Operation: None, Part: "target", Doing: "looking for its objects", Member: m.Name, Problem: err.Error()}
		}
		for _, t := range targets {
			if result[t] == objects[t] {
				result[t] = objects[t].DeepCopy()
			}
			if err := o.apply(result[t], objects[t], m, &budget); err != nil {
				err.Object = objects[t].GetKind() + " " + objects[t].GetName()
				return nil, err
			}
		}
	}
	return result, nil
}

// apply changes obj, which was once original.
func (o *override) apply(obj, original *unstructured.Unstructured, m Member, budget *int) *Error {
	if o.merge != nil {
		return o.applyMerge(obj, original, m)
	}
	doc := &document{root: obj.Object, secret: isSecret(original), budget: budget}
	var crossed *Error // the first operation after which a protected field was another
	for j := range o.patch {
		op := &o.patch[j]
		value := op.value
		if op.source != nil {
			text, there := op.source.value(m)
			if !there && op.source.skip {
				continue
			}
			if !there {
				return op.failed(o.index, j, m, &trouble{problem: fmt.Sprintf(
					"the member has no label %s; label its MemberCluster, or give a default or whenMissing: Skip", op.source.label)})
			}
			value = text
		}
		if err := doc.do(op, value); err != nil {
			return op.failed(o.index, j, m, err)
		}
		if crossed == nil && op.op != v1alpha1.PatchTest {
			if _, t := trespass(original.Object, obj.Object); t != nil {
				crossed = op.failed(o.index, j, m, t)
			}
		}
	}
	if crossed != nil {
		// What counts is the result: a field may be moved away and back.
		if _, t := trespass(original.Object, obj.Object); t != nil {
			return crossed
		}
	}
	return nil
}

func (o *override) applyMerge(obj, original *unstructured.Unstructured, m Member) *Error {
	fail := func(path, problem string) *Error {
		return &Error{Override: o.index, Operation: None, Part: "merge", Doing: "changing fields", Path: path, Member: m.Name, Problem: problem}
	}
	gvk := original.GroupVersionKind()
	if !isStrategic(gvk) {
		if found := directive(o.merge); found != "" {
			return fail("", fmt.Sprintf("%s belongs to the strategic merge, which %s has not: it gets a JSON merge patch; to remove a field use patch", found, gvk.Kind))
		}
	}
	merged, err := merge(obj.Object, gvk, o.merge)
	if err != nil {
		problem := err.Error()
		if isSecret(original) {
			problem = "the strategic merge does not take it (the reason is withheld: it may hold a Secret's values)"
		}
		return fail("", problem)
	}
	obj.Object = merged
	if path, t := trespass(original.Object, obj.Object); t != nil {
		return fail(path.String(), t.problem)
	}
	return nil
}

// Speaking is the indexes of the overrides in list that speak to a member, in order.
func Speaking(list []v1alpha1.Override, m Member) ([]int, error) {
	set, err := Compile(list)
	if err != nil {
		return nil, err
	}
	return set.Speaking(m), nil
}

// Apply lays the overrides in list that speak to a member over objects; for many members, use Compile.
func Apply(objects []*unstructured.Unstructured, list []v1alpha1.Override, m Member) ([]*unstructured.Unstructured, error) {
	set, err := Compile(list)
	if err != nil {
		return nil, err
	}
	return set.Apply(objects, m)
}
