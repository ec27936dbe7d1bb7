// SPDX-License-Identifier: Apache-2.0

package boundedread

import "bytes"

// The weight of a decoded response is estimated while its text is read, because decoding makes it larger: `{},` becomes
// an object with room for all its fields. A string of the JSON text counts with its length.
const (
	// elementWeight is the number of bytes of a decoded element of a list, without its strings, by estimate.
	elementWeight = 512
	// fieldWeight is the number of bytes of a decoded field of an object, without its strings, by estimate.
	fieldWeight = 64
)

// weigher estimates the weight of a JSON text that arrives in pieces. For a text that is not JSON the estimate has no
// meaning, but client-go refuses such a text anyway.
type weigher struct {
	// inString is true inside a string of the JSON text.
	inString bool
	// escaped is true just after a backslash in a string.
	escaped bool
	// lists has an entry for each JSON list and object that is open at this point of the text, the innermost last: true
	// for a list, false for an object.
	lists []bool
}

// weigh reads the next piece of the text, up to the end of the outermost JSON value. ended reports whether that end is
// in this piece. length is the number of bytes up to that end, or of the whole piece. weight is the estimate for these
// bytes.
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

// nextWeight returns the weight of the next element of a list, or of the next field of an object.
func (w *weigher) nextWeight() int {
	if len(w.lists) > 0 && w.lists[len(w.lists)-1] {
		return elementWeight
	}
	return fieldWeight
}
