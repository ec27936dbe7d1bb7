// SPDX-License-Identifier: Apache-2.0

package boundedread

import "testing"

func TestAnAnswerIsWeighedAsIfDecoded(t *testing.T) {
	for name, test := range map[string]struct {
		json             string
		elements, fields int
	}{
		"a field":                                {json: `{"a":1}`, fields: 1},
		"two fields":                             {json: `{"a":1,"b":2}`, fields: 2},
		"elements of a list":                     {json: `[1,2,3]`, elements: 3},
		"objects in a list":                      {json: `{"items":[{},{},{}]}`, elements: 3, fields: 4},
		"a field after a list has ended":         {json: `{"a":[1,2],"b":1}`, elements: 2, fields: 2},
		"brackets inside a string":               {json: `{"a":"[{,,,]"}`, fields: 1},
		"an escaped quote does not end a string": {json: `{"a":"\",,\\","b":1}`, fields: 2},
		"closing brackets without opening ones":  {json: `]}],`, fields: 1},
	} {
		t.Run(name, func(t *testing.T) {
			want := len(test.json) + test.elements*elementWeight + test.fields*fieldWeight
			for size := 1; size <= len(test.json); size++ {
				w, got := weigher{}, 0
				for rest := test.json; rest != ""; {
					n := min(size, len(rest))
					for piece := []byte(rest[:n]); len(piece) > 0; {
						length, weight, _ := w.weigh(piece)
						got, piece = got+weight, piece[length:]
					}
					rest = rest[n:]
				}
				if got != want {
					t.Fatalf("in pieces of %d: %d, want %d", size, got, want)
				}
			}
		})
	}
}

func TestTheEndOfAValueIsFound(t *testing.T) {
	for value, want := range map[string]int{
		`{}`: 2, `{"a":[1,{"b":"}"}]}`: 19, "{\n}\n{}": 3, "[\n\n]": 4, "\n\n{}": 4, `"}"`: 0, "\n\n": 0, `{"a":{}`: 0, "}": 0,
	} {
		w := weigher{}
		if length, _, ended := w.weigh([]byte(value)); ended != (want > 0) || ended && length != want {
			t.Errorf("%s: it ends after %d (%v), want %d", value, length, ended, want)
		}
	}
}
