// SPDX-License-Identifier: Apache-2.0

package jsonpointer

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"/a/b":       "a|b",
		"/":          "",
		"/a~1b/~0/x": "a/b|~|x",
		"/~01":       "~1",
	} {
		p, err := Parse(text)
		if got := strings.Join(p, "|"); err != nil || got != want || p.String() != text {
			t.Errorf("%s: got %q, written %s, %v", text, got, p, err)
		}
	}
	for text, want := range map[string]string{
		"":      "a JSON pointer begins with a slash",
		"spec":  "a JSON pointer begins with a slash",
		"/a~":   "a tilde is not followed by 0 or 1",
		"/a~2":  "a tilde is not followed by 0 or 1",
		"/\xff": "is not valid UTF-8",
	} {
		if p, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s, %v", text, p, err)
		}
	}
}

func TestLookup(t *testing.T) {
	root := map[string]any{"a": []any{"x", map[string]any{"": nil}}, "n": int64(1)}
	for text, want := range map[string]struct {
		value any
		there bool
	}{
		"/a/0":  {"x", true},
		"/a/1/": {nil, true}, // null counts as a value
		"/a/2":  {nil, false},
		"/a/-":  {nil, false},
		"/a/01": {nil, false},
		"/n/x":  {nil, false},
		"/b":    {nil, false},
	} {
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if value, there := p.Lookup(root); there != want.there || there && value != want.value {
			t.Errorf("%s: got %v, %t", text, value, there)
		}
	}
}

func TestContains(t *testing.T) {
	a, ab, b := Pointer{"a"}, Pointer{"a", "b"}, Pointer{"b"}
	if !a.Contains(a) || !a.Contains(ab) || ab.Contains(a) || b.Contains(ab) {
		t.Error("a pointer contains itself and what lies below it, and nothing else")
	}
}
