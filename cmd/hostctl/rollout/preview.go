// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/overrides/selection"
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
		Long: `preview shows which clusters are in which wave, and what changes on each: the objects that it gets, those that differ, and those that
it loses. Clusters with the same change share one entry. preview also shows the clusters that the wrapper leaves, and those that
it leaves later because of spec.rollout.maxRemoval. It writes nothing, and asks the host only.

NAME is a wrapper on the host: preview shows what its present spec still changes. With -f it shows what the wrappers of a file would
change. The host's API server checks them first by a dry run, with all errors and warnings of admission. If the wrapper is on the
host already, preview takes the whole spec of the file, as kubectl replace does.

What a cluster has now is the rendering of the revision in the wrapper's status. Drift there does not show. Of a Secret preview
shows only which fields change. A revision with a Secret is encrypted, so what such a cluster has is not known, unless it is the
present spec.

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
		return exit.Usagef("say what to preview: NAME or cfed/NAME of a wrapper at the host, or -f FILE")
	case len(args) > 0 && len(o.Files) > 0:
		return exit.Usagef("give a NAME or -f, not both")
	case o.Output != "" && o.Output != "json" && o.Output != "yaml":
		return exit.Usagef("--output %q: give json or yaml", o.Output)
	}
	return nil
}

// Complete reads the argument that names a wrapper, if there is one, and connects to the host.
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

// Run previews each wrapper. An error for one wrapper, or for one cluster, does not hide the others.
func (o *PreviewOptions) Run(ctx context.Context) error {
	proposals, err := o.proposals(ctx)
	if err != nil && len(proposals) == 0 {
		return err
	}
	failed := []error{err}
	members, err := o.members(ctx)
	if err != nil {
		return err
	}
	previews := []*preview{}
	for i := range proposals {
		p, err := proposals[i].preview(ctx, members, o.Now())
		if err != nil {
			failed = append(failed, fmt.Errorf("previewing %s: %w", render.TitleOf(proposals[i].wrapper), err))
			continue
		}
		previews = append(previews, p)
		failed = append(failed, p.refusals()...)
	}
	if err := o.print(previews); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// members are the members of the fleet. The manager pushes nothing to a member that is being unjoined.
func (o *PreviewOptions) members(ctx context.Context) ([]selection.Member, error) {
	list := &v1alpha1.MemberClusterList{}
	if err := o.host.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing the members: %w", err)
	}
	var members []selection.Member
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			members = append(members, selection.Member{Name: list.Items[i].Name, Labels: list.Items[i].Labels})
		}
	}
	return members, nil
}

// print writes the previews. For programs they are a list, however many wrappers a file has.
func (o *PreviewOptions) print(previews []*preview) error {
	switch o.Output {
	case "json":
		encoder := json.NewEncoder(o.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(previews)
	case "yaml":
		content, err := yaml.Marshal(previews)
		if err == nil {
			_, err = o.Out.Write(content)
		}
		return err
	}
	for i, p := range previews {
		text := p.text()
		if i > 0 {
			text = "\n" + text
		}
		if _, err := io.WriteString(o.Out, text); err != nil {
			return err
		}
	}
	return nil
}
