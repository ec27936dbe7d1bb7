// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/ask"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
)

// Options are the flags, and what Complete makes of them.
type Options struct {
	genericiooptions.IOStreams

	Removal  bool
	Clusters []string
	Release  []string
	Yes      bool
	DryRun   bool
	Output   string

	// CanAsk says whether somebody sits there who can be asked.
	CanAsk func() bool
	// Connect leads to the host; tests give one that needs no cluster.
	Connect func() (client.Client, error)

	flags *genericclioptions.ConfigFlags

	// filled in by Complete
	kind            v1alpha1.WrapperKind
	namespace, name string
	host            client.Client
}

// New is the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	_, cmd := newCommand(streams)
	return cmd
}

func newCommand(streams genericiooptions.IOStreams) (*Options, *cobra.Command) {
	o := &Options{IOStreams: streams, CanAsk: func() bool { return ask.Terminal(streams) }, flags: connect.Flags()}
	o.Connect = func() (client.Client, error) { return connect.Host(o.flags) }
	cmd := &cobra.Command{
		Use:   "approve (NAME | cfed/NAME) (--removal [--cluster CLUSTER,…] | --release CLUSTER,…)",
		Short: "Allow what waits for a person: a removal from many clusters, or not to wait for one that is away",
		Long: `approve allows something that Fairlead does not do to a wrapper by itself. It says first what will happen, and asks.

--removal: the placement no longer selects more clusters than may be left within an hour (spec.rollout.maxRemoval). The
others are served on until then; approved, they are left now, as onDelete says. To call it off instead, put the placement,
or the labels of the clusters, back. An edit of the wrapper, or another cluster that is to be left, makes another removal,
which has to be approved by itself.

--release: the wrapper is being deleted, or leaves these clusters, and they do not answer, or something there holds it up.
Released, they are not waited for any longer, and what they hold of the wrapper stays there, also when they come back. It
does so for one wrapper; for all of them, where a cluster is gone for good: hostctl unjoin CLUSTER --forget

What is written is an Approval beside the wrapper (in ` + v1alpha1.SystemNamespace + ` for a ClusterFederated), which kubectl could write.`,
		Example: `  # what waits is in the REASON column, and the command in the message
  kubectl get federation -A
  hostctl approve shop -n shop --removal

  # only some of them
  hostctl approve shop -n shop --removal --cluster eu-1,eu-2

  # delete a wrapper though member-3 does not come back
  hostctl approve shop -n shop --release member-3
  hostctl approve cfed/fast --release member-3 --yes

  # what would be written
  hostctl approve shop -n shop --removal --dry-run -o yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Complete(args[0]); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.Removal, "removal", false, "let the wrapper leave the clusters that it is not placed on any more, now")
	f.StringSliceVar(&o.Clusters, "cluster", nil, "with --removal: only this cluster of those that wait; may be repeated")
	f.StringSliceVar(&o.Release, "release", nil, "do not wait for this cluster to be left; may be repeated")
	f.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.DryRun, "dry-run", false, "say what would be done, have the host check it, and write nothing")
	f.StringVarP(&o.Output, "output", "o", "", "print the Approval as yaml, json or name")
	o.flags.AddFlags(f)
	return o, cmd
}

// Complete reads the argument and checks the flags.
func (o *Options) Complete(name string) error {
	var err error
	if o.kind, o.name, err = render.ParseName(name); err != nil {
		return err
	}
	switch {
	case o.Removal == (len(o.Release) > 0):
		return exit.Usagef("say what to approve: --removal, or --release CLUSTER")
	case len(o.Clusters) > 0 && !o.Removal:
		return exit.Usagef("--cluster goes with --removal; --release names its clusters itself")
	}
	switch o.Output {
	case "", "yaml", "json", "name":
	default:
		return exit.Usagef("--output %q: give yaml, json or name", o.Output)
	}
	if !o.Yes && !o.DryRun && !o.CanAsk() {
		return exit.Usagef("approving something for %s cannot be asked about in a pipe: give --yes", name)
	}
	if o.kind == v1alpha1.KindFederated {
		if o.namespace, err = connect.Namespace(o.flags); err != nil {
			return err
		}
	}
	o.host, err = o.Connect()
	return err
}

// Run says what is approved, asks and writes the Approval.
func (o *Options) Run(ctx context.Context) error {
	w, err := o.wrapper(ctx)
	if err != nil {
		return err
	}
	approval, err := o.decide(ctx, w)
	if err != nil {
		return fmt.Errorf("approving something for %s: %w", render.TitleOf(w), err)
	}
	_, _ = fmt.Fprint(o.ErrOut, plan(w, approval))
	if !o.Yes && !o.DryRun {
		if err := ask.Confirm(o.IOStreams, "approving that for "+w.GetName(), "Approve that?"); err != nil {
			return err
		}
	}
	var options []client.CreateOption
	if o.DryRun {
		options = append(options, client.DryRunAll)
	}
	if err := o.host.Create(ctx, approval, options...); err != nil {
		return fmt.Errorf("writing the Approval: %w", err)
	}
	return o.print(approval)
}

func (o *Options) wrapper(ctx context.Context) (v1alpha1.Wrapper, error) {
	var w v1alpha1.Wrapper = &v1alpha1.Federated{}
	if o.kind == v1alpha1.KindClusterFederated {
		w = &v1alpha1.ClusterFederated{}
	}
	key := client.ObjectKey{Namespace: o.namespace, Name: o.name}
	err := o.host.Get(ctx, key, w.(client.Object)) //nolint:forcetypeassert // both wrappers are client.Objects
	if apierrors.IsNotFound(err) {
		where := ""
		if o.kind == v1alpha1.KindFederated {
			where = fmt.Sprintf(" in namespace %s (-n NAMESPACE; cfed/NAME for a ClusterFederated)", o.namespace)
		}
		return nil, fmt.Errorf("there is no %s %s%s", o.kind, o.name, where)
	}
	if err != nil {
		return nil, fmt.Errorf("getting %s %s from the host: %w", o.kind, o.name, err)
	}
	return w, nil
}
