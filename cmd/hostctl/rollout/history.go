// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/rollout/revisions"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// HistoryOptions are the flags of `rollout history`.
type HistoryOptions struct {
	Target

	Revision int64
	Output   string
}

func newHistory(streams genericiooptions.IOStreams) *HistoryOptions {
	return &HistoryOptions{Target: newTarget(streams)}
}

func newHistoryCommand(o *HistoryOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history (NAME | cfed/NAME) [--revision N | -o json|yaml]",
		Short: "List the revisions of a wrapper, or show what one of them changed",
		Long: `history lists the revisions of a wrapper that the host keeps: the last ten, and those in use. The number of a revision is the
generation of the wrapper that first had its content. WHO is the user who wrote that content then, and after "again" the last user who
wrote it again later, for example by an undo. A dash means that the host does not know the user. CLUSTERS is the number of clusters
that hold the revision, as the wrapper's status says.

  current     the newest revision that every placed cluster has held
  update      the revision of the present spec
  last good   the newest revision of a rollout that was healthy on every cluster that the manager could reach
  failed      the revision with which the rollout failed

With --revision it shows what that revision changed: a diff of objects, overrides and upgrade against the revision before it. With
approve: Latest each version that the manager takes is a revision too, with the number of the spec: history then shows the changes of
all revisions with that number. It prints on standard error who made each revision, and when. A
revision that holds a Secret (column CONTENT) is stored encrypted, and hostctl shows nothing of it.`,
		Example: `  hostctl rollout history shop -n shop
  hostctl rollout history shop -n shop --revision 4`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("revision") && o.Revision < 1 {
				return exit.Usagef("--revision %d: give the number of a revision; `%s` lists the revisions", o.Revision, "hostctl rollout history NAME")
			}
			if o.Output != "" && o.Output != "json" && o.Output != "yaml" {
				return exit.Usagef("--output %q: give json or yaml", o.Output)
			}
			if o.Output != "" && o.Revision != 0 {
				return exit.Usagef("--revision prints a diff: leave --output out")
			}
			if err := o.Complete(args[0]); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	cmd.Flags().Int64Var(&o.Revision, "revision", 0, "show what this revision changed")
	cmd.Flags().StringVarP(&o.Output, "output", "o", "", "json or yaml (default a table)")
	o.addTo(cmd)
	return cmd
}

// Run lists the wrapper's revisions. With --revision it shows what one of them changed.
func (o *HistoryOptions) Run(ctx context.Context) error {
	w, err := o.wrapper(ctx)
	if err != nil {
		return err
	}
	list, err := revisions.List(ctx, o.host, w)
	if err != nil {
		return err
	}
	if o.Revision == 0 {
		return o.print(pastRevisionsOf(w, list))
	}
	text, err := o.changes(w, list)
	if err != nil {
		return fmt.Errorf("reading the history of %s: %w", render.TitleOf(w), err)
	}
	_, err = io.WriteString(o.Out, text)
	return err
}

// changes returns the difference that the revision with the chosen number made. With `approve: Latest`, several revisions can have that
// number; changes then returns the difference of each.
func (o *HistoryOptions) changes(w v1alpha1.Wrapper, list []appsv1.ControllerRevision) (string, error) {
	last, err := revisions.Numbered(list, o.Revision)
	if err != nil {
		return "", err
	}
	i := last
	for i > 0 && list[i-1].Revision == o.Revision && upgrade.TakesLatest(&w.WrapperSpec().Upgrade) {
		i--
	}
	var text strings.Builder
	for ; i <= last; i++ {
		changes, err := o.change(w, list, i)
		if err != nil {
			return "", err
		}
		text.WriteString(changes)
	}
	return text.String(), nil
}

// change returns the difference between list[i] and the revision before it.
func (o *HistoryOptions) change(w v1alpha1.Wrapper, list []appsv1.ControllerRevision, i int) (string, error) {
	_, _ = fmt.Fprintf(o.ErrOut, "• revision %d was made %s ago%s\n", o.Revision, screen.Age(o.Now(), list[i].CreationTimestamp), authorsOf(&list[i]).sentence())
	after, err := revisions.SideOf(w, &list[i])
	if err != nil {
		return "", err
	}
	if i == 0 {
		_, _ = fmt.Fprintf(o.ErrOut, "• the host keeps no revision before %d, so the diff shows everything as added\n", o.Revision)
		return revisions.Diff(revisions.Side{}, after)
	}
	before, err := revisions.SideOf(w, &list[i-1])
	if err != nil {
		return "", err
	}
	if before.Name == after.Name {
		before.Name, after.Name = before.Name+" ("+list[i-1].Name+")", after.Name+" ("+list[i].Name+")"
	}
	return revisions.Diff(before, after)
}
