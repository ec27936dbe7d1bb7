// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/approve"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/describe"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/diagnose"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/events"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/federate"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/initialize"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/join"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/kept"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/logs"
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

// New returns hostctl's root command with all commands.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:   "hostctl",
		Short: "Distribute Kubernetes objects from one host to many member clusters",
		Long: `hostctl distributes Kubernetes objects from one host to many member clusters.

  host      the cluster that holds the wrappers, with a MemberCluster for each member
  member    a cluster that receives objects
  wrapper   a Federated or ClusterFederated on the host: objects, the clusters that get them, and overrides
  Delivery  an object on a member that lists the objects of one wrapper there

hostctl writes only Kubernetes objects, and each of them could be written with kubectl as well.

Exit codes:
  0  done
  1  failed
  2  usage: a command, flag or argument is wrong
  3  reserved: output differs (no command returns it yet)
  4  something waits for a person's decision`,
		Version:       version.String(),
		SilenceErrors: true, // function execute prints each error once
		SilenceUsage:  true,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetVersionTemplate("hostctl {{.Version}}\n")
	addGroups(root, streams)
	return root
}

// addGroups adds all commands, in the groups in which --help lists them.
func addGroups(root *cobra.Command, streams genericiooptions.IOStreams) {
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"look", "See what is wrong, and why:", []*cobra.Command{describe.New(streams), events.New(streams), logs.New(streams), status.New(streams), diagnose.New(streams)}},
		{"wrappers", "Write wrappers, and steer their rollouts:",
			[]*cobra.Command{federate.New(streams), render.New(streams), rollout.New(streams), approve.New(streams)}},
		{"keep", "After a restore, a removal or a change of hosts:", []*cobra.Command{kept.New(streams), recover.New(streams)}},
		{"fleet", "Set up the host and its members:",
			[]*cobra.Command{initialize.New(streams), join.New(streams), unjoin.New(streams), uninstall.New(streams), versions.New(streams)}},
		{"try", "Try Fairlead on this machine:", []*cobra.Command{sandbox.New(streams)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
}

// Execute runs hostctl with args and returns its exit code.
func Execute(ctx context.Context, streams genericiooptions.IOStreams, args []string) int {
	return execute(ctx, New(streams), streams, args)
}

// execute does the work of Execute with the given root command. An error before a command begins to run is a usage error, for example an
// unknown flag. The root's PersistentPreRun tells execute that a command has begun. So no command may have a PersistentPreRun of its
// own: cobra would call that one in place of the root's.
func execute(ctx context.Context, root *cobra.Command, streams genericiooptions.IOStreams, args []string) int {
	root.SetArgs(args)
	began := false
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil || exit.Silent(err) {
		return exit.CodeOf(err)
	}
	_, _ = fmt.Fprintln(streams.ErrOut, "Error:", plain.Error(err)) // an error here cannot be shown: stderr is closed
	code := exit.CodeOf(err)
	if !began {
		code = exit.Usage
	}
	if code == exit.Usage {
		_, _ = fmt.Fprintf(streams.ErrOut, "See `%s --help`.\n", cmd.CommandPath())
	}
	return code
}
