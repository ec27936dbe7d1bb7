// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
)

// HistoryOptions are the flags of `rollout history`.
type HistoryOptions struct {
	Target

	Revision int64
}

func newHistory(streams genericiooptions.IOStreams) *HistoryOptions {
	return &HistoryOptions{Target: newTarget(streams)}
}

func newHistoryCommand(o *HistoryOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history (NAME | cfed/NAME) [--revision N]",
		Short: "List the revisions of a wrapper, or show what one of them changed",
		Long: `history lists the revisions of a wrapper that the host keeps: the last ten, and those in use. The number of a revision is the
generation of the wrapper that first had its content. CLUSTERS is how many clusters hold it, as the wrapper's status says.

  current     the newest revision that every placed cluster has held
  update      the revision of the present spec
  last good   the newest revision of a rollout that was healthy on every cluster that the manager could reach
  failed      the revision with which the rollout failed

With --revision it shows what that revision changed: a diff of objects, overrides and upgrade against the revision before it. A
revision that holds a Secret (column CONTENT) is stored encrypted, and hostctl shows nothing of it.`,
		Example: `  hostctl rollout history shop -n shop
  hostctl rollout history shop -n shop --revision 4`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("revision") && o.Revision < 1 {
				return exit.Usagef("--revision %d: give the number of a revision, as `%s` lists them", o.Revision, "hostctl rollout history NAME")
			}
			if err := o.Complete(args[0]); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	cmd.Flags().Int64Var(&o.Revision, "revision", 0, "show what this revision changed")
	o.addTo(cmd)
	return cmd
}

// Run lists the revisions, or shows one.
func (o *HistoryOptions) Run(ctx context.Context) error {
	w, err := o.wrapper(ctx)
	if err != nil {
		return err
	}
	list, err := o.revisions(ctx, w)
	if err != nil {
		return err
	}
	if o.Revision == 0 {
		return o.list(w, list)
	}
	text, err := o.changes(w, list)
	if err != nil {
		return fmt.Errorf("reading the history of %s: %w", render.TitleOf(w), err)
	}
	_, err = io.WriteString(o.Out, text)
	return err
}

func (o *HistoryOptions) list(w v1alpha1.Wrapper, list []appsv1.ControllerRevision) error {
	status := w.WrapperStatus()
	holders := make(map[string]int)
	for i := range status.Clusters {
		holders[status.Clusters[i].Revision]++
	}
	table := tabwriter.NewWriter(o.Out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "REVISION\tNAME\tAGE\tCLUSTERS\tCONTENT\tIS") // Flush says what went wrong
	for i := range list {
		r, content := &list[i], "plain"
		switch _, err := contentOf(w, r); {
		case errors.Is(err, errHidden):
			content = "Secret"
		case err != nil:
			content = "unreadable"
		}
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%s\t%s\n", r.Revision, r.Name, age(o.Now(), r.CreationTimestamp), holders[r.Name], content,
			orDash(roles(status, r.Name)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if status.ClustersOmitted > 0 {
		_, _ = fmt.Fprintf(o.ErrOut, "• CLUSTERS does not count %d clusters that have no line in the wrapper's status\n", status.ClustersOmitted)
	}
	return nil
}

// roles are what a revision is to the wrapper now.
func roles(status *v1alpha1.WrapperStatus, name string) string {
	var all []string
	for _, role := range []struct{ revision, word string }{
		{status.CurrentRevision, "current"},
		{status.UpdateRevision, "update"},
		{status.Rollout.LastGoodRevision, "last good"},
		{status.Rollout.Failure.Revision, "failed"},
	} {
		if role.revision == name {
			all = append(all, role.word)
		}
	}
	return strings.Join(all, ", ")
}

// changes is the difference that the chosen revision made.
func (o *HistoryOptions) changes(w v1alpha1.Wrapper, list []appsv1.ControllerRevision) (string, error) {
	i, err := numbered(list, o.Revision)
	if err != nil {
		return "", err
	}
	after, err := sideOf(w, &list[i])
	if err != nil {
		return "", err
	}
	if i == 0 {
		_, _ = fmt.Fprintf(o.ErrOut, "• the host keeps no revision before %d, so everything in it shows as new\n", o.Revision)
		return diff(side{}, after)
	}
	before, err := sideOf(w, &list[i-1])
	if err != nil {
		return "", err
	}
	return diff(before, after)
}

func sideOf(w v1alpha1.Wrapper, r *appsv1.ControllerRevision) (side, error) {
	content, err := contentOf(w, r)
	return side{name: fmt.Sprintf("revision %d", r.Revision), content: content}, err
}
