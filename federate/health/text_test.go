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
		"plain text stays":                                          {text: "quota exceeded: 3 of 3", limit: 64, want: "quota exceeded: 3 of 3"},
		"escape characters are removed":                             {text: "\x1b[31mred\x1b[0m\a", limit: 64, want: "[31mred[0m"},
		"lines are joined into one":                                 {text: "\n one\r\n\ttwo \n", limit: 64, want: "one two"},
		"control characters of Latin-1 are removed":                 {text: "a\u009bb\u0085c", limit: 64, want: "ab c"},
		"characters that change the text direction are removed":     {text: "user\u202Etxt.exe", limit: 64, want: "usertxt.exe"},
		"bytes that are not UTF-8 become the replacement character": {text: "a\xff\xfeb", limit: 64, want: "a\uFFFDb"},
		"long text is cut between characters":                       {text: "ääää", limit: 7, want: "ää…"},
		"text of exactly the limit is not cut":                      {text: "ääää", limit: 8, want: "ääää"},
		"the text is empty if not even … fits":                      {text: "abcdef", limit: 2, want: ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, health.Clean(test.text, test.limit)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALogHasNoHiddenCharacters(t *testing.T) {
	if got := health.LogText("one\n\ttwo\u2028\u2029\ue000\u202e\x1b[31m!\n"); got != "one\n\ttwo!\n" {
		t.Errorf("%q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[2Jb\u202e\xff", 16)
	f.Add(strings.Repeat("ä ", 100), 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(0, min(limit, 4096))
		got := health.Clean(text, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("%q has %d bytes, more than the limit of %d", got, len(got), limit)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Fatalf("%q has characters that can control a terminal", got)
		}
		if again := health.Clean(got, limit); again != got {
			t.Fatalf("%q becomes %q when cleaned again", got, again)
		}
	})
}
