// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

func TestExitCodes(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	tests := map[string]struct {
		args []string
		want int
	}{
		"help succeeds":                 {[]string{"--help"}, exit.Done},
		"the version succeeds":          {[]string{"--version"}, exit.Done},
		"an unknown command is usage":   {[]string{"sandbx"}, exit.Usage},
		"an unknown flag is usage":      {[]string{"sandbox", "list", "--nope"}, exit.Usage},
		"an argument too many is usage": {[]string{"sandbox", "list", "x"}, exit.Usage},
		"an argument too few is usage":  {[]string{"sandbox", "stop"}, exit.Usage},
		"a command fails":               {[]string{"sandbox", "env", "--name", "nope"}, exit.Failed},
		"a wrong value is usage":        {[]string{"sandbox", "list", "-o", "xml"}, exit.Usage},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
			if diff := cmp.Diff(tt.want, Execute(t.Context(), streams, tt.args)); diff != "" {
				t.Errorf("%s\n%s", diff, errOut.String())
			}
			if tt.want != exit.Done && !strings.HasPrefix(errOut.String(), "Error: ") {
				t.Errorf("said %q", errOut.String())
			}
		})
	}
}
