// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/ask"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/rollout/revisions"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// UndoOptions are the flags of `rollout undo`.
type UndoOptions struct {
	Target

	ToRevision int64
	Yes        bool
	DryRun     bool

	// CanAsk reports whether standard input is a terminal, so that the command can ask the user a question.
	CanAsk func() bool
}

func newUndo(streams genericiooptions.IOStreams) *UndoOptions {
	return &UndoOptions{Target: newTarget(streams), CanAsk: func() bool { return ask.Terminal(streams) }}
}

func newUndoCommand(o *UndoOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "undo (NAME | cfed/NAME) [--to-revision N]",
		Short: "Write the content of an earlier revision as the spec",
		Long: `undo writes spec.objects, spec.overrides and spec.upgrade of an earlier revision as the present spec of a wrapper. It shows the
difference, and asks before it writes. The rest of the spec stays as it is. The change goes out like any other, in waves if the wrapper has waves.

Without --to-revision it takes the last good revision of the rollout. If that is the present revision, or the rollout has no last
good revision, it takes the newest one before the present one that has other content.

undo does not change the versions that the manager took for approve: Latest. They are not part of the spec, and OLM cannot downgrade. To
hold a version, write it as targetCSV.

A revision that holds a Secret is stored encrypted, so undo cannot write it: apply the earlier manifest from your repository. If
a GitOps agent manages the wrapper, undo warns that the agent will write the spec back.`,
		Example: `  hostctl rollout undo shop -n shop
  hostctl rollout undo shop -n shop --to-revision 2 --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("to-revision") && o.ToRevision < 1 {
				return exit.Usagef("--to-revision %d: give the number of a revision; `hostctl rollout history NAME` lists the revisions", o.ToRevision)
			}
			if !o.Yes && !o.DryRun && !o.CanAsk() {
				return exit.Usagef("changing the spec of %s needs your answer, and standard input is no terminal: give --yes", args[0])
			}
			if err := o.Complete(args[0]); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.Int64Var(&o.ToRevision, "to-revision", 0, "number of the revision to write as the spec (default the last good revision; if that is the present one, the one before it)")
	f.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.DryRun, "dry-run", false, "show the difference, let the API server check it, and write nothing")
	o.addTo(cmd)
	return cmd
}

// Run shows the difference to the earlier revision, asks the user, and writes the content of that revision into the spec.
func (o *UndoOptions) Run(ctx context.Context) error {
	w, err := o.wrapper(ctx)
	if err != nil {
		return err
	}
	title := render.TitleOf(w)
	old, err := o.earlier(ctx, w)
	if err != nil {
		return fmt.Errorf("undoing a change of %s: %w", title, err)
	}
	differs, err := o.show(w, old)
	if err != nil {
		return fmt.Errorf("undoing a change of %s: %w", title, err)
	}
	if !differs {
		_, _ = fmt.Fprintf(o.ErrOut, "• %s has the content of %s already\n", title, old.Name)
		if upgrade.TakesLatest(&w.WrapperSpec().Upgrade) {
			_, _ = fmt.Fprintln(o.ErrOut, "• undo does not take back a version that the manager took (approve: Latest), because OLM cannot downgrade; to stay at a version, write it as targetCSV")
		}
		return nil
	}
	o.warnOfGitOps(w, "objects", "overrides", "upgrade") // warn before the write, which makes hostctl the field manager of the fields
	if !o.Yes && !o.DryRun {
		if err := ask.Confirm(o.IOStreams, "undoing a change of "+w.GetName(), o.question(w, old)); err != nil {
			return err
		}
	}
	content, err := old.Content.Spec()
	if err != nil {
		return fmt.Errorf("undoing a change of %s: %w", title, err)
	}
	err = o.patch(ctx, w, o.DryRun, func() {
		spec := w.WrapperSpec()
		if len(content.Upgrade.Subscriptions) > 0 {
			content.Upgrade.Rollback = spec.Upgrade.Rollback // a policy, which no revision contains
		}
		spec.Objects, spec.Overrides, spec.Upgrade = content.Objects, content.Overrides, content.Upgrade
	})
	if err != nil {
		return fmt.Errorf("writing %s as the spec of %s: %w", old.Name, title, err)
	}
	_, _ = fmt.Fprintf(o.ErrOut, "✓ %s has the content of %s%s\n", title, old.Name, dryRunMark(o.DryRun))
	return nil
}

func (o *UndoOptions) question(w v1alpha1.Wrapper, old revisions.Side) string {
	how := "to all clusters at the same time"
	if w.WrapperSpec().Rollout.IsPaced() {
		how = "as spec.rollout says"
	}
	return fmt.Sprintf("Write %s as the spec of %s? The change goes out %s.", old.Name, render.TitleOf(w), how)
}

// earlier returns the revision that undo writes: the one of --to-revision, or else the one of method previous.
func (o *UndoOptions) earlier(ctx context.Context, w v1alpha1.Wrapper) (revisions.Side, error) {
	if w.GetDeletionTimestamp() != nil {
		return revisions.Side{}, errDeleted
	}
	list, err := revisions.List(ctx, o.host, w)
	if err != nil {
		return revisions.Side{}, err
	}
	var i int
	if o.ToRevision != 0 {
		i, err = revisions.Numbered(list, o.ToRevision)
	} else {
		i, err = o.previous(w, list)
	}
	if err != nil {
		return revisions.Side{}, err
	}
	return writtenSideOf(w, &list[i])
}

// writtenSideOf returns a revision without the versions that the manager took for `approve: Latest`. An author cannot write these into a
// spec.
func writtenSideOf(w v1alpha1.Wrapper, r *appsv1.ControllerRevision) (revisions.Side, error) {
	s, err := revisions.SideOf(w, r)
	if err != nil {
		return s, err
	}
	s.Content, err = s.Content.AsWritten()
	return s, err
}

// previous returns the index of the revision that undo writes by default. It is the last good revision. If there is none, or if that is the
// update revision, it is the revision before the update revision. With `approve: Latest`, previous skips revisions that differ
// from the spec only in a taken version.
func (o *UndoOptions) previous(w v1alpha1.Wrapper, list []appsv1.ControllerRevision) (int, error) {
	status := w.WrapperStatus()
	named := func(name string) int {
		return slices.IndexFunc(list, func(r appsv1.ControllerRevision) bool { return r.Name == name })
	}
	if status.ObservedGeneration != w.GetGeneration() {
		return 0, errors.New("the host's manager has not acted on the present spec yet, so the revision before it is not known: try again in a moment, or give --to-revision")
	}
	now, err := revision.Of(w.WrapperSpec())
	if err != nil {
		return 0, err
	}
	if good := status.Rollout.LastGoodRevision; good != "" && good != status.UpdateRevision {
		if i := named(good); i >= 0 {
			// If hostctl cannot read the revision, previous returns it all the same: the caller reads it again, and shows the
			// error to the user.
			if s, err := writtenSideOf(w, &list[i]); err != nil || s.Content.Hash != now.Hash {
				return i, nil
			}
		}
	}
	present := named(status.UpdateRevision)
	if present < 1 {
		return 0, fmt.Errorf("the host keeps no revision before the present one; --to-revision takes any revision that `%s` lists", o.commandLine("history"))
	}
	if !upgrade.TakesLatest(&w.WrapperSpec().Upgrade) {
		return present - 1, nil
	}
	i := present - 1
	for ; i > 0; i-- {
		if s, err := writtenSideOf(w, &list[i]); err != nil || s.Content.Hash != now.Hash {
			break // as above: the caller shows the error
		}
	}
	return i, nil
}

// show prints the difference between the present spec and the earlier revision. It returns false if there is no difference.
func (o *UndoOptions) show(w v1alpha1.Wrapper, old revisions.Side) (bool, error) {
	present, err := revision.Of(w.WrapperSpec())
	if err != nil {
		return false, err
	}
	if present.Hash == old.Content.Hash {
		return false, nil
	}
	if present.HoldsSecret {
		_, _ = fmt.Fprintln(o.ErrOut, "• the present spec contains a Secret, or an override that can apply to a Secret, so hostctl does not show the difference")
		return true, nil
	}
	text, err := revisions.Diff(revisions.Side{Name: "present spec", Content: present}, old)
	if err != nil {
		return false, err
	}
	_, err = io.WriteString(o.Out, text)
	return true, err
}
