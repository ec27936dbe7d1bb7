// SPDX-License-Identifier: Apache-2.0

package initialize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/imagename"
	"github.com/fairlead-dev/fairlead/internal/install"
	"github.com/fairlead-dev/fairlead/internal/install/manifests"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// Options are the flags of `hostctl init`, and what Complete derives from them.
type Options struct {
	genericiooptions.IOStreams
	install.Options

	ValuesFile, Output string
	WaitForReady       bool
	Timeout            time.Duration

	flags *genericclioptions.ConfigFlags
}

// New returns the command `hostctl init`.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	_, cmd := newCommand(streams)
	return cmd
}

func newCommand(streams genericiooptions.IOStreams) (*Options, *cobra.Command) {
	o := &Options{IOStreams: streams, flags: connect.Flags(), Options: install.Options{Version: version.String()}}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Install the host part into a cluster, or repair or upgrade it",
		Long: `init makes a cluster the host: it installs the CRDs, the roles, the manager and its webhooks. Then it waits until the manager
runs and the webhooks answer. Members get nothing from it; ` + "`hostctl join`" + ` installs what a member needs.

You can run init again at any time. It repairs what is missing or changed, and upgrades to the version of this hostctl. It
refuses to replace a newer version, unless you give --allow-downgrade. Members are upgraded afterwards, by ` + "`hostctl join`" + `.

Values: --values takes the same file as the Helm chart, with the same names. Without --values a later init takes the values
of the last init, from ConfigMap ` + v1alpha1.SystemNamespace + `/hostctl-init. --image sets only the image. One default differs from the
chart's: init creates the namespace ` + v1alpha1.SystemNamespace + `, unless createNamespace is false.

init applies objects server-side, as field manager ` + install.FieldManager + `. It refuses a cluster with an installation of Helm, and
tells how to replace that. Over an installation of kustomize it needs --values. It needs cluster-admin rights and Kubernetes 1.30 or later.`,
		Example: `  hostctl init --image registry.your.org/fairlead/manager:v0.1.0
  hostctl init --context production --values values.yaml --dry-run
  hostctl init --values values.yaml --dry-run -o yaml > host.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Complete(); err != nil {
				return err
			}
			if o.Output != "" {
				return o.print()
			}
			return o.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Image, "image", "", "image of the manager, as in registry.your.org/fairlead/manager:v0.1.0 (default the image in the values file)")
	f.StringVar(&o.ValuesFile, "values", "", "values file, as for the Helm chart; - reads standard input (default the values of the last init)")
	f.BoolVar(&o.AllowDowngrade, "allow-downgrade", false, "let this hostctl replace a newer version of the host part")
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would be done, let the API server check it, and write nothing")
	f.StringVarP(&o.Output, "output", "o", "", "with --dry-run: print the objects as yaml or json, and contact no cluster")
	f.BoolVar(&o.WaitForReady, "wait", true, "wait until the manager runs and the webhooks answer")
	f.DurationVar(&o.Timeout, "timeout", 5*time.Minute, "how long to wait")
	o.flags.AddFlags(f)
	f.Lookup("kubeconfig").Usage = "kubeconfig of the host"
	f.Lookup("context").Usage = "context of the host in its kubeconfig"
	f.Lookup("namespace").Usage = "namespace of the host part, which is " + v1alpha1.SystemNamespace
	return o, cmd
}

// Complete checks the flags and reads the file of --values.
func (o *Options) Complete() error {
	if ns := *o.flags.Namespace; ns != "" && ns != v1alpha1.SystemNamespace {
		return exit.Usagef("--namespace %s: the host part is always in %s. Leave the flag out", ns, v1alpha1.SystemNamespace)
	}
	switch o.Output {
	case "", "yaml", "json":
	default:
		return exit.Usagef("--output %q: give yaml or json", o.Output)
	}
	if o.Output != "" && !o.DryRun {
		return exit.Usagef("--output works only with --dry-run: an installation prints no objects")
	}
	if o.Timeout <= 0 {
		return exit.Usagef("--timeout %s: give a duration, as in 5m; to let init return without waiting, give --wait=false", o.Timeout)
	}
	if o.WaitForReady {
		o.Wait = o.Timeout
	}
	if o.Image != "" {
		if _, err := imagename.Parse(o.Image); err != nil {
			return exit.Usagef("--image: %w", err)
		}
	}
	return o.readValues()
}

func (o *Options) readValues() error {
	if o.ValuesFile == "" {
		return nil
	}
	var err error
	name := o.ValuesFile
	if name == "-" {
		name = "standard input"
		o.Values, err = io.ReadAll(o.In)
	} else {
		o.Values, err = os.ReadFile(name)
	}
	if err != nil {
		return fmt.Errorf("reading values: %w", err)
	}
	if o.Values == nil {
		o.Values = []byte{}
	}
	if _, err = manifests.Parse(o.Values); err == nil {
		return nil
	}
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = name + ": " + lines[i]
	}
	return errors.New(strings.Join(lines, "\n"))
}

// Run installs Fairlead on the host, or with --output prints the objects. Then it prints a summary.
func (o *Options) Run(ctx context.Context) error {
	cfg, err := connect.Config(o.flags)
	if err != nil {
		return err
	}
	result, err := install.Install(ctx, cfg, o.Options, progress.New(o.ErrOut))
	if errors.Is(err, install.ErrNoImage) {
		return exit.Usagef("%w", err)
	}
	if err != nil {
		return err
	}
	_, _ = fmt.Fprint(o.ErrOut, summary(result, o.Options)) // an error here cannot be shown: stderr is closed
	return nil
}

// summary returns the text that tells what init did, and what the user does next.
func summary(r *install.Result, o install.Options) string {
	var b strings.Builder
	b.WriteString("\n")
	switch {
	case o.DryRun:
		fmt.Fprintf(&b, "This was a dry run: nothing was written. %d objects would be created, changed or deleted.\n", r.Changes)
		return b.String()
	case r.Changes == 0:
		fmt.Fprintf(&b, "Fairlead %s was installed already, and init had nothing to write.\n", r.Version)
	case r.Before == "" || r.Before == r.Version:
		fmt.Fprintf(&b, "Fairlead %s is installed, in namespace %s: %d replicas of %s.\n", r.Version, v1alpha1.SystemNamespace, r.Replicas, r.Image)
	default:
		fmt.Fprintf(&b, "Fairlead is now version %s, and was version %s: %d replicas of %s.\n", r.Version, r.Before, r.Replicas, r.Image)
	}
	if o.Wait == 0 {
		b.WriteString("init did not wait for the manager. `hostctl status` shows whether it runs.\n")
	}
	next := "Next: hostctl join NAME --cluster-kubeconfig FILE"
	if r.Before != "" && r.Before != r.Version {
		next += ", for each member: it upgrades the member's CRDs and collector"
	}
	b.WriteString(next + "\n")
	if r.Changes > 0 && r.Before != r.Version { // a first installation, or another version; a repair only repeats what the user has read
		b.WriteString(warning)
	}
	return b.String()
}

// warning has the same content as the warning in the README. Remove both as soon as the webhooks check the rights of the author.
const warning = `
Anyone who can write wrappers can act on every member with the host's permissions. Fairlead does not check yet that an author
may create what a wrapper holds. Until it does, give write access to federateds and clusterfederateds only to people who may
have the host's grants on the members.
`

// print writes the objects that init would install to standard output. It contacts no cluster.
func (o *Options) print() error {
	text := o.Values
	var err error
	if o.Image != "" {
		if text, err = manifests.SetImage(text, o.Image); err != nil {
			return err
		}
	}
	v, err := manifests.Parse(text)
	if err != nil {
		return err
	}
	if v.Image.Repository == manifests.PlaceholderRepository {
		_, _ = fmt.Fprintf(o.ErrOut, "• no registry has the image %s: give --image\n", v.Image.Reference(imagename.TagOf(o.Version)))
	}
	objects, err := manifests.Objects(v, imagename.TagOf(o.Version))
	if err != nil {
		return err
	}
	objects = append(objects, install.Record(o.Version, text)) // a later init reads the values from this ConfigMap
	if o.Output == "json" {
		list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
		for _, obj := range objects {
			list.Items = append(list.Items, *obj)
		}
		content, err := list.MarshalJSON()
		if err == nil {
			_, err = o.Out.Write(content)
		}
		return err
	}
	for _, obj := range objects {
		content, err := yaml.Marshal(obj.Object)
		if err != nil {
			return fmt.Errorf("writing %s %s as YAML: %w", obj.GetKind(), obj.GetName(), err)
		}
		if _, err := fmt.Fprintf(o.Out, "---\n%s", content); err != nil {
			return err
		}
	}
	return nil
}
