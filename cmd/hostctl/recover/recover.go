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
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
)

// Whose word counts.
const (
	keepHost    = "host"
	keepMembers = "members"
)

// Options are the flags, and what Complete makes of them.
type Options struct {
	genericiooptions.IOStreams

	Keep     string
	Clusters []string
	Yes      bool
	DryRun   bool
	// CanAsk says whether somebody sits there who can be asked.
	CanAsk func() bool
	// Host connects to the host; namespace is the one of the flags or of the kubeconfig's context.
	Host func() (host client.Client, namespace string, err error)

	// filled in by Complete; name is "" for all
	kind v1alpha1.WrapperKind
	name string
}

// New is the command.
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
		Short: "Show what members hold that the host does not remember, and say whose word counts",
		Long: `recover is for a host that has forgotten: wrappers were lost, or the host was restored from a backup. Nothing is deleted
on members for that. Without a NAME it shows, of all namespaces, what they hold that the host does not remember:

  Orphan            a Delivery that no wrapper of the host accounts for
  HostBehindMember  the member holds a newer generation of the wrapper than the host knows
  WrapperReplaced   the member holds other objects for an earlier wrapper of the same name, or a Delivery that this
                    host has not sealed

With a NAME and --keep it says whose word counts where that wrapper is held:

  --keep host       the host's: hostctl writes an Approval (allow: Overwrite) for each Delivery as it is now. Objects keep
                    their uids; what the wrapper does not have is removed as by an update. It counts once.
  --keep members    the members': nothing is written anywhere; hostctl says what they hold and how the host gets there.

Exit code 4: something waits for a person.`,
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
	f.StringVar(&o.Keep, "keep", "", "whose word counts: host or members")
	f.StringSliceVar(&o.Clusters, "cluster", nil, "only for this cluster; may be repeated (default every one that is held)")
	f.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan and what would be written, and write nothing")
	flags.AddFlags(f)
	return o, cmd
}

// Complete reads the argument and refuses flags that cannot be meant.
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
		return exit.Usagef("--keep needs the NAME of a wrapper: each is a decision of its own")
	case o.Keep == "" && (len(o.Clusters) > 0 || o.Yes || o.DryRun):
		return exit.Usagef("--cluster, --yes and --dry-run go with --keep")
	case o.Keep == keepHost && !o.Yes && !o.DryRun && !o.CanAsk():
		return exit.Usagef("recovering %s cannot be asked about in a pipe: give --yes", o.name)
	}
	return nil
}

// Run shows, or asks and does.
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
		_, _ = fmt.Fprintf(o.ErrOut, "The host does not serve %ss: their CRD is gone, and all of them with it. Put the CRDs back first: "+
			"kubectl apply --server-side -f config/crd\n", kind)
	}
	found, unnamed := all.findings, all.findings.unnamed()
	if o.name != "" {
		found = found.of(o.kind, namespace, o.name)
	}
	if o.Keep != "" && slices.Contains(all.unserved, o.kind) {
		return fmt.Errorf("recovering %s: there is nothing at the host that could be kept, nor be brought to where members are", o.name)
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

// keep has one side's word count where the status has lines, and says where it has none: these take another round.
func (o *Options) keep(ctx context.Context, host client.Client, namespace string, found findings) error {
	var later int32
	for _, f := range found {
		if f.what == unnamedHeld {
			later += f.more
		}
	}
	if later > 0 {
		_, _ = fmt.Fprintf(o.ErrOut, "This is about the %d members that have a line in the status. Up to %d more have none yet: run it again when these are done.\n",
			len(found)-1, later)
		found = slices.DeleteFunc(found, func(f finding) bool { return f.what == unnamedHeld })
	}
	if o.Keep == keepHost {
		return o.keepHost(ctx, host, namespace, found)
	}
	return o.keepMembers(namespace, found)
}

func (o *Options) well() string {
	if o.name != "" {
		return "No member holds anything of " + o.name + " that the host does not remember."
	}
	return "Members hold nothing that the host does not remember."
}
