// SPDX-License-Identifier: Apache-2.0

package jsonpatch

// Work is counted in units, so that the same patch costs the same on every machine. A unit is what moving one list
// element by one place takes, some nanoseconds.
const (
	// perOperation is for finding the place of an operation, on one object.
	perOperation = 64
	// PerByte is for writing one byte of memory.
	PerByte = 2
)

// Budget is what the operations on all objects of one rendering may still take together.
type Budget struct{ limit, left int64 }

// NewBudget is a budget of so many units.
func NewBudget(units int64) Budget { return Budget{limit: units, left: units} }

// Spent is how much was taken, also of what was refused.
func (b *Budget) Spent() int64 { return b.limit - b.left }

// Take takes units of work, or refuses.
func (b *Budget) Take(units int64) error {
	if b.left -= units; b.left >= 0 {
		return nil
	}
	return &Failure{TooCostly: true, Problem: "the overrides for one member take more work than they may: " +
		"change long lists as a whole instead of item by item, or split the wrapper"}
}

// Write takes what writing so many bytes of memory takes, or refuses.
func (b *Budget) Write(bytes int) error { return b.Take(int64(bytes) * PerByte) }

// shift is the number of items that an insert or a delete at a place moves: the items behind that place, or the whole list when
// it has to grow.
func shift(list []any, at int, grows bool) int64 {
	moved := len(list) - at
	if grows && len(list) == cap(list) {
		moved = len(list)
	}
	return int64(moved)
}
