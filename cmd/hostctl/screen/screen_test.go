// SPDX-License-Identifier: Apache-2.0

package screen

import "testing"

func TestALineOfALogKeepsItsIndentationAndIsCutAtTheWidth(t *testing.T) {
	for name, test := range map[string]struct {
		width int
		line  string
		want  string
	}{
		"in a pipe":           {0, "\tat main.go:42  of web", "  " + "    at main.go:42  of web\n"},
		"on a terminal":       {12, "\tat main.go:42", "      at ma…\n"},
		"as long as the line": {8, "abcdef", "  abcdef\n"},
		"with controls":       {0, "a\x1b[2J\r\nb", "  a[2J b\n"},
		"empty":               {0, "", "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Page{Screen: Screen{Width: test.width}}
			p.AddVerbatim(2, test.line)
			if got := p.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
