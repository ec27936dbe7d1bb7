// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/internal/plain"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// usual are the limits of an archive.
var usual = Limits{Wrappers: 500, Summaries: 50, Objects: 5000, Page: 500, Bytes: 256 << 20}

// Options are the flags, and what the command needs to reach the host.
type Options struct {
	genericiooptions.IOStreams

	// OutputDirectory is where the archive goes.
	OutputDirectory string
	// Output is the format for programs; "" for text.
	Output string

	// Connect returns the host. Tests set a function that needs no cluster.
	Connect func() (*Host, error)
	// Now returns the present time, and Version is hostctl's own version.
	Now     func() time.Time
	Version string
	Limits  Limits

	flags *genericclioptions.ConfigFlags

	// Complete sets the fields below. Without a name the command is about a namespace, and without a namespace about the whole host.
	kind            v1alpha1.WrapperKind
	namespace, name string
	host            *Host
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command { return newCommand(newOptions(streams)) }

func newOptions(streams genericiooptions.IOStreams) *Options {
	flags := connect.Flags()
	return &Options{IOStreams: streams, Now: time.Now, Version: version.String(), Limits: usual, flags: flags,
		Connect: func() (*Host, error) { return connectWith(flags) }}
}

func newCommand(o *Options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diagnose [NAME | cfed/NAME | KIND NAME] [-n NAMESPACE] [--output-directory DIRECTORY] [-o json|yaml]",
		Short: "Write what a maintainer needs to find a fault into one archive, without the values of Secrets",
		Long: `diagnose writes an archive fairlead-diagnose-TIME.tar.gz, for a report to the maintainers.

  diagnose NAME            one Federated, in the namespace of -n or of the kubeconfig's context; cfed/NAME for a ClusterFederated
  diagnose -n NAMESPACE    the Federateds of one namespace
  diagnose                 the whole host, whatever the namespace of the kubeconfig's context is

For wrappers, the archive has the wrappers with their status, their MemberReports, events and Approvals, and the metadata of their
ControllerRevisions. For the whole host it also has the MemberClusters, the versions of Fairlead's CRDs, the webhook configurations, and
from namespace fairlead-system: Deployments, pods, Leases, events, the last 2,000 lines of the logs of Fairlead's pods (1 MiB at most, of the
previous run too), the names of ConfigMaps, and the names of Secrets and of their keys. summary.txt has what describe shows, for the first
50 wrappers that are not healthy. index.txt lists the files, what could not be read and why, and what was left out: an archive has 500
wrappers at most, 5,000 objects of each other kind, and 256 MiB before compression.

What looks like a secret is replaced by [redacted], and each value of a Secret by its length, also inside of wrappers and overrides. Names,
labels, images, addresses and messages stay. So look through the archive before you send it.

diagnose reads the host only. It contacts no cluster and no webhook, and writes nothing to the host. It reads what your account may
read, and lists the rest in index.txt: ClusterRole fairlead-oncall in one namespace is enough for the wrappers there. It overwrites no file.
The archive can be read only by you. Standard output has its path; with --output, also the names of its files, what could not be read
and what was left out.

Exit codes: 0 if there is an archive, also if a part of the host could not be read. 1 if nothing could be read, or if the archive could
not be written; no file is left then. 2 for wrong usage.`,
		Example: `  hostctl diagnose storefront -n shop
  hostctl diagnose -n shop --output-directory /tmp
  hostctl diagnose`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			if err := o.Complete(args); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&o.OutputDirectory, "output-directory", ".", "the directory for the archive")
	if err := cmd.MarkFlagDirname("output-directory"); err != nil {
		panic(err) // a mistake in this function: there is no such flag
	}
	cmd.Flags().StringVarP(&o.Output, "output", "o", "", "json or yaml (default text)")
	o.flags.AddFlags(cmd.Flags())
	cmd.ValidArgsFunction = complete.KindAndWrapper(o.flags)
	return cmd
}

// Validate checks the flags.
func (o *Options) Validate() error {
	if o.Output != "" && o.Output != encode.JSON && o.Output != encode.YAML {
		return exit.Usagef("--output %q: give json or yaml", o.Output)
	}
	info, err := os.Stat(o.OutputDirectory)
	if err == nil && info.IsDir() {
		return nil
	}
	return exit.Usagef("--output-directory %q: give a directory that exists", o.OutputDirectory)
}

// Complete parses the arguments that name the wrapper, and connects to the host. It does not send a request.
func (o *Options) Complete(args []string) error {
	var err error
	o.namespace = *o.flags.Namespace
	if len(args) > 0 {
		if o.kind, o.name, err = render.ParseName(strings.Join(args, "/")); err != nil {
			return err
		}
		if o.namespace, err = connect.Namespace(o.flags); err != nil {
			return err
		}
		if o.kind == v1alpha1.KindClusterFederated {
			o.namespace = ""
		}
	}
	o.host, err = o.Connect()
	return err
}

// scope returns what the archive is about.
func (o *Options) scope() string {
	switch {
	case o.name != "":
		return string(o.kind) + " " + strings.TrimPrefix(o.namespace+"/"+o.name, "/")
	case o.namespace != "":
		return "namespace " + o.namespace
	}
	return "the whole host"
}

// Run writes the archive and prints its path. With -o it prints what the archive has.
func (o *Options) Run(ctx context.Context) error {
	file, err := create(o.OutputDirectory, o.Now(), o.Limits.Bytes)
	if err != nil {
		return err
	}
	defer file.discard()
	c := &collection{host: o.host, limits: o.Limits, archive: file, progress: progress.New(o.ErrOut)}
	contents := heading{scope: o.scope(), version: o.Version}
	found, err := o.collect(ctx, c, &contents)
	if err != nil {
		return err
	}
	if c.read == 0 {
		return fmt.Errorf("nothing could be read, and no archive is written: %w", c.first)
	}
	if err := c.summary(ctx, found, o.Now(), o.name != ""); err != nil {
		return err
	}
	if err := file.write("index.txt", []byte(c.index(contents))); err != nil {
		return err
	}
	size, err := file.commit()
	if err != nil {
		return err
	}
	if o.Output != "" {
		err = encode.To(o.Out, o.Output, outputOf(c, o.scope(), size))
	} else {
		_, err = fmt.Fprintln(o.Out, file.path)
	}
	if err != nil {
		return err
	}
	o.conclude(c, contents.wrappers, size)
	return nil
}

// collect reads everything, and returns the wrappers that the archive has. It fills in the fields of the heading that come from the
// host.
func (o *Options) collect(ctx context.Context, c *collection, h *heading) ([]v1alpha1.Wrapper, error) {
	if text, err := o.host.Version(ctx); err == nil {
		h.kubernetes = plain.Version(text)
	} else {
		c.noAnswer("the version of the host", err)
	}
	list := &wrappers{parts: c}
	defer func() { h.wrappers = len(list.found) }()
	if o.name != "" {
		err := list.one(ctx, o.kind, o.namespace, o.name)
		return list.found, err
	}
	if o.namespace == "" {
		own := &system{parts: c}
		if err := own.collect(ctx); err != nil {
			return nil, err
		}
		h.images = own.images
	}
	err := list.in(ctx, o.namespace)
	return list.found, err
}

// conclude tells the size of the archive, what is missing, and what to do before it is sent.
func (o *Options) conclude(c *collection, wrappers int, size int64) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(o.ErrOut, format+"\n", args...) } // an error here cannot be shown: stderr is closed
	say("✓ %s: %s, %d files about %s", c.archive.path, sizeOf(size), len(c.archive.files), o.scope())
	say("• redacted: %s", &c.redaction)
	if missing := len(c.notRead) + len(c.leftOut()); missing > 0 {
		say("• not complete: index.txt lists %d parts that are not read, or not as a whole", missing)
	}
	if o.name == "" && wrappers == 0 {
		say("• the archive has no wrapper")
	}
	say("• look through it before you send it: it holds names, labels, images, addresses and messages of your clusters")
}
