// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"os"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/terminal"
)

func TestADescriptionFitsATerminal(t *testing.T) {
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	terminal.Check(t, func(t *testing.T, to *os.File) {
		o := newOptions(genericiooptions.IOStreams{Out: to, ErrOut: to})
		o.Connect = func() (client.WithWatch, error) {
			return hostWith(t, nil, append(newEvents(), memberReports(crashing(crashed))...)...), nil
		}
		o.Now = func() time.Time { return now }
		cmd := newCommand(o)
		cmd.SetArgs([]string{"storefront", "-n", "shop"})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); exit.CodeOf(err) != exit.Waits {
			t.Error(err)
		}
	})
}
