// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"strings"
	"testing"
)

func TestValuesThatWouldChangeOnTheWayAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ data, want string }{
		"an empty input":                     {" ", "it is empty"},
		"an input that is no JSON":           {"{", "it is not JSON"},
		"an integer past 64 bits":            {`{"a":[1,18446744073709551616]}`, `the number at "/a/1" does not fit 64 bits`},
		"a float past 64 bits":               {`1e300`, "it is a number that does not fit 64 bits"},
		"a value nested deeper than allowed": {strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), "it is nested 101 levels deep, and 100 is the limit"},
		"a value nested so deep that recursion would exhaust the stack": {strings.Repeat("[", 1<<20), "it is nested 1048576 levels deep"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := DecodeValue([]byte(tc.data)); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	if _, err := DecodeObject([]byte("[1]")); err == nil {
		t.Error("DecodeObject must refuse a list")
	}
}

func TestNumbersKeepTheirValue(t *testing.T) {
	for data, want := range map[string]any{
		"9007199254740993":     int64(9007199254740993),
		"-9223372036854775808": int64(-1 << 63),
		"1.5":                  1.5,
		"-0.0":                 int64(0),
	} {
		if got, err := DecodeValue([]byte(data)); err != nil || got != want {
			t.Errorf("%s was decoded as %v (%T), %v", data, got, got, err)
		}
	}
}

func TestDepthCountsBracketsOutsideOfStrings(t *testing.T) {
	for data, want := range map[string]int{`1`: 0, `{}`: 1, `{"a":[{}]}`: 3, `{"[{\"[{":"[["}`: 1, `[[],[[]]]`: 3} {
		if got := Depth([]byte(data)); got != want {
			t.Errorf("Depth(%s) = %d, want %d", data, got, want)
		}
		value, err := DecodeValue([]byte(data))
		if got := DepthOf(value); err != nil || got != want {
			t.Errorf("DepthOf(%s) = %d, want %d (%v)", data, got, want, err)
		}
	}
}

func TestAnExcerptEndsAtACharacterBorder(t *testing.T) {
	if got := Excerpt(map[string]any{"a": "<&>"}); got != `{"a":"<&>"}` {
		t.Error(got)
	}
	got := Excerpt(strings.Repeat("ü", 200))
	if len(got) > maxShown+len("…") || !strings.HasSuffix(got, "ü…") {
		t.Errorf("the error has %d bytes: %s", len(got), got)
	}
}
