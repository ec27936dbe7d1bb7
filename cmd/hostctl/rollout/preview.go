// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/rollout/preview"
)

// PreviewOptions are the flags of `rollout preview`.
type PreviewOptions struct {
	Target

	Files     []string
	Recursive bool
	Output    string
}

func newPreview(streams genericiooptions.IOStreams) *PreviewOptions {
	return &PreviewOptions{Target: newTarget(streams)}
}

func newPreviewCommand(o *PreviewOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "preview (NAME | cfed/NAME | -f FILE|DIR|-) [-o json|yaml]",
		Short: "Show what a change of a wrapper does on each cluster, and in which order",
		Long: `preview shows which clusters are in which wave, and what changes on each: the objects that are added, changed and
removed. Clusters with the same change share one entry. preview also shows the clusters that the wrapper leaves, and those that
it leaves later because of spec.rollout.maxRemoval. It writes nothing, and reads only the host.

NAME is a wrapper on the host: preview shows what its present spec still changes. With -f it shows what the wrappers of a file would
change. The host's API server checks them first by a dry run, with all errors and warnings of admission. If the wrapper is on the
host already, preview takes the whole spec of the file, as kubectl replace does.

preview compares with the revision that the wrapper's status names for a cluster. It does not see drift on the cluster. For a Secret
it shows only which fields change. A revision with a Secret is encrypted, so hostctl cannot tell what a cluster with such a revision
has, unless it is the present spec.

If an override cannot be applied for a cluster, preview shows why, and exits with 1.`,
		Example: `  hostctl rollout preview -f shop.yaml
  hostctl rollout preview shop -n shop          # what is still to come`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(args); err != nil {
				return err
			}
			if err := o.Complete(args); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.Files, "filename", "f", nil, "file, folder or - for stdin that holds wrappers; may be repeated")
	f.BoolVarP(&o.Recursive, "recursive", "R", false, "read the folders inside a folder too")
	f.StringVarP(&o.Output, "output", "o", "", "json or yaml (default text)")
	o.addTo(cmd)
	return cmd
}

// Validate checks the arguments and the flags.
func (o *PreviewOptions) Validate(args []string) error {
	switch {
	case len(args) == 0 && len(o.Files) == 0:
		return exit.Usagef("give the wrapper to preview: NAME or cfed/NAME of a wrapper on the host, or -f FILE")
	case len(args) > 0 && len(o.Files) > 0:
		return exit.Usagef("give a NAME or -f, not both")
	case o.Output != "" && o.Output != "json" && o.Output != "yaml":
		return exit.Usagef("--output %q: give json or yaml", o.Output)
	}
	return nil
}

// Complete parses the wrapper's name, if the user gave one, and connects to the host.
func (o *PreviewOptions) Complete(args []string) error {
	if len(args) > 0 {
		return o.Target.Complete(args[0])
	}
	var err error
	if o.namespace, err = connect.Namespace(o.flags); err != nil {
		return err
	}
	o.host, err = o.Connect()
	return err
}

// Run previews each wrapper. After an error for one wrapper or member it still shows the others.
func (o *PreviewOptions) Run(ctx context.Context) error {
	proposals, err := o.proposals(ctx)
	if err != nil && len(proposals) == 0 {
		return err
	}
	failed := []error{err}
	members, err := render.MembersOf(ctx, o.host)
	if err != nil {
		return err
	}
	previews := []*preview.Preview{}
	for i := range proposals {
		p, err := preview.Of(ctx, o.host, proposals[i].preview(), members, o.Now())
		if err != nil {
			failed = append(failed, fmt.Errorf("previewing %s: %w", render.TitleOf(proposals[i].wrapper), err))
			continue
		}
		previews = append(previews, p)
		failed = append(failed, p.Refusals()...)
	}
	if err := o.print(previews); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// print writes the previews. For programs it always writes a list, also for a single wrapper.
func (o *PreviewOptions) print(previews []*preview.Preview) error {
	if o.Output == encode.JSON || o.Output == encode.YAML {
		return encode.To(o.Out, o.Output, previews)
	}
	for i, p := range previews {
		text := p.Text()
		if i > 0 {
			text = "\n" + text
		}
		if _, err := io.WriteString(o.Out, text); err != nil {
			return err
		}
	}
	return nil
}
