// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

// DefaultName is the sandbox of whoever names none.
const DefaultName = "default"

// New is the group of commands.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Real control planes on this machine, to try Fairlead with",
		Long: `A sandbox is one host and some members on this machine: real etcd, API server, controller manager and
scheduler each, with simulated nodes, pods and volumes. It needs Go for the first start, and neither Docker nor root.
Everything it has lives below $XDG_CACHE_HOME/fairlead, and goes with it.`,
		Example: `  hostctl sandbox up                     # a host and three members
  eval "$(hostctl sandbox env)"          # kubectl --context member-1 get nodes
  hostctl sandbox stop member-2          # an outage
  hostctl sandbox snapshot host.tar.gz   # a backup of the host; restore brings it back
  hostctl sandbox publish v1.1.0         # with --olm: the demo operator upgrades
  hostctl sandbox down`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return exit.Silently(exit.Usage)
		},
	}
	cmd.AddCommand(
		newUp(streams),
		newDown(streams),
		newList(streams),
		newEnv(streams),
		newKubeconfig(streams),
		newKubectl(streams),
		newStop(streams),
		newStart(streams),
		newSnapshot(streams),
		newRestore(streams),
		newPublish(streams),
		newSupervise(streams),
		newRunOperators(),
		newDemoOperator(),
	)
	return cmd
}

func nameFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "name", DefaultName, "name of the sandbox")
}
