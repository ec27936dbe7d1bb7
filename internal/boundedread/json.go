// SPDX-License-Identifier: Apache-2.0

package boundedread

import "bytes"

// The size of an answer in memory differs from its size on the wire: `{},` becomes an object with room for all its
// fields. So Fairlead adds up the weight of the decoded answer while it reads the text.
const (
	// elementWeight is the weight of an element of a list once decoded. fieldWeight is the weight of a field of an
	// object.
	elementWeight = 512
	fieldWeight   = 64
)

// weigher weighs JSON that arrives in pieces. Text that is not JSON gets some weight too, but client-go cannot decode
// it anyway.
type weigher struct {
	inString, escaped bool
	// lists has an entry for each open value, the innermost last: true for a list, false for an object.
	lists []bool
}

// weigh weighs one more piece. It stops at the end of the outermost value. length is how much of the piece it weighed,
// and ended reports whether it reached that end.
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
			weight += w.nextWeight()
		case b == ',':
			weight += w.nextWeight()
		case (b == ']' || b == '}') && len(w.lists) > 0:
			if w.lists = w.lists[:len(w.lists)-1]; len(w.lists) == 0 {
				return i + 1, weight + i + 1, true
			}
		}
	}
	return len(piece), weight + len(piece), false
}

// nextWeight returns the weight of one more element of a list, or of one more field of an object.
func (w *weigher) nextWeight() int {
	if len(w.lists) > 0 && w.lists[len(w.lists)-1] {
		return elementWeight
	}
	return fieldWeight
}
