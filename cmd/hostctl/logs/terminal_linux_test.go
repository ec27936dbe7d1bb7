// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"os"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/internal/testing/terminal"
)

// The lines about the logs are wrapped. The lines of logs are not, and those of this test are short.
func TestLogsFitATerminal(t *testing.T) {
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	terminal.Check(t, func(t *testing.T, to *os.File) {
		o := &Options{Target: evidence.NewTarget(genericiooptions.IOStreams{Out: to, ErrOut: to})}
		o.Connect = func() (client.WithWatch, error) { return hostWith(t, nil, web(lost), crash(), quota()), nil }
		o.Now = func() time.Time { return now }
		cmd := newCommand(o)
		cmd.SetArgs([]string{"web", "-n", "shop"})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
