// SPDX-License-Identifier: Apache-2.0

package memberclient

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTheEndOfALogBeginsWithAWholeLine(t *testing.T) {
	for name, test := range map[string]struct{ log, want string }{
		"nothing":                      {"", ""},
		"all of it":                    {"one\ntwo\n", "one\ntwo\n"},
		"exactly as much as fits":      {"0123456\n", "0123456\n"},
		"the last lines":               {"password=hunter2\none\ntwo\n", "two\n"},
		"a last line that is too long": {"one\n" + strings.Repeat("x", 20), ""},
	} {
		for kind, r := range map[string]func() string{
			"":             func() string { s, _ := readTail(strings.NewReader(test.log), 8); return s },
			"byte by byte": func() string { s, _ := readTail(iotest.OneByteReader(strings.NewReader(test.log)), 8); return s },
		} {
			if got := r(); got != test.want {
				t.Errorf("%s, %s: %q, want %q", name, kind, got, test.want)
			}
		}
	}
	if _, err := readTail(iotest.ErrReader(errors.New("cut off")), 8); err == nil {
		t.Error("an error is lost")
	}
}
