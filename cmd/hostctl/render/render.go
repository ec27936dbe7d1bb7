// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/federate/files"
	"github.com/fairlead-dev/fairlead/federate/author"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// Options are the flags of `hostctl render`, and what Complete derives from them.
type Options struct {
	genericiooptions.IOStreams

	Name             string
	Files            []string
	Recursive        bool
	Output           string
	Clusters         []string
	ClusterSelectors []string
	Assumed          []string

	// Host reads wrappers and members from the host. Tests set a fake host.
	Host HostReader

	// Complete sets the fields below.
	kind      v1alpha1.WrapperKind
	name      string
	selectors []labels.Selector
	assumed   []selection.Member
}

// New returns the command `hostctl render`.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	host := newHostSource()
	o := &Options{IOStreams: streams, Output: "yaml", Host: host}
	cmd := &cobra.Command{
		Use:   "render (NAME | cfed/NAME | -f FILE|DIR|-)",
		Short: "Show the objects of a wrapper as each cluster would get them",
		Long: `render shows what Fairlead would push to each cluster: the objects of a wrapper with the overrides for that cluster, in the order
of installation. Clusters with equal objects are shown once, below a list of their names.

The wrapper comes from the host (NAME) or from files (-f). The clusters come from the host, or from --assume-cluster, which
needs no host. By default render shows the clusters that spec.placement selects. --cluster and --cluster-selector choose
others; a comment then marks a cluster that spec.placement does not select.

Comments above each object list the marks that Fairlead adds to it. The digests are of the objects without these marks.

If an override cannot be applied for a cluster, render shows the other clusters and exits with 1.`,
		Example: `  # Federated shop in namespace shop, as every cluster gets it
  hostctl render shop -n shop

  # a wrapper in a file, before it is created, for one cluster
  hostctl render -f shop.yaml --cluster eu-1

  # without any host
  hostctl render -f shop.yaml --assume-cluster eu-1,cloud=aws --assume-cluster us-1,cloud=gcp`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Complete(args); err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.Files, "filename", "f", nil, "file or folder with wrappers, or - for stdin; may be repeated")
	f.BoolVarP(&o.Recursive, "recursive", "R", false, "read the folders inside a folder too")
	f.StringVarP(&o.Output, "output", "o", o.Output, "yaml, json or name")
	f.StringSliceVar(&o.Clusters, "cluster", nil, "render for this cluster; may be repeated")
	f.StringArrayVar(&o.ClusterSelectors, "cluster-selector", nil, "render for the clusters with these labels; may be repeated")
	f.StringArrayVar(&o.Assumed, "assume-cluster", nil,
		"NAME,LABEL=VALUE,… of a cluster to render for, instead of the host's clusters; may be repeated")
	host.flags.AddFlags(f)
	cmd.ValidArgsFunction = complete.Wrapper(host.flags)
	complete.MemberFlags(cmd, host.flags, "cluster")
	return cmd
}

// Complete parses the name of the wrapper, and the flags that choose or assume members.
func (o *Options) Complete(args []string) error {
	if len(args) == 1 {
		o.Name = args[0]
	}
	if o.Name != "" {
		var err error
		if o.kind, o.name, err = ParseName(o.Name); err != nil {
			return err
		}
	}
	for _, text := range o.ClusterSelectors {
		selector, err := labels.Parse(text)
		if err != nil {
			return exit.Usagef("--cluster-selector %q: %w", text, err)
		}
		o.selectors = append(o.selectors, selector)
	}
	for _, text := range o.Assumed {
		member, err := parseMember(text)
		if err != nil {
			return err
		}
		for _, other := range o.assumed {
			if other.Name == member.Name {
				return exit.Usagef("--assume-cluster %s is given twice: give all labels of the cluster in one flag", member.Name)
			}
		}
		o.assumed = append(o.assumed, member)
	}
	return nil
}

// Validate returns an error for flags that contradict each other or have no meaning.
func (o *Options) Validate() error {
	switch {
	case o.Name == "" && len(o.Files) == 0:
		return exit.Usagef("say what to render: NAME or cfed/NAME of a wrapper at the host, or -f FILE")
	case o.Name != "" && len(o.Files) > 0:
		return exit.Usagef("give a NAME or -f, not both")
	}
	switch o.Output {
	case "yaml", "json", "name":
		return nil
	}
	return exit.Usagef("--output %q: give yaml, json or name", o.Output)
}

// Run renders each wrapper for each member. After an error for one member it still renders for the others.
func (o *Options) Run(ctx context.Context) error {
	wrappers, err := o.wrappers(ctx)
	if err != nil {
		return err
	}
	members := o.assumed
	if len(members) == 0 {
		if members, err = o.Host.Members(ctx); err != nil {
			return fmt.Errorf("listing the host's clusters (without a host, give --assume-cluster NAME,LABEL=VALUE): %w", err)
		}
	}
	var previews []*preview
	var failed []error
	for _, w := range wrappers {
		o.noteUnknown(w, members)
		chosen, err := o.choose(w, members)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if len(chosen) == 0 {
			fmt.Fprintf(o.ErrOut, "note: the placement of %s selects none of the %d clusters. --cluster NAME renders it for a cluster anyway\n",
				w.title(), len(members))
			continue
		}
		p, err := newPreview(w, chosen)
		if err != nil {
			failed = append(failed, err)
		}
		if p != nil {
			previews = append(previews, p)
		}
	}
	if err := write(o.Out, o.Output, previews); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// sourced is a wrapper with its place in the input files. where is the zero value for a wrapper from the host.
type sourced struct {
	v1alpha1.Wrapper
	where author.Where
}

// title returns the wrapper's name for messages, after its place in the input files if it comes from a file.
func (w sourced) title() string {
	if w.where == (author.Where{}) {
		return TitleOf(w.Wrapper)
	}
	return fmt.Sprintf("%s, document %d (line %d), %s", w.where.Source, w.where.Document, w.where.Line, TitleOf(w.Wrapper))
}

// wrappers returns the wrapper that the user named, from the host, or else the wrappers in the files of -f. If a Federated in a file has no
// namespace, it gets the namespace in which kubectl would create it.
func (o *Options) wrappers(ctx context.Context) ([]sourced, error) {
	namespace, err := o.Host.Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if o.Name != "" {
		w, err := o.Host.Wrapper(ctx, o.kind, namespace, o.name)
		if err != nil {
			return nil, fmt.Errorf("getting %s %s from the host: %w", o.kind, o.name, err)
		}
		return []sourced{{Wrapper: w}}, nil
	}
	sources, err := files.Read(o.Files, o.Recursive, o.In, author.MaxOutput)
	if err != nil {
		return nil, err
	}
	parsed, notes, err := author.ParseWrappers(sources)
	if err != nil {
		return nil, err
	}
	for _, note := range notes {
		fmt.Fprintln(o.ErrOut, "note:", note)
	}
	wrappers := make([]sourced, 0, len(parsed))
	for _, p := range parsed {
		if p.Wrapper.WrapperKind() == v1alpha1.KindFederated && p.Wrapper.GetNamespace() == "" {
			p.Wrapper.SetNamespace(namespace)
		}
		wrappers = append(wrappers, sourced{Wrapper: p.Wrapper, where: p.Where})
	}
	return wrappers, nil
}
