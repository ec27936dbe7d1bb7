// SPDX-License-Identifier: Apache-2.0

package events

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/testing/terminal"
)

func TestEventsFitATerminal(t *testing.T) {
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	terminal.Check(t, func(streams genericiooptions.IOStreams) *cobra.Command {
		o := newOptions(streams)
		o.Connect = func() (client.WithWatch, error) { return hostWith(t, nil, objects()...), nil }
		o.Now = func() time.Time { return now }
		return newCommand(o)
	}, []string{"web", "-n", "shop"}, func(err error) bool { return err == nil })
}
