// SPDX-License-Identifier: Apache-2.0

package boundedread

import "sync/atomic"

// Budget is a limit on an amount of memory, with the amount in use. It is safe for concurrent use.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget makes a Budget of this many bytes, none of them in use.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used returns how many bytes of the budget are in use. The number can exceed the limit for a moment, until the reader
// that exceeded the limit stops.
func (b *Budget) Used() int64 { return b.used.Load() }

// add takes n bytes out of the budget; a negative n gives bytes back. It takes the bytes even if the budget does not
// suffice, and then returns false.
func (b *Budget) add(n int64) bool { return b.used.Add(n) <= b.limit }

// take does the same as add, but takes nothing if the budget does not suffice. A negative n always gives bytes back.
func (b *Budget) take(n int64) bool {
	if !b.add(n) && n > 0 {
		b.add(-n)
		return false
	}
	return true
}
