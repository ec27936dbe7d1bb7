// SPDX-License-Identifier: Apache-2.0

package jsonpointer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Pointer is a parsed JSON pointer (RFC 6901), a list of keys and list indexes. In the list, ~0 and ~1 are replaced by ~ and /.
type Pointer []string

var (
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
)

// Parse parses a JSON pointer. It refuses the empty pointer, which means the whole object: no override may replace an object.
func Parse(text string) (Pointer, error) {
	if !strings.HasPrefix(text, "/") {
		return nil, errors.New("a JSON pointer begins with a slash: /spec/replicas")
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%q is not valid UTF-8, so no key of an object has this name", text)
	}
	tokens := strings.Split(text[1:], "/")
	for i, token := range tokens {
		for rest := token; ; {
			at := strings.IndexByte(rest, '~')
			if at < 0 {
				break
			}
			if rest = rest[at+1:]; rest == "" || (rest[0] != '0' && rest[0] != '1') {
				return nil, fmt.Errorf("in %q a tilde is not followed by 0 or 1: write ~0 for a tilde, and ~1 for a slash within a key", token)
			}
		}
		tokens[i] = unescaper.Replace(token)
	}
	return tokens, nil
}

// String returns the pointer as text, with ~0 and ~1 in place of ~ and / in keys.
func (p Pointer) String() string {
	var b strings.Builder
	for _, token := range p {
		b.WriteByte('/')
		b.WriteString(escaper.Replace(token))
	}
	return b.String()
}

// Contains reports whether q is p itself or a path below p.
func (p Pointer) Contains(q Pointer) bool {
	return len(p) <= len(q) && slices.Equal(p, q[:len(p)])
}

// Lookup returns the value at the path p in root. The result there is false if the path does not exist. A null counts
// as a value.
func (p Pointer) Lookup(root any) (value any, there bool) {
	value = root
	for _, token := range p {
		switch c := value.(type) {
		case map[string]any:
			if value, there = c[token]; !there {
				return nil, false
			}
		case []any:
			i, ok := ListIndex(token)
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

// ListIndex parses a list index by the rules of RFC 6901: digits without leading zeros. The second result is false for any other token.
func ListIndex(token string) (int, bool) {
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
