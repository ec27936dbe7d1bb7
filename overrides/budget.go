// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"math/bits"
)

// Work is counted in units, so that the same overrides cost the same on every machine. A unit is what moving one
// list element by one place takes, some nanoseconds.
const (
	// maxWork bounds what the overrides of one rendering may take: a quarter of a second or so, and 32 MiB. Copying a
	// megabyte of objects takes a twentieth of it.
	maxWork = 64 << 20
	// perOperation is for finding the place of an operation, on one object.
	perOperation = 64
	// perByte is for writing one byte of memory.
	perByte = 2
	// perScan is for comparing two items of a list that a strategic merge tells apart by a key.
	perScan = 16
)

// ErrTooCostly is wrapped by the errors that say that overrides take more work than they may.
var ErrTooCostly = errors.New("the overrides take too much work")

// budget is what the overrides of one rendering may still take.
type budget struct{ left int64 }

// spent is how much was taken, also of what was refused.
func (b *budget) spent() int64 { return maxWork - b.left }

// take takes units of work, or refuses.
func (b *budget) take(units int64) error {
	if b.left -= units; b.left >= 0 {
		return nil
	}
	return &trouble{costly: true, problem: "the overrides for one member take more work than they may: " +
		"change long lists as a whole instead of item by item, or split the wrapper"}
}

func (b *budget) write(bytes int) error { return b.take(int64(bytes) * perByte) }

// shift is what inserting into a list, or deleting from it, moves: what is behind that place, and the whole list
// where it has to grow.
func shift(list []any, at int, grows bool) int64 {
	moved := len(list) - at
	if grows && len(list) == cap(list) {
		moved = len(list)
	}
	return int64(moved)
}

// mergeWork is what merging two lists by a key takes: each item is looked for among those that are there, item by
// item, and what the patch holds is sorted by looking up each place.
func mergeWork(there, patched int) int64 {
	all, own := int64(there+patched), int64(patched)
	return perScan * (all*all + own*own*int64(bits.Len(uint(patched))))
}

// metadataEntries is the work of looking whether a protected field is another now.
func metadataEntries(object map[string]any) int64 {
	n := len(protected)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		for _, field := range []string{"labels", "annotations"} {
			if entries, ok := metadata[field].(map[string]any); ok {
				n += len(entries)
			}
		}
	}
	return int64(n) * perByte
}

func isCostly(err error) bool {
	t := (*trouble)(nil)
	return errors.As(err, &t) && t.costly
}
