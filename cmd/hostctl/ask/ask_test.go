// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestEachQuestionReadsOneLine(t *testing.T) {
	for answers, want := range map[string][2]bool{
		"y\nprod\n":   {true, true},
		"Yes\r\nprod": {true, true},
		"y\nPROD\n":   {true, false},
		"y\ny\n":      {true, false},
		"y":           {true, false},
		"prod\nprod":  {false, true},
		"":            {false, false},
	} {
		streams := genericiooptions.IOStreams{In: strings.NewReader(answers), ErrOut: &bytes.Buffer{}}
		first := Confirm(streams, "uninstalling", "Uninstall?") == nil
		second := Type(streams, "uninstalling", "Type prod:", "prod") == nil
		if got := [2]bool{first, second}; got != want {
			t.Errorf("answers %q: got %v, want %v", answers, got, want)
		}
	}
}
