// SPDX-License-Identifier: Apache-2.0

package events

import (
	"os"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/testing/terminal"
)

func TestEventsFitATerminal(t *testing.T) {
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	terminal.Check(t, func(t *testing.T, to *os.File) {
		o := newOptions(genericiooptions.IOStreams{Out: to, ErrOut: to})
		o.Connect = func() (client.WithWatch, error) { return hostWith(t, nil, objects()...), nil }
		o.Now = func() time.Time { return now }
		cmd := newCommand(o)
		cmd.SetArgs([]string{"web", "-n", "shop"})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
