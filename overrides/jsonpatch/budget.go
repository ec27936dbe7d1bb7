// SPDX-License-Identifier: Apache-2.0

package jsonpatch

// Work is counted in units, so that the same patch costs the same on every machine. One unit is the time to move one
// list item by one place: some nanoseconds.
const (
	// perOperation is the cost of finding the place of one operation in one object.
	perOperation = 64
	// PerByte is the cost of writing one byte of memory.
	PerByte = 2
)

// Budget is the work that is left for all operations on all objects of one rendering.
type Budget struct{ limit, left int64 }

// NewBudget returns a budget of this many units.
func NewBudget(units int64) Budget { return Budget{limit: units, left: units} }

// Spent returns the units taken, including those of refused operations.
func (b *Budget) Spent() int64 { return b.limit - b.left }

// Take takes units of work, or refuses.
func (b *Budget) Take(units int64) error {
	if b.left -= units; b.left >= 0 {
		return nil
	}
	return &Failure{TooCostly: true, Problem: "the overrides for one member take too much work: " +
		"change long lists as a whole instead of item by item, or split the wrapper"}
}

// Write takes the cost of writing this many bytes, or refuses.
func (b *Budget) Write(bytes int) error { return b.Take(int64(bytes) * PerByte) }

// shift is the number of items that an insert or a delete at a place moves. These are the items behind that place, or
// the whole list if it has to grow.
func shift(list []any, at int, grows bool) int64 {
	moved := len(list) - at
	if grows && len(list) == cap(list) {
		moved = len(list)
	}
	return int64(moved)
}
