// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
)

// SuspendOptions are the flags of `rollout suspend` and `rollout resume`.
type SuspendOptions struct {
	Target

	// All makes suspend set spec.suspend to All, and lets resume take All back.
	All    bool
	DryRun bool
}

func newSuspend(streams genericiooptions.IOStreams) *SuspendOptions {
	return &SuspendOptions{Target: newTarget(streams)}
}

func newSuspendCommand(o *SuspendOptions) *cobra.Command {
	cmd := o.command(v1alpha1.SuspendRollout, &cobra.Command{
		Use:   "suspend NAME | cfed/NAME",
		Short: "Let no further wave of a wrapper begin, or stop all its writes",
		Long: `suspend sets spec.suspend to Rollout: no further wave begins, and repairs go on. A wave that has begun goes on to its end, and so
does a rollback.

With --all it sets spec.suspend to All, for a wrapper with or without spec.rollout: the manager changes nothing on any member for this
wrapper. No repair, removal, rollback or approval of an InstallPlan goes on, also not in a wave that has begun. The deletion of the wrapper
is the exception: its objects are removed as spec.onDelete says.`,
		Example: `  hostctl rollout suspend shop -n shop
  hostctl rollout suspend shop -n shop --all`,
	})
	cmd.Flags().BoolVar(&o.All, "all", false, "stop all writes to members, and not only the next waves")
	return cmd
}

func newResumeCommand(o *SuspendOptions) *cobra.Command {
	cmd := o.command(v1alpha1.SuspendNone, &cobra.Command{
		Use:   "resume NAME | cfed/NAME",
		Short: "Resume a suspended rollout: its next waves may begin",
		Long: `resume sets spec.suspend to None, if it is Rollout. With --all it does so if it is All, too. Then everything that has waited goes out:
members that differ from their target are changed at once, as far as the rollout lets them.`,
		Example: `  hostctl rollout resume shop -n shop
  hostctl rollout resume shop -n shop --all`,
	})
	cmd.Flags().BoolVar(&o.All, "all", false, "take spec.suspend: All back, too")
	return cmd
}

// command makes cmd run with this policy, and adds the flags of both commands.
func (o *SuspendOptions) command(policy v1alpha1.SuspendPolicy, cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.Complete(args[0]); err != nil {
			return err
		}
		return o.Run(cmd.Context(), policy)
	}
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "let the API server check the change, and write nothing")
	o.addTo(cmd)
	return cmd
}

// Run sets spec.suspend to policy, or to All in place of Rollout if o.All is set. It writes nothing if the wrapper has that value already.
func (o *SuspendOptions) Run(ctx context.Context, policy v1alpha1.SuspendPolicy) error {
	if policy == v1alpha1.SuspendRollout && o.All {
		policy = v1alpha1.SuspendAll
	}
	w, err := o.wrapper(ctx)
	if err != nil {
		return err
	}
	title, spec := render.TitleOf(w), w.WrapperSpec()
	present := spec.Suspend
	if present == "" {
		present = v1alpha1.SuspendNone
	}
	switch {
	case present == policy:
		_, _ = fmt.Fprintf(o.ErrOut, "• %s: spec.suspend is %s already\n", title, policy)
		return nil
	case present == v1alpha1.SuspendAll && !o.All:
		return fmt.Errorf("changing spec.suspend of %s: it is All, which stops every write and not only the rollout; to resume all writes, run `%s`",
			title, o.commandLine("resume")+" --all")
	case policy == v1alpha1.SuspendRollout && !spec.Rollout.IsPaced():
		return fmt.Errorf("suspending the rollout of %s: %w; to stop all its writes, run `%s`", title, errNoRollout, o.commandLine("suspend")+" --all")
	case w.GetDeletionTimestamp() != nil:
		return fmt.Errorf("changing spec.suspend of %s: %w", title, errDeleted)
	}
	o.warnOfGitOps(w, "suspend") // warn before the write, which makes hostctl the field manager of the field
	err = o.patch(ctx, w, o.DryRun, func() { spec.Suspend = policy })
	if err != nil {
		return fmt.Errorf("changing spec.suspend of %s: %w", title, err)
	}
	_, _ = fmt.Fprintf(o.Out, "%s: spec.suspend is %s%s\n", title, policy, dryRunMark(o.DryRun))
	r := &w.WrapperStatus().Rollout
	if policy == v1alpha1.SuspendRollout && r.State == v1alpha1.RolloutProgressing && r.Begun == v1alpha1.Yes {
		_, _ = fmt.Fprintf(o.ErrOut, "• wave %s has begun, and continues to its end\n", r.Wave)
	}
	return nil
}
