// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

// maxEvents is the largest number of events in a description.
const maxEvents = 10

// Options are the flags, and what the command needs to reach the host.
type Options struct {
	evidence.Target

	Clusters   []string
	AllMembers bool
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command { return newCommand(newOptions(streams)) }

func newOptions(streams genericiooptions.IOStreams) *Options {
	return &Options{Target: evidence.NewTarget(streams)}
}

func newCommand(o *Options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "describe (NAME | cfed/NAME | KIND NAME) [--cluster CLUSTER,…] [--all-members] [-o json|yaml]",
		Short: "Show what is wrong with a wrapper, on which clusters, and what to do next",
		Long: `describe shows the causes why a wrapper is not healthy, in the order in which a person should act: what a person has to change, then
clusters that the manager cannot reach, then those where work goes on, then those that wait for something else. A reason that is known to cause another
comes before that one, even if it only waits. Clusters with the same cause share an entry. Each entry has the reason, the message of the
cluster that has been in this state for the longest time, the other objects of a cluster that the cause may have brought into trouble, the
newest three events of its object there, the last lines of the log of a failing container, the next step, and the commands that show more.
Lines that begin with "also" show up to three other objects in trouble on these clusters that the cause does not explain, each with reason,
next step and command. "perhaps the cause" marks one that may have caused the entry. After all entries come the newest events of the wrapper.

describe reads the wrapper, its MemberReports and its events from the host, and nothing else. It needs the right to get the wrapper. If
your account may not read MemberReports or events, a line says so; ClusterRole fairlead-oncall grants both. It contacts no member. On a terminal
it wraps its text and cuts long lists of names; in a pipe it does neither. NO_COLOR turns colors off.

With --cluster it shows the line of each of these clusters in full. The causes, and the exit code, are then those of these clusters and
of the wrapper as a whole.

Exit codes: 4 if a person has to act: because a cluster is Degraded, Stalled, Held or Unreachable, an InstallPlan waits for approval, the
placement is not as the spec says, a member is past its deadline, or the rollout has failed, is suspended or waits for an approval. 0 otherwise: a cluster may still be
Progressing (a pod that no node takes) or Waiting (a kind that is not installed). 1 if hostctl failed, 2 for wrong usage.`,
		Example: `  hostctl describe storefront -n shop
  hostctl describe storefront -n shop --cluster de-1,de-2
  hostctl describe cfed fast -o json`,
		Args: cobra.RangeArgs(1, 2),
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
	cmd.Flags().StringSliceVar(&o.Clusters, "cluster", nil, "show only these clusters, each with its full line")
	cmd.Flags().BoolVar(&o.AllMembers, "all-members", false, "name the healthy clusters too")
	cmd.Flags().StringVarP(&o.Output, "output", "o", "", "json or yaml (default text)")
	o.Flags.AddFlags(cmd.Flags())
	cmd.ValidArgsFunction = complete.KindAndWrapper(o.Flags)
	complete.ListFlags(cmd, o.CompleteClusters, "cluster")
	return cmd
}

// Run prints the description.
func (o *Options) Run(ctx context.Context) error {
	w, err := o.Wrapper(ctx)
	if err != nil {
		return err
	}
	d, err := describe(w, o.Clusters)
	if err != nil {
		return err
	}
	d.readEvidence(ctx, o.Host, o, w)
	d.readEvents(ctx, o.Host, w)
	if o.Output != "" {
		err = encode.To(o.Out, o.Output, d)
	} else {
		_, err = io.WriteString(o.Out, d.text(o.Now(), o.Screen(), o.AllMembers))
	}
	if err == nil && d.NeedsPerson {
		err = exit.Silently(exit.Waits)
	}
	return err
}

// readEvents adds the newest events of a wrapper. If hostctl cannot read them, the description tells why: the rest of it is still
// worth reading.
func (d *description) readEvents(ctx context.Context, host client.Client, w v1alpha1.Wrapper) {
	found, _, err := evidence.HostEvents(ctx, host, w)
	if err != nil {
		d.EventsError = err.Error()
		return
	}
	slices.SortStableFunc(found, func(a, b evidence.HostEvent) int {
		return cmp.Or(b.Seen.Compare(a.Seen.Time), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	d.EventsFound = len(found)
	d.Events = append(d.Events, found[:min(len(found), maxEvents)]...)
}
