// SPDX-License-Identifier: Apache-2.0

package unjoin

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

func TestBeforeAnythingIsRemoved(t *testing.T) {
	for name, tc := range map[string]struct {
		args     []string
		answer   string
		terminal bool
		wantErr  string
		wantCode int
		wantSaid string
	}{
		"a pipe without --yes":                {args: []string{"east"}, wantErr: "give --yes", wantCode: exit.Usage},
		"the answer no":                       {args: []string{"east"}, terminal: true, answer: "n\n", wantErr: "nothing was done", wantCode: exit.Failed, wantSaid: "It leaves workloads"},
		"an empty answer":                     {args: []string{"east"}, terminal: true, answer: "\n", wantErr: "nothing was done", wantCode: exit.Failed},
		"no answer":                           {args: []string{"east"}, terminal: true, wantErr: "standard input ended before an answer", wantCode: exit.Usage},
		"yes goes on, to a host that is none": {args: []string{"east"}, terminal: true, answer: "yes\n", wantErr: "nothing listens there", wantCode: exit.Failed},
		"--yes does not ask":                  {args: []string{"east", "--yes"}, wantErr: "nothing listens there", wantCode: exit.Failed},
		"forgetting says what stays":          {args: []string{"east", "--forget"}, terminal: true, answer: "n\n", wantErr: "nothing was done", wantCode: exit.Failed, wantSaid: "everything that was pushed stay there"},
		"forgetting contacts no member":       {args: []string{"east", "--forget", "--yes", "--cluster-context", "x"}, wantErr: "give only one of them", wantCode: exit.Usage},
		"a name that is none":                 {args: []string{"East", "--yes"}, wantErr: "is not a valid name for a member", wantCode: exit.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
			said := &bytes.Buffer{}
			streams := genericiooptions.IOStreams{In: strings.NewReader(tc.answer), Out: &bytes.Buffer{}, ErrOut: said}
			o, cmd := newCommand(streams)
			o.CanAsk = func() bool { return tc.terminal }
			cmd.SetArgs(tc.args)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			err := cmd.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) || exit.CodeOf(err) != tc.wantCode {
				t.Errorf("got %d %v, want %d and %q", exit.CodeOf(err), err, tc.wantCode, tc.wantErr)
			}
			if !strings.Contains(said.String(), tc.wantSaid) {
				t.Errorf("want %q in:\n%s", tc.wantSaid, said)
			}
		})
	}
}
