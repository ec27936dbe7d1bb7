// SPDX-License-Identifier: Apache-2.0

package boundedread

import "sync/atomic"

// Budget is an amount of memory, of which a part is in use. It is safe for concurrent use.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget makes a Budget of this many bytes, with none in use.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used is how much of the budget is in use, in bytes. It can exceed the limit until the reader that exceeded it stops.
func (b *Budget) Used() int64 { return b.used.Load() }

// add takes n bytes, or gives them back if n is negative. It reports whether the budget suffices.
func (b *Budget) add(n int64) bool { return b.used.Add(n) <= b.limit }

// take is add, but takes nothing if the budget does not suffice. Giving back always succeeds.
func (b *Budget) take(n int64) bool {
	if !b.add(n) && n > 0 {
		b.add(-n)
		return false
	}
	return true
}
