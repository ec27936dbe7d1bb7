// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pointer is a JSON pointer (RFC 6901), its escapes resolved.
type pointer []string

var (
	pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")
	pointerEscape   = strings.NewReplacer("~", "~0", "/", "~1")
)

// parsePointer reads a pointer. The empty one, the whole object, is refused: an override tailors an
// object, it does not put another in its place.
func parsePointer(text string) (pointer, error) {
	if !strings.HasPrefix(text, "/") {
		return nil, errors.New("a JSON pointer begins with a slash: /spec/replicas")
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%q is not valid UTF-8: no key of an object is called so", text)
	}
	tokens := strings.Split(text[1:], "/")
	for i, token := range tokens {
		for rest := token; ; {
			at := strings.IndexByte(rest, '~')
			if at < 0 {
				break
			}
			if rest = rest[at+1:]; rest == "" || (rest[0] != '0' && rest[0] != '1') {
				return nil, fmt.Errorf("in %q a tilde stands alone: write it ~0, and a slash within a key ~1", token)
			}
		}
		tokens[i] = pointerUnescape.Replace(token)
	}
	return tokens, nil
}

// String writes the pointer with its escapes.
func (p pointer) String() string {
	var b strings.Builder
	for _, token := range p {
		b.WriteByte('/')
		b.WriteString(pointerEscape.Replace(token))
	}
	return b.String()
}

// contains says whether q is p or lies below it.
func (p pointer) contains(q pointer) bool {
	return len(p) <= len(q) && slices.Equal(p, q[:len(p)])
}

// isMetadataMap says whether the token at i leads to the labels or annotations that the next, last
// token is a key of, or to the metadata that holds them. These are the maps that add makes.
func (p pointer) isMetadataMap(i int) bool {
	labels := len(p) - 2
	if labels < 1 || p[labels-1] != "metadata" || (p[labels] != "labels" && p[labels] != "annotations") {
		return false
	}
	return i == labels || i == labels-1
}

// lookup is what the pointer points to. A null counts as something.
func (p pointer) lookup(root any) (value any, there bool) {
	value = root
	for _, token := range p {
		switch c := value.(type) {
		case map[string]any:
			if value, there = c[token]; !there {
				return nil, false
			}
		case []any:
			i, ok := listIndex(token)
			if !ok || i >= len(c) {
				return nil, false
			}
			value = c[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// listIndex reads an index as RFC 6901 writes them: digits without leading zeros.
func listIndex(token string) (int, bool) {
	if token == "" || len(token) > 9 || (len(token) > 1 && token[0] == '0') {
		return 0, false
	}
	for _, c := range []byte(token) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	i, err := strconv.Atoi(token)
	return i, err == nil
}
