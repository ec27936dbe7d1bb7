// SPDX-License-Identifier: Apache-2.0

package member

import (
	"bytes"
	"sync/atomic"
)

// What an answer takes in memory is not what it takes on the wire: `{},` is an object of some kind or other, with room for
// all its fields. An answer is therefore weighed while it is read, by what it may become.
const (
	// elementWeight is what an element of a list may become, fieldWeight a field of an object.
	elementWeight = 512
	fieldWeight   = 64
	// maxInHand is what all answers of one member may weigh that are being read at a time, maxList what they may be on the
	// wire: whoever reads them holds that twice while it grows.
	maxInHand = 256 << 20
)

// scales are those of one connection.
type scales struct{ bytes, weight atomic.Int64 }

// put takes so much on, off when it is negative, and says whether what is on them is still what it may be.
func (s *scales) put(bytes, weight int) bool {
	light := s.weight.Add(int64(weight)) <= maxInHand
	return s.bytes.Add(int64(bytes)) <= maxList && light
}

// weigher weighs JSON that comes in pieces. What is no JSON it weighs as something or other, and client-go cannot read it.
type weigher struct {
	inString, escaped bool
	// lists says of each thing that is open whether it is a list, the innermost last.
	lists []bool
}

// weigh weighs one more piece: all of it, or as far as the value that is open ends, which ended says.
func (w *weigher) weigh(piece []byte) (length, weight int, ended bool) {
	for i := 0; i < len(piece); i++ {
		switch b := piece[i]; {
		case w.escaped:
			w.escaped = false
		case w.inString:
			end := bytes.IndexAny(piece[i:], `"\`)
			if end < 0 {
				return len(piece), weight + len(piece), false
			}
			i += end
			w.escaped, w.inString = piece[i] == '\\', piece[i] == '\\'
		case b == '"':
			w.inString = true
		case b == '[', b == '{':
			w.lists = append(w.lists, b == '[')
			weight += w.one()
		case b == ',':
			weight += w.one()
		case (b == ']' || b == '}') && len(w.lists) > 0:
			if w.lists = w.lists[:len(w.lists)-1]; len(w.lists) == 0 {
				return i + 1, weight + i + 1, true
			}
		}
	}
	return len(piece), weight + len(piece), false
}

// one is what one more of what is open weighs.
func (w *weigher) one() int {
	if len(w.lists) > 0 && w.lists[len(w.lists)-1] {
		return elementWeight
	}
	return fieldWeight
}
