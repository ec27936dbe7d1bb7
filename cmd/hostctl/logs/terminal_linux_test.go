// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/internal/testing/terminal"
)

// The lines about the logs are wrapped. The lines of logs are not, and those of this test are short.
func TestLogsFitATerminal(t *testing.T) {
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	terminal.Check(t, func(streams genericiooptions.IOStreams) *cobra.Command {
		o := &Options{Target: evidence.NewTarget(streams)}
		o.Connect = func() (client.WithWatch, error) { return hostWith(t, nil, web(lost), crash(), quota()), nil }
		o.Now = func() time.Time { return now }
		return newCommand(o)
	}, []string{"web", "-n", "shop"}, func(err error) bool { return err == nil })
}
