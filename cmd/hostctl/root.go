// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/approve"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/federate"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/initialize"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/join"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/kept"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/recover"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/rollout"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/sandbox"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/status"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/uninstall"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/unjoin"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/versions"
	"github.com/fairlead-dev/fairlead/internal/plain"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// New makes hostctl's root command. Every command is one package and one line here.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:   "hostctl",
		Short: "Distribute Kubernetes objects from one host to many member clusters",
		Long: `hostctl distributes Kubernetes objects from one host to many member clusters.

  host      the cluster that holds the wrappers, with a MemberCluster for each member
  member    a cluster that receives objects
  wrapper   a Federated or ClusterFederated on the host: objects, the clusters to place them on, and overrides
  Delivery  an object on a member that lists everything that one wrapper brought there

hostctl writes only Kubernetes objects, and each of them could be written with kubectl as well.

Exit codes:
  0  done
  1  failed
  2  usage: a command, flag or argument is wrong
  3  reserved: output differs (no command returns it yet)
  4  something waits for a person's decision`,
		Version:       version.String(),
		SilenceErrors: true, // Execute prints them, once
		SilenceUsage:  true,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetVersionTemplate("hostctl {{.Version}}\n")
	root.AddCommand(
		approve.New(streams),
		federate.New(streams),
		initialize.New(streams),
		kept.New(streams),
		recover.New(streams),
		render.New(streams),
		join.New(streams),
		rollout.New(streams),
		sandbox.New(streams),
		status.New(streams),
		uninstall.New(streams),
		unjoin.New(streams),
		versions.New(streams),
	)
	return root
}

// Execute runs hostctl with args and returns its exit code.
func Execute(ctx context.Context, streams genericiooptions.IOStreams, args []string) int {
	return execute(ctx, New(streams), streams, args)
}

// execute is Execute with a root command that the caller made. An error before a command begins to run (an unknown command or flag, a wrong
// number of arguments) is a usage error. No command may have a PersistentPreRun of its own: it would hide the root's.
func execute(ctx context.Context, root *cobra.Command, streams genericiooptions.IOStreams, args []string) int {
	root.SetArgs(args)
	began := false
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil || exit.Silent(err) {
		return exit.CodeOf(err)
	}
	_, _ = fmt.Fprintln(streams.ErrOut, "Error:", plain.Error(err)) // if stderr is closed, there is nowhere else to write
	code := exit.CodeOf(err)
	if !began {
		code = exit.Usage
	}
	if code == exit.Usage {
		_, _ = fmt.Fprintf(streams.ErrOut, "See `%s --help`.\n", cmd.CommandPath())
	}
	return code
}
