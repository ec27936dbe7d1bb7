// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"fmt"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// take subtracts the cost of an operation from the budget before the operation runs. It does not know the cost of moving list items. The methods
// add, remove and moveWithin subtract that cost when they have found the list.
func (d *Document) take(op *Operation) error {
	if err := d.budget.Take(perOperation + PerByte*int64(len(op.Path)+len(op.From))); err != nil {
		return err
	}
	reaches := func(int) int { return 0 }
	switch op.Op {
	case v1alpha1.PatchAdd, v1alpha1.PatchReplace, v1alpha1.PatchTest:
		if err := d.budget.Write(op.size); err != nil {
			return err
		}
		reaches = func(int) int { return len(op.Path) + op.depth }
	case v1alpha1.PatchMove, v1alpha1.PatchCopy:
		reaches = func(depth int) int { return len(op.Path) + depth - len(op.From) }
	case v1alpha1.PatchRemove:
	}
	return d.deepen(reaches)
}

// deepen updates the upper bound of the object's depth before an operation, and returns a Failure if the object could become too deep. The
// function reaches gets the object's depth before the operation. It returns the depth down to which the operation can write. The limit here
// is a loose one: it only keeps recursive functions from exhausting the stack. Package render checks the final object against
// strictjson.MaxDepth.
func (d *Document) deepen(reaches func(depth int) int) error {
	const limit = 8 * strictjson.MaxDepth
	if guess := max(*d.depth, reaches(*d.depth)); guess <= limit {
		*d.depth = guess
		return nil
	}
	if err := d.budget.Take(int64(Size(d.root))); err != nil {
		return err
	}
	is := strictjson.DepthOf(d.root)
	if is > limit {
		return &Failure{Problem: fmt.Sprintf("this operation nests the object %d deep, and %d is the limit: move or copy less", is, strictjson.MaxDepth)}
	}
	*d.depth = max(is, reaches(is))
	return nil
}
