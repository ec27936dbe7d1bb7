// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/approve"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
)

func newRetryCommand(o *approve.Options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retry NAME | cfed/NAME",
		Short: "Try again to roll out the revision that failed",
		Long: `retry lets a revision go out again from its first wave, after the rollout has failed and you have removed the cause. It writes the same
Approval as hostctl approve --retry. A change of the spec needs no retry: it is another revision.`,
		Example: `  hostctl rollout retry shop -n shop`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Retry = true
			return write(cmd, o, args[0])
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.ValidArgsFunction = complete.Wrapper(o.Flags)
	return cmd
}

func newSkipCommand(o *approve.Options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skip (NAME | cfed/NAME) CLUSTER…",
		Short: "Let a rollout go on without some clusters",
		Long: `skip lets the present rollout go on without the clusters: no wave waits for them, and their failure does not count. The manager still
updates them when it can. It writes the same Approval as hostctl approve --skip. After a failure, skip first and then retry: a
skip alone does not end a pause.`,
		Example: `  hostctl rollout skip shop -n shop eu-7`,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Skip = args[1:]
			return write(cmd, o, args[0])
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.ValidArgsFunction = complete.WrapperAndMembers(o.Flags)
	return cmd
}

// write completes the options with the wrapper's name, and writes the Approval that they describe.
func write(cmd *cobra.Command, o *approve.Options, name string) error {
	if err := o.Complete(name); err != nil {
		return err
	}
	return o.Run(cmd.Context())
}
