// SPDX-License-Identifier: Apache-2.0

package recover

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/ask"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
)

// These are the values of --keep. The user chooses whether the state of the host or the state of the members stays.
const (
	keepHost    = "host"
	keepMembers = "members"
)

// Options are the flags of `hostctl recover`, and what Complete derives from them.
type Options struct {
	genericiooptions.IOStreams

	Keep     string
	Clusters []string
	Yes      bool
	DryRun   bool
	// CanAsk reports whether standard input is a terminal, so that the command can ask the user a question.
	CanAsk func() bool
	// Host returns a client for the host, and the namespace of the flag --namespace or of the kubeconfig's context.
	Host func() (host client.Client, namespace string, err error)

	// Complete sets the fields below. name is "" if the user names no wrapper.
	kind v1alpha1.WrapperKind
	name string
}

// New returns the command `hostctl recover`.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	_, cmd := newCommand(streams)
	return cmd
}

func newCommand(streams genericiooptions.IOStreams) (*Options, *cobra.Command) {
	flags := connect.Flags()
	o := &Options{IOStreams: streams, CanAsk: func() bool { return ask.Terminal(streams) }}
	o.Host = func() (client.Client, string, error) {
		namespace, err := connect.Namespace(flags)
		if err != nil {
			return nil, "", err
		}
		host, err := connect.Host(flags)
		return host, namespace, err
	}
	cmd := &cobra.Command{
		Use:   "recover [NAME | cfed/NAME]",
		Short: "List Deliveries on members that do not fit the host's wrappers, and choose the host's or the members' state",
		Long: `recover is for a host that lost wrappers or was restored from a backup. The members have kept their objects: Fairlead
never deletes an object only because the host lacks its wrapper. Without NAME, recover lists the Deliveries on members that do not
fit the host's wrappers, of all namespaces:

  Orphan            the Delivery's wrapper does not exist on the host, or is not placed on the member
  HostBehindMember  the member has a newer generation of the wrapper than the host
  WrapperReplaced   the Delivery is that of an earlier wrapper of the same name with other objects, or one that this
                    host has not sealed

With NAME and --keep you decide whose state is kept on the members where that wrapper is held:

  --keep host       The host's state. hostctl writes an Approval (allow: Overwrite) that names each Delivery in its present
                    version. Objects keep their uids. Objects that the wrapper does not list are removed, as by an
                    update. The Approval takes effect once.
  --keep members    The members' state. hostctl writes nothing. It shows how to read the members' state, and how to bring the host
                    to the same state.

The exit code is 4 while something waits for a decision.`,
		Example: `  hostctl recover
  hostctl recover storefront -n shop
  hostctl recover storefront -n shop --keep host --cluster eu-1 --dry-run
  hostctl recover cfed/fast-storage --keep host --yes`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Complete(args); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Keep, "keep", "", "whose state to keep: host or members")
	f.StringSliceVar(&o.Clusters, "cluster", nil, "decide only for this cluster; may be repeated (default every cluster where the wrapper is held)")
	f.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan and the Approval, and write nothing")
	flags.AddFlags(f)
	cmd.ValidArgsFunction = complete.Wrapper(flags)
	complete.MemberFlags(cmd, flags, "cluster")
	return o, cmd
}

// Complete parses the name of the wrapper, and returns an error for flags that contradict each other or have no meaning.
func (o *Options) Complete(args []string) error {
	if len(args) == 1 {
		var err error
		if o.kind, o.name, err = render.ParseName(args[0]); err != nil {
			return err
		}
	}
	switch {
	case o.Keep != "" && o.Keep != keepHost && o.Keep != keepMembers:
		return exit.Usagef("--keep %q: give host or members", o.Keep)
	case o.Keep != "" && o.name == "":
		return exit.Usagef("--keep needs the NAME of a wrapper, because you decide for one wrapper at a time")
	case o.Keep == "" && (len(o.Clusters) > 0 || o.Yes || o.DryRun):
		return exit.Usagef("--cluster, --yes and --dry-run work only with --keep")
	case o.Keep == keepHost && !o.Yes && !o.DryRun && !o.CanAsk():
		return exit.Usagef("recovering %s needs an answer, and standard input is no terminal: give --yes", o.name)
	}
	return nil
}

// Run prints the findings. With --keep it carries out the user's choice instead.
func (o *Options) Run(ctx context.Context) error {
	host, namespace, err := o.Host()
	if err != nil {
		return err
	}
	if o.kind == v1alpha1.KindClusterFederated {
		namespace = ""
	}
	all, err := find(ctx, host)
	if err != nil {
		return err
	}
	for _, kind := range all.unserved {
		_, _ = fmt.Fprintf(o.ErrOut, "The host does not serve %ss: their CRD was deleted, and all %[1]ss with it. Install the CRDs again first: "+
			"kubectl apply --server-side -k config/crd\n", kind)
	}
	found, unnamed := all.findings, all.findings.unnamed()
	if o.name != "" {
		found = found.of(o.kind, namespace, o.name)
	}
	if o.Keep != "" && slices.Contains(all.unserved, o.kind) {
		return fmt.Errorf("recovering %s: the host does not serve %ss, so it has no state to keep or to update. Install the CRDs again first", o.name, o.kind)
	}
	if o.Keep != "" {
		return o.keep(ctx, host, namespace, found)
	}
	if o.name != "" {
		found = append(found, unnamed...)
	}
	if found = append(found, all.silent...); len(found) == 0 {
		if len(all.unserved) > 0 {
			return exit.Silently(exit.Waits)
		}
		_, err := fmt.Fprintln(o.ErrOut, o.well())
		return err
	}
	if err := found.print(o.Out); err != nil {
		return err
	}
	return exit.Silently(exit.Waits)
}

// keep carries out --keep for the members that have a line in the wrapper's status. If members without a line may be held too, it prints
// their number: the user has to run the command again for them.
func (o *Options) keep(ctx context.Context, host client.Client, namespace string, found findings) error {
	var later int32
	for _, f := range found {
		if f.what == unnamedHeld {
			later += f.more
		}
	}
	if later > 0 {
		_, _ = fmt.Fprintf(o.ErrOut, "--keep acts now on the members that the wrapper's status lists. Up to %d more members are not listed yet. "+
			"Run the command again when the listed members are no longer held.\n", later)
		found = slices.DeleteFunc(found, func(f finding) bool { return f.what == unnamedHeld })
	}
	if o.Keep == keepHost {
		return o.keepHost(ctx, host, namespace, found)
	}
	return o.keepMembers(namespace, found)
}

func (o *Options) well() string {
	if o.name != "" {
		return "Nothing to recover for " + o.name + ": each of its Deliveries on members fits the host's wrapper."
	}
	return "Nothing to recover: each Delivery on members fits a wrapper of the host."
}
