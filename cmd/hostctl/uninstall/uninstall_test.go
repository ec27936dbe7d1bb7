// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

// contextName is the name of the context in testdata/kubeconfig.yaml.
const contextName = "host"

func TestBeforeAnythingIsRemoved(t *testing.T) {
	for name, tc := range map[string]struct {
		args     []string
		answers  string
		terminal bool
		wantErr  string
		wantCode int
		wantSaid string
	}{
		"a pipe without --yes":              {wantErr: "give --yes", wantCode: exit.Usage},
		"the answer no":                     {terminal: true, answers: "n\n", wantErr: "nothing was done", wantCode: exit.Failed, wantSaid: "leaves the CRDs"},
		"yes goes on, to no host":           {terminal: true, answers: "y\n", wantErr: "nothing listens there", wantCode: exit.Failed},
		"one yes deletes no wrapper":        {args: []string{"--delete-wrappers"}, terminal: true, answers: "y\ny\n", wantErr: "nothing was done", wantCode: exit.Failed, wantSaid: "type the name of the context, CONTEXT"},
		"both answers go on":                {args: []string{"--delete-wrappers"}, terminal: true, answers: "y\nCONTEXT\n", wantErr: "nothing listens there", wantCode: exit.Failed},
		"--yes is one answer of two":        {args: []string{"--delete-wrappers", "--yes"}, wantErr: "give --confirm CONTEXT too", wantCode: exit.Usage},
		"--confirm of another context":      {args: []string{"--delete-wrappers", "--yes", "--confirm", "x"}, wantErr: "the context is CONTEXT", wantCode: exit.Usage},
		"both flags go on":                  {args: []string{"--delete-wrappers", "--yes", "--confirm", "CONTEXT"}, wantErr: "nothing listens there", wantCode: exit.Failed},
		"--confirm without a second answer": {args: []string{"--yes", "--confirm", "CONTEXT"}, wantErr: "--confirm works only with --delete-wrappers", wantCode: exit.Usage},
		"another namespace":                 {args: []string{"--yes", "-n", "x"}, wantErr: "Leave the flag out", wantCode: exit.Usage},
		"no time to wait":                   {args: []string{"--yes", "--timeout", "0s"}, wantErr: "--timeout 0s", wantCode: exit.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
			said := &bytes.Buffer{}
			streams := genericiooptions.IOStreams{In: strings.NewReader(strings.ReplaceAll(tc.answers, "CONTEXT", contextName)), Out: &bytes.Buffer{}, ErrOut: said}
			o, cmd := newCommand(streams)
			o.CanAsk = func() bool { return tc.terminal }
			for i := range tc.args {
				tc.args[i] = strings.ReplaceAll(tc.args[i], "CONTEXT", contextName)
			}
			cmd.SetArgs(append([]string{}, tc.args...))
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			err := cmd.ExecuteContext(t.Context())
			if want := strings.ReplaceAll(tc.wantErr, "is CONTEXT", "is "+contextName); err == nil || !strings.Contains(err.Error(), want) || exit.CodeOf(err) != tc.wantCode {
				t.Errorf("got %d %v, want %d and %q", exit.CodeOf(err), err, tc.wantCode, want)
			}
			if want := strings.ReplaceAll(tc.wantSaid, "CONTEXT", contextName); !strings.Contains(said.String(), want) {
				t.Errorf("want %q in:\n%s", want, said)
			}
		})
	}
}
