// SPDX-License-Identifier: Apache-2.0

package jsonpatch

// Work is counted in units and not in seconds, so that every machine refuses the same patches. One unit is about the time to move one item
// within a list, which is some nanoseconds.
const (
	// perOperation is the cost, in units, to find the place of one operation in an object.
	perOperation = 64
	// PerByte is the cost, in units, to write one byte of memory.
	PerByte = 2
)

// Budget is the work that the operations of one rendering may still do, on all its objects together.
type Budget struct{ limit, left int64 }

// NewBudget returns a budget of so many units.
func NewBudget(units int64) Budget { return Budget{limit: units, left: units} }

// Spent returns how many units have been taken. It also counts those of an operation that the budget refused.
func (b *Budget) Spent() int64 { return b.limit - b.left }

// Take takes units from the budget, and returns a Failure if the budget has fewer.
func (b *Budget) Take(units int64) error {
	if b.left -= units; b.left >= 0 {
		return nil
	}
	return &Failure{TooCostly: true, Problem: "the overrides for one member take too much work: " +
		"change long lists as a whole instead of item by item, or split the wrapper"}
}

// Write takes the cost of writing so many bytes from the budget, and returns a Failure if the budget has less.
func (b *Budget) Write(bytes int) error { return b.Take(int64(bytes) * PerByte) }

// shift returns the number of list items that have to move when an item is inserted or deleted: all items after it. The parameter at is the
// index of the item, and grows is true for an insertion. If the list has no capacity left for another item, Go copies the whole list, and all
// items count.
func shift(list []any, at int, grows bool) int64 {
	moved := len(list) - at
	if grows && len(list) == cap(list) {
		moved = len(list)
	}
	return int64(moved)
}
