// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"fmt"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// take takes what an operation is going to take, but for moving list items, which only shows on the way.
func (d *document) take(op *operation, value any) error {
	if err := d.budget.take(perOperation + perByte*int64(len(op.path)+len(op.from))); err != nil {
		return err
	}
	reaches := func(int) int { return 0 }
	switch op.op {
	case v1alpha1.PatchAdd, v1alpha1.PatchReplace, v1alpha1.PatchTest:
		bytes := op.size
		if op.source != nil {
			bytes = size(value)
		}
		if err := d.budget.write(bytes); err != nil {
			return err
		}
		reaches = func(int) int { return len(op.path) + op.depth }
	case v1alpha1.PatchMove, v1alpha1.PatchCopy:
		reaches = func(depth int) int { return len(op.path) + depth - len(op.from) }
	case v1alpha1.PatchRemove:
	}
	return d.deepen(reaches)
}

// deepen notes how deep the object may be nested after an operation that reaches so deep in one that is so deep. What
// overrides have made is judged when all of them are done; until then it must not become so deep that walking through
// it takes a stack without end.
func (d *document) deepen(reaches func(depth int) int) error {
	const limit = 8 * MaxDepth
	if guess := max(*d.depth, reaches(*d.depth)); guess <= limit {
		*d.depth = guess
		return nil
	}
	if err := d.budget.take(int64(size(d.root))); err != nil {
		return err
	}
	is := depthOf(d.root)
	if is > limit {
		return &trouble{problem: fmt.Sprintf("this operation nests the object %d deep, %d at most: move or copy less", is, MaxDepth)}
	}
	*d.depth = max(is, reaches(is))
	return nil
}

// depthOf is how deep a value is nested: 0 for a scalar, 1 for {}.
func depthOf(value any) int {
	deepest := -1
	switch v := value.(type) {
	case map[string]any:
		deepest = 0
		for key := range v {
			deepest = max(deepest, depthOf(v[key]))
		}
	case []any:
		deepest = 0
		for i := range v {
			deepest = max(deepest, depthOf(v[i]))
		}
	}
	return deepest + 1
}
