// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/ask"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
)

// Options are the flags of `hostctl approve`, and what Complete derives from them.
type Options struct {
	genericiooptions.IOStreams

	Removal  bool
	Clusters []string
	Release  []string
	Wave     string
	Skip     []string
	Retry    bool
	Yes      bool
	DryRun   bool
	Output   string

	// CanAsk reports whether standard input is a terminal, so that the command can ask the user a question.
	CanAsk func() bool
	// Connect returns a client for the host. Tests set a function that needs no cluster.
	Connect func() (client.Client, error)

	// Flags are the flags for the connection to the host.
	Flags *genericclioptions.ConfigFlags

	// Complete sets the fields below.
	kind            v1alpha1.WrapperKind
	namespace, name string
	host            client.Client
}

// New returns the command `hostctl approve`.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	_, cmd := newCommand(streams)
	return cmd
}

// NewOptions returns options for another command that writes an Approval, such as `hostctl rollout retry`. That command itself sets
// the fields that tell what to approve.
func NewOptions(streams genericiooptions.IOStreams) *Options {
	o := &Options{IOStreams: streams, CanAsk: func() bool { return ask.Terminal(streams) }, Flags: connect.Flags()}
	o.Connect = func() (client.Client, error) { return connect.Host(o.Flags) }
	return o
}

// AddFlags adds the flags that all commands for Approvals share: --yes, --dry-run, --output and the flags of the connection.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	f.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would be done, let the API server check it, and write nothing")
	f.StringVarP(&o.Output, "output", "o", "", "print the Approval as yaml, json or name")
	o.Flags.AddFlags(f)
}

func newCommand(streams genericiooptions.IOStreams) (*Options, *cobra.Command) {
	o := NewOptions(streams)
	cmd := &cobra.Command{
		Use:   "approve (NAME | cfed/NAME) (--removal [--cluster CLUSTER,…] | --release CLUSTER,… | --wave WAVE | --skip CLUSTER,… | --retry)",
		Short: "Approve a removal or a step of a rollout, or stop waiting for a cluster that does not answer",
		Long: `approve permits an action that Fairlead does not take by itself, on one wrapper. It shows what will happen, asks, and then writes
an Approval into the wrapper's namespace (into ` + v1alpha1.SystemNamespace + ` for a ClusterFederated).

--removal
  Use it when spec.placement selects fewer clusters than before, and the wrapper would leave more of them within an hour than
  spec.rollout.maxRemoval allows. Fairlead keeps serving the clusters above that limit until the hour is over. Once you
  approve, the wrapper leaves them now, and spec.onDelete decides which objects stay there. To cancel the removal instead,
  restore the placement or the clusters' labels. An approval covers only the present removal: it has no effect after an
  edit of the wrapper, or when spec.placement selects even fewer clusters.

--release
  Use it when a wrapper is being deleted or leaves a cluster, and the cluster does not answer or something there blocks the
  removal. Fairlead then stops waiting for that cluster. The wrapper's objects stay on it, even if it answers again later.
  --release is for one wrapper. If a cluster will never answer again, release all wrappers: hostctl unjoin CLUSTER --forget

--wave
  Use it when a rollout waits for a wave with approval: Manual. An approval counts only for the present rollout. Another revision,
  edited waves, and labels or a version of Fairlead that change a cluster begin another rollout, which needs other approvals.

--skip
  Use it when a rollout should go on without a cluster. No wave waits for the cluster, and its failure does not count. The manager
  still updates the cluster when it can. A skip counts only for the present rollout.

--retry
  Use it after a rollout has failed (spec.rollout.onFailure: Pause or Rollback) and you have removed the cause. The revision goes
  out again from its first wave. If you change the spec instead, that is a new revision, and no approval is needed.`,
		Example: `  # which wrappers wait, and why: see the REASON column; the message of the wrapper's condition has the command
  kubectl get federation -A
  hostctl approve shop -n shop --removal

  # only some of them
  hostctl approve shop -n shop --removal --cluster eu-1,eu-2

  # finish the deletion of a wrapper although member-3 does not come back
  hostctl approve shop -n shop --release member-3
  hostctl approve cfed/fast --release member-3 --yes

  # let the wave "rest" of the present rollout begin
  hostctl approve shop -n shop --wave rest

  # show the Approval without writing it
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
	f.BoolVar(&o.Removal, "removal", false, "let the wrapper leave the clusters that spec.placement no longer selects, without waiting")
	f.StringSliceVar(&o.Clusters, "cluster", nil, "with --removal: approve the removal from this cluster only; may be repeated")
	f.StringSliceVar(&o.Release, "release", nil, "stop waiting for the removal from this cluster; may be repeated")
	f.StringVar(&o.Wave, "wave", "", "let this wave of the present rollout begin")
	f.StringSliceVar(&o.Skip, "skip", nil, "let the present rollout go on without this cluster; may be repeated")
	f.BoolVar(&o.Retry, "retry", false, "try again to roll out the revision that failed")
	o.AddFlags(f)
	cmd.ValidArgsFunction = complete.Wrapper(o.Flags)
	complete.MemberFlags(cmd, o.Flags, "cluster", "release", "skip")
	return o, cmd
}

// Complete parses the name of the wrapper, checks the flags, and connects to the host.
func (o *Options) Complete(name string) error {
	var err error
	if o.kind, o.name, err = render.ParseName(name); err != nil {
		return err
	}
	chosen := 0
	for _, is := range []bool{o.Removal, len(o.Release) > 0, o.Wave != "", len(o.Skip) > 0, o.Retry} {
		if is {
			chosen++
		}
	}
	switch {
	case chosen != 1:
		return exit.Usagef("say what to approve: give one of --removal, --release CLUSTER, --wave WAVE, --skip CLUSTER and --retry")
	case len(o.Clusters) > 0 && !o.Removal:
		return exit.Usagef("--cluster works only with --removal; give clusters to --release and --skip as their values")
	}
	switch o.Output {
	case "", "yaml", "json", "name":
	default:
		return exit.Usagef("--output %q: give yaml, json or name", o.Output)
	}
	if !o.Yes && !o.DryRun && !o.CanAsk() {
		return exit.Usagef("writing an Approval for %s needs your answer, and standard input is no terminal: give --yes", name)
	}
	if o.kind == v1alpha1.KindFederated {
		if o.namespace, err = connect.Namespace(o.Flags); err != nil {
			return err
		}
	}
	o.host, err = o.Connect()
	return err
}

// Run shows what the Approval allows, asks the user, and writes the Approval.
func (o *Options) Run(ctx context.Context) error {
	w, err := connect.Wrapper(ctx, o.host, o.kind, o.namespace, o.name)
	if err != nil {
		return err
	}
	approval, err := o.decide(ctx, w)
	if err != nil {
		return fmt.Errorf("writing an Approval for %s: %w", render.TitleOf(w), err)
	}
	_, _ = fmt.Fprint(o.ErrOut, plan(w, approval))
	if !o.Yes && !o.DryRun {
		if err := ask.Confirm(o.IOStreams, "writing an Approval for "+w.GetName(), "Approve that?"); err != nil {
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
