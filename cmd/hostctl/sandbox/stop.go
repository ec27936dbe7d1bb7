// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

func newStop(streams genericiooptions.IOStreams) *cobra.Command {
	return withArgument(streams, &cobra.Command{
		Use:   "stop CLUSTER",
		Short: "Stop a cluster's processes and keep its state, to simulate an outage",
	}, "stopping %s", "%s is stopped", isCluster, (*sandbox.Sandbox).Stop)
}

func newStart(streams genericiooptions.IOStreams) *cobra.Command {
	return withArgument(streams, &cobra.Command{
		Use:   "start CLUSTER",
		Short: "Start a stopped cluster again, with its state",
	}, "starting %s", "%s is back", isCluster, (*sandbox.Sandbox).Start)
}

// isCluster returns an error if the sandbox has no cluster of this name.
func isCluster(s *sandbox.Sandbox, name string) error {
	_, err := s.Cluster(name)
	return err
}

// withArgument makes cmd call the function do with its one argument, and show the call as a step of progress. If check is not nil and
// returns an error for the argument, cmd does not call do. doing and done are the texts of the step.
func withArgument(
	streams genericiooptions.IOStreams, cmd *cobra.Command, doing, done string,
	check func(*sandbox.Sandbox, string) error, do func(*sandbox.Sandbox, context.Context, string) error,
) *cobra.Command {
	var name string
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := sandbox.Open(name)
		if err != nil {
			return err
		}
		if check != nil {
			if err := check(s, args[0]); err != nil {
				return err
			}
		}
		step := progress.New(streams.ErrOut).Step(doing, args[0])
		if err := do(s, cmd.Context(), args[0]); err != nil {
			step.Skip()
			return err
		}
		step.Donef(done, args[0])
		return nil
	}
	nameFlag(cmd, &name)
	if cmd.Name() == "stop" || cmd.Name() == "start" { // the argument of the other commands is a file
		cmd.ValidArgsFunction = completeCluster(&name)
	}
	return cmd
}

// newSupervise returns a hidden command that is a sandbox's supervisor. `up` starts a process of it.
func newSupervise(streams genericiooptions.IOStreams) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:    "supervise",
		Short:  "Keep the processes of a sandbox running",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return sandbox.Supervise(name, streams.ErrOut) },
	}
	nameFlag(cmd, &name)
	return cmd
}
