// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

// DefaultName is the default of --name.
const DefaultName = "default"

// New returns the command `hostctl sandbox` with all subcommands.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Run real control planes on this machine, to try Fairlead",
		Long: `A sandbox is a host and some members on this machine. Each has a real etcd, API server, controller manager and scheduler. Nodes,
pods and volumes are simulated. A sandbox needs Linux, and Go for the first start; it needs neither Docker nor root. All its
files are below $XDG_CACHE_HOME/fairlead (default ~/.cache/fairlead).`,
		Example: `  hostctl sandbox up                     # a host and three members
  eval "$(hostctl sandbox env)"          # kubectl --context member-1 get nodes
  hostctl sandbox stop member-2          # an outage
  hostctl sandbox snapshot host.tar.gz   # a backup of the host, for restore
  hostctl sandbox publish v1.1.0         # after up --olm: OLM upgrades the demo operator
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
	err := cmd.RegisterFlagCompletionFunc("name", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names, _ := sandbox.Names() // after an error, the shell gets no names
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // cannot happen: the flag is defined above
	}
}

// completeCluster completes the first argument of a command with the name of a cluster of the sandbox.
func completeCluster(name *string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		s, err := sandbox.Open(*name)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return s.Clusters(), cobra.ShellCompDirectiveNoFileComp
	}
}
