// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/federate/health"
)

func TestClean(t *testing.T) {
	tests := map[string]struct {
		text  string
		limit int
		want  string
	}{
		"plain text stays":                           {text: "quota exceeded: 3 of 3", limit: 64, want: "quota exceeded: 3 of 3"},
		"escape sequences lose their teeth":          {text: "\x1b[31mred\x1b[0m\a", limit: 64, want: "[31mred[0m"},
		"lines become one":                           {text: "\n one\r\n\ttwo \n", limit: 64, want: "one two"},
		"control characters of Latin-1 go":           {text: "a\u009bb\u0085c", limit: 64, want: "ab c"},
		"characters that turn the direction go":      {text: "user\u202Etxt.exe", limit: 64, want: "usertxt.exe"},
		"what is no UTF-8 is shown to be none":       {text: "a\xff\xfeb", limit: 64, want: "a\uFFFDb"},
		"long text is cut between characters":        {text: "ääää", limit: 7, want: "ää…"},
		"text that fits to the byte is not cut":      {text: "ääää", limit: 8, want: "ääää"},
		"nothing is left where not even … would fit": {text: "abcdef", limit: 2, want: ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, health.Clean(test.text, test.limit)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[2Jb\u202e\xff", 16)
	f.Add(strings.Repeat("ä ", 100), 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(0, min(limit, 4096))
		got := health.Clean(text, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("%q has %d bytes of %d", got, len(got), limit)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Fatalf("%q is not fit for a terminal", got)
		}
		if again := health.Clean(got, limit); again != got {
			t.Fatalf("%q becomes %q when cleaned again", got, again)
		}
	})
}
