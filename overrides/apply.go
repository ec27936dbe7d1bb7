// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/overrides/jsonpatch"
	"github.com/fairlead-dev/fairlead/overrides/selection"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// maxWork bounds the work of all overrides for one rendering, in the units of jsonpatch.Budget. It allows about a quarter of a second of
// computing, or 32 MiB of written memory. To copy the largest wrapper once (1 MiB of JSON) takes about a twentieth of maxWork.
const maxWork = 64 << 20

// Apply applies the overrides that select member m to objects, in the order of the spec. It returns a list with a copy of each object that
// an override targets, and with the same pointer for every other object. work is the number of units that were spent, also
// after an error. Every error is an *Error.
func (s *Set) Apply(objects []*unstructured.Unstructured, m selection.Member) (result []*unstructured.Unstructured, work int64, err error) {
	r := &rendering{member: m, objects: objects, result: slices.Clone(objects), depths: make([]int, len(objects))}
	r.budget = jsonpatch.NewBudget(maxWork)
	for i := range s.overrides {
		if o := &s.overrides[i]; o.selection.Selects(m) {
			if err := r.apply(o); err != nil {
				return nil, r.budget.Spent(), err
			}
		}
	}
	return r.result, r.budget.Spent(), nil
}

// rendering is the state of Apply for one member.
type rendering struct {
	member  selection.Member
	objects []*unstructured.Unstructured // the objects of the wrapper, which Apply does not change
	result  []*unstructured.Unstructured
	depths  []int // for each object in result, an upper bound of its nesting depth; 0 if no override has targeted the object
	budget  jsonpatch.Budget
	// rehearsing is true in ValidateWork, which has no real member. ValidateWork reports an operation that exceeds the work
	// limit. It skips an operation that fails for another reason, because the operation could work for a real member.
	rehearsing bool
}

// apply applies one override to the objects that its target matches.
func (r *rendering) apply(o *override) *Error {
	fail := func(part, doing string, err error) *Error {
		return &Error{Override: o.index, Operation: None, Part: part, Doing: doing, Member: r.member.Name,
			Problem: err.Error(), TooCostly: jsonpatch.IsTooCostly(err)}
	}
	targets, err := match(&o.target, r.objects)
	if err != nil {
		return fail("target", "looking for its objects", err)
	}
	for _, t := range targets {
		original := r.objects[t]
		if r.result[t] == original {
			if err := r.budget.Write(jsonpatch.Size(original.Object)); err != nil {
				return fail("target", "copying "+title(original), err)
			}
			r.result[t], r.depths[t] = original.DeepCopy(), strictjson.MaxDepth
		}
		var failed *Error
		if o.merge != nil {
			failed = r.merge(o, r.result[t], original)
		} else {
			failed = r.patch(o, t)
		}
		if failed != nil {
			failed.Object = title(original)
			return failed
		}
	}
	return nil
}

func title(obj *unstructured.Unstructured) string { return obj.GetKind() + " " + obj.GetName() }

// patch applies the operations of an override to result[index].
func (r *rendering) patch(o *override, index int) *Error {
	obj, original, m := r.result[index], r.objects[index], r.member
	doc := jsonpatch.NewDocument(obj.Object, isSecret(original), &r.budget, &r.depths[index])
	var crossed *Error // the error of the first operation that changed a protected field
	for j := range o.patch {
		op := &o.patch[j]
		resolved, skip, missing := r.resolve(op)
		if skip {
			continue
		}
		if missing != nil {
			return op.failed(o.index, j, m, missing)
		}
		if err := doc.Do(resolved); err != nil {
			if r.rehearsing && !jsonpatch.IsTooCostly(err) {
				continue
			}
			return op.failed(o.index, j, m, err)
		}
		if crossed != nil || !op.mayChangeProtected() {
			continue
		}
		if err := r.budget.Take(metadataEntries(obj.Object)); err != nil {
			return op.failed(o.index, j, m, err)
		}
		if r.rehearsing {
			continue
		}
		if _, t := protectedChange(original.Object, obj.Object); t != nil {
			crossed = op.failed(o.index, j, m, t)
		}
	}
	if r.rehearsing {
		return nil
	}
	last := len(o.patch) - 1
	if err := r.budget.Take(metadataEntries(obj.Object)); err != nil {
		return o.patch[last].failed(o.index, last, m, err)
	}
	// Decide by the object after all operations: one operation can move a protected field away, and a later one can move it back.
	_, t := protectedChange(original.Object, obj.Object)
	if t != nil && crossed == nil {
		crossed = o.patch[last].failed(o.index, last, m, t)
	}
	if t != nil {
		return crossed
	}
	return nil
}

// resolve returns the operation with the value for this member. The operation may take its value from a label that the member lacks,
// without a default. Then the result skip is true if the operation has whenMissing: Skip, and otherwise the result missing is a Failure.
func (r *rendering) resolve(op *operation) (resolved *jsonpatch.Operation, skip bool, missing *jsonpatch.Failure) {
	if op.source == nil {
		return &op.Operation, false, nil
	}
	value, there := op.source.value(r.member)
	switch {
	case there:
	case op.source.skip:
		return nil, true, nil
	case r.rehearsing:
		value = ""
	default:
		return nil, false, &jsonpatch.Failure{Problem: fmt.Sprintf(
			"the member has no label %s; label its MemberCluster, or give a default or whenMissing: Skip", op.source.label)}
	}
	filled := op.Operation
	filled.SetValue(value)
	return &filled, false, nil
}

// merge merges an override's field merge into obj. original is the object before all overrides.
func (r *rendering) merge(o *override, obj, original *unstructured.Unstructured) *Error {
	fail := func(path, problem string, costly bool) *Error {
		return &Error{Override: o.index, Operation: None, Part: "merge", Doing: "changing fields", Path: path, Member: r.member.Name,
			Problem: problem, TooCostly: costly}
	}
	gvk := original.GroupVersionKind()
	if !isStrategic(gvk) && o.directive != "" {
		return fail("", fmt.Sprintf("%s is a directive of the strategic merge, but the kind %s gets a JSON merge patch: to remove a field, use patch in place of merge",
			o.directive, gvk.Kind), false)
	}
	merged, err := merge(obj.Object, gvk, o.merge, &r.budget)
	if err == nil {
		err = r.budget.Take(metadataEntries(merged))
	}
	if err != nil {
		problem := err.Error()
		if isSecret(original) && !jsonpatch.IsTooCostly(err) {
			problem = "the strategic merge does not accept the patch (Fairlead does not show why, because the reason may contain a Secret's values)"
		}
		return fail("", problem, jsonpatch.IsTooCostly(err))
	}
	obj.Object = merged
	if path, t := protectedChange(original.Object, obj.Object); t != nil {
		return fail(path.String(), t.Problem, false)
	}
	return nil
}
