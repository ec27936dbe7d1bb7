// SPDX-License-Identifier: Apache-2.0

package federate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/federate/files"
	"github.com/fairlead-dev/fairlead/federate/author"
	"github.com/fairlead-dev/fairlead/overrides"
)

// Options are the flags of `hostctl federate`, and what Complete derives from them.
type Options struct {
	genericiooptions.IOStreams

	Files            []string
	Recursive        bool
	Output           string
	Namespace        string
	Bundle           string
	Clusters         []string
	ClusterSelectors []string
	AllClusters      bool
	ClusterScoped    []string
	Namespaced       []string
	Host             hostFlags

	// Complete sets the field below.
	author author.Options
}

// New returns the command `hostctl federate`.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{IOStreams: streams, Output: "yaml"}
	cmd := &cobra.Command{
		Use:   "federate -f FILE|DIR|-",
		Short: "Make wrappers from plain manifests",
		Long: `federate reads manifests in YAML or JSON and prints wrappers that hold them: Federated for namespaced objects and
ClusterFederated for cluster-scoped ones. It writes nothing to any cluster.

Each object gets a wrapper of its own, named <kind>-<name>. With --bundle objects share a wrapper: one per namespace, and one
for the cluster-scoped objects. Fields that a cluster filled in (status, uid, clusterIP, volumeName …) are left out.

Choose with --clusters, --cluster-selector or --all-clusters where the objects go. Without any of these the wrappers get a
placeholder for the placement, and the host refuses them until you fill it in.

federate reports all errors of the input together. Notes on stderr name settings that you may not have intended, and files of a
folder that it skips because they hold no Kubernetes object. Objects of KubeFed (FederatedDeployment …) become wrappers with
the same placement and overrides.`,
		Example: `  # one wrapper for a folder of manifests, on every cluster
  hostctl federate -f shop/ --bundle shop --all-clusters > shop.yaml

  # what runs in this cluster now, for all clusters in production
  kubectl get deployment,service -n web -o yaml | hostctl federate -f - --cluster-selector env=production

  # on two clusters by name, and created on the host
  hostctl federate -f class.yaml --clusters eu-1,eu-2 | kubectl create -f -`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := o.Complete(); err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return o.Run()
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.Files, "filename", "f", nil, "file, folder or - for stdin; may be repeated")
	f.BoolVarP(&o.Recursive, "recursive", "R", false, "read the folders inside a folder too")
	f.StringVarP(&o.Output, "output", "o", o.Output, "yaml or json")
	f.StringVarP(&o.Namespace, "namespace", "n", "", "namespace for namespaced objects without one")
	f.StringVar(&o.Bundle, "bundle", "",
		"name of the wrappers: one Federated for all objects of each namespace, and one ClusterFederated for all cluster-scoped objects")
	f.StringSliceVar(&o.Clusters, "clusters", nil, "place on these clusters, by name, separated by commas")
	complete.MemberFlags(cmd, connect.Flags(), "clusters")
	f.StringArrayVar(&o.ClusterSelectors, "cluster-selector", nil,
		"place on the clusters with these labels, as in env=production,cloud!=gcp; may be repeated, and a cluster needs to match one of them")
	f.BoolVar(&o.AllClusters, "all-clusters", false, "place on every cluster")
	f.StringSliceVar(&o.ClusterScoped, "cluster-scoped", nil, "KIND.GROUP of a cluster-scoped kind that hostctl does not know")
	f.StringSliceVar(&o.Namespaced, "namespaced", nil, "KIND.GROUP of a namespaced kind that hostctl does not know")
	f.StringVar(&o.Host.kubeconfig, "kubeconfig", "",
		"kubeconfig of the host; federate then asks the host for the scope of unknown kinds, and which namespaces exist")
	f.StringVar(&o.Host.context, "context", "",
		"context of the host in its kubeconfig; federate then asks the host as with --kubeconfig")
	return cmd
}

// Complete makes the options for package author from the flags.
func (o *Options) Complete() error {
	o.author = author.Options{Namespace: o.Namespace, Bundle: o.Bundle, Scopes: map[schema.GroupKind]author.Scope{}}
	for scope, names := range map[author.Scope][]string{author.ClusterScoped: o.ClusterScoped, author.Namespaced: o.Namespaced} {
		for _, name := range names {
			gk := schema.ParseGroupKind(name)
			if other, said := o.author.Scopes[gk]; said && other != scope {
				return exit.Usagef("%s is given to --cluster-scoped and to --namespaced: give it to one of them", name)
			}
			o.author.Scopes[gk] = scope
		}
	}
	var err error
	if o.author.Clusters, err = o.placement(); err != nil {
		return err
	}
	o.author.Lookup, o.author.HasNamespace = o.Host.lookup(), o.Host.hasNamespace()
	return nil
}

// placement returns the placement of --clusters, --cluster-selector or --all-clusters, or nil without these flags.
func (o *Options) placement() (*v1alpha1.ClusterSelection, error) {
	if o.AllClusters {
		if len(o.Clusters)+len(o.ClusterSelectors) > 0 {
			return nil, exit.Usagef("--all-clusters selects every cluster: leave --clusters and --cluster-selector out")
		}
		return &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{}}}, nil
	}
	if len(o.Clusters)+len(o.ClusterSelectors) == 0 {
		return nil, nil
	}
	selection := &v1alpha1.ClusterSelection{}
	for _, name := range o.Clusters {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return nil, exit.Usagef("--clusters %q: %s", name, problems[0])
		}
		if !slices.Contains(selection.Names, name) {
			selection.Names = append(selection.Names, name)
		}
	}
	for _, text := range o.ClusterSelectors {
		selector, err := metav1.ParseToLabelSelector(text)
		if err != nil {
			return nil, exit.Usagef("--cluster-selector %q: %w", text, err)
		}
		if strings.TrimSpace(text) == "" {
			return nil, exit.Usagef("--cluster-selector is empty: to select every cluster give --all-clusters")
		}
		selection.Selectors = append(selection.Selectors, *selector)
	}
	return selection, nil
}

// Validate returns an error for flags that contradict each other or have no meaning.
func (o *Options) Validate() error {
	switch {
	case len(o.Files) == 0:
		return exit.Usagef("say what to federate: -f FILE, -f FOLDER, or -f - for stdin")
	case o.Output != "yaml" && o.Output != "json":
		return exit.Usagef("--output %q: give yaml or json", o.Output)
	}
	if o.Bundle != "" {
		if problems := validation.IsDNS1123Subdomain(o.Bundle); len(problems) > 0 {
			return exit.Usagef("--bundle %q: %s", o.Bundle, problems[0])
		}
	}
	if o.Namespace != "" {
		if problems := validation.IsDNS1123Label(o.Namespace); len(problems) > 0 {
			return exit.Usagef("--namespace %q: %s", o.Namespace, problems[0])
		}
	}
	return nil
}

// Run reads the manifests, makes the wrappers and prints them. If one of them is wrong, it prints none.
func (o *Options) Run() error {
	sources, err := files.Read(o.Files, o.Recursive, o.In, author.MaxInput)
	if err != nil {
		return err
	}
	manifests, skipped, parseErr := author.Parse(sources)
	wrappers, notes, err := author.Wrap(manifests, o.author)
	if err := errors.Join(parseErr, err); err != nil {
		return err
	}
	notes = append(skipped, notes...)
	if err := o.check(wrappers); err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(o.ErrOut, "note:", note)
	}
	if slices.ContainsFunc(wrappers, func(w *author.Wrapper) bool { return w.Clusters == nil }) {
		fmt.Fprintln(o.ErrOut, "note: spec.placement.clusters is a placeholder, which the host refuses. Fill it in, or give --clusters, --cluster-selector or --all-clusters")
	}
	write := map[string]func(io.Writer, []*author.Wrapper) error{"yaml": author.WriteYAML, "json": author.WriteJSON}[o.Output]
	var out bytes.Buffer
	if err := write(&out, wrappers); err != nil {
		return err
	}
	if out.Len() > author.MaxOutput {
		return fmt.Errorf("writing %d wrappers: they are %d MiB together, and hostctl render reads at most %d. Split the input, or give --bundle",
			len(wrappers), out.Len()>>20, author.MaxOutput>>20)
	}
	_, err = o.Out.Write(out.Bytes())
	return err
}

// check makes the checks that the host's webhooks make too (overrides.Validate). It skips a wrapper without a placement: the author
// adds the placement later, and until then the webhooks refuse the wrapper.
func (o *Options) check(wrappers []*author.Wrapper) error {
	for _, w := range wrappers {
		if w.Clusters == nil {
			continue
		}
		spec, err := w.Spec()
		if err != nil {
			return err
		}
		if errs := overrides.Validate(spec, w.Namespace, w.Kind); len(errs) > 0 {
			return fmt.Errorf("writing %s %s: %w", w.Kind, w.Name, errs.ToAggregate())
		}
	}
	return nil
}
