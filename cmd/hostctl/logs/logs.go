// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
)

// Options are the flags, and what the command needs to reach the host.
type Options struct {
	evidence.Target

	Clusters  []string
	Object    string
	Container string
	Previous  bool
	Tail      int
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	return newCommand(&Options{Target: evidence.NewTarget(streams)})
}

func newCommand(o *Options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logs (NAME | cfed/NAME | KIND NAME) [--cluster CLUSTER,…] [--object KIND/NAME] [--container NAME] [--previous]",
		Short: "Show the ends of the logs of a wrapper's failing containers on its clusters",
		Long: `logs prints the ends of the logs of containers that fail on the clusters of a wrapper. Each line begins with [CLUSTER/POD/CONTAINER].
Standard output has only these lines. Standard error has a line for each failing object: from which cluster the logs are, which
clusters show the same, the reason, and how long ago the manager received the logs.

logs reads MemberReports from the host, and contacts no cluster. The collector on each cluster sends the last lines, up to 4 KiB of
each log and 8 KiB for an object, and replaces what looks like a secret by [redacted]. It sends logs only of containers that do not run or are not ready, so a
healthy wrapper has none. Clusters that show the same share one log. The logs of a cluster that the manager cannot reach stay at the
host.

The command needs the right to get the wrapper, and to list and get MemberReports in its namespace (in fairlead-system for a
ClusterFederated). ClusterRole fairlead-oncall grants both. To follow a log, or to read a longer one, use kubectl on the cluster.

A container that waits to be started again has the log of its crash in the plain output. --previous shows the run before that one.

With --output the logs of the present and of the previous run are both there, and --previous has no effect.

Exit codes: 0 also if there are no logs; standard error then has the reason. 1 if hostctl failed, 2 for wrong usage.`,
		Example: `  hostctl logs storefront -n shop
  hostctl logs storefront -n shop --cluster eu-1 --container app --previous
  hostctl logs cfed/ingress --object Deployment/gateway --tail 20`,
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
	f := cmd.Flags()
	f.StringSliceVar(&o.Clusters, "cluster", nil, "show only failures that these clusters have; the lines may be of another cluster with the same failure")
	f.StringVar(&o.Object, "object", "", "show only the containers of this object of the wrapper, for example Deployment/web")
	f.StringVarP(&o.Container, "container", "c", "", "show only containers with this name")
	f.BoolVarP(&o.Previous, "previous", "p", false, "show the log of the run before the one that the plain command shows. Without this flag: the run that goes on, or, while the "+
		"container waits to be started again, the run that ended (kubectl's --previous shows the ended run in both cases)")
	f.IntVar(&o.Tail, "tail", -1, "how many of the last lines of each container to show (-1: all that the host has)")
	f.StringVarP(&o.Output, "output", "o", "", "json or yaml (default text)")
	o.Flags.AddFlags(f)
	cmd.ValidArgsFunction = complete.KindAndWrapper(o.Flags)
	complete.ListFlags(cmd, o.CompleteClusters, "cluster")
	complete.ListFlags(cmd, o.CompleteFrom(objectsOf), "object")
	complete.ListFlags(cmd, o.CompleteFrom(containersOf), "container")
	return cmd
}

// Validate checks the flags.
func (o *Options) Validate() error {
	if o.Tail < -1 {
		return exit.Usagef("--tail %d: give a number of lines, or -1 for all", o.Tail)
	}
	return o.Target.Validate()
}

// Run prints the logs.
func (o *Options) Run(ctx context.Context) error {
	w, err := o.Wrapper(ctx)
	if err != nil {
		return err
	}
	if err := evidence.CheckClusters(w, o.Clusters); err != nil {
		return err
	}
	all, err := evidence.Reports(ctx, o.Host, w)
	if err != nil {
		return fmt.Errorf("logs of %s: %w", render.TitleOf(w), err)
	}
	reports, err := o.choose(w, all)
	if err != nil {
		return err
	}
	if o.Output != "" {
		if err := encode.To(o.Out, o.Output, o.outputOf(w, reports)); err != nil {
			return err
		}
	} else if err := o.printLogs(w, reports); err != nil {
		return err
	}
	for _, name := range o.Clusters {
		if !slices.ContainsFunc(reports, func(r v1alpha1.MemberReport) bool { return evidence.IsAbout(&r, w, []string{name}) }) {
			_, _ = fmt.Fprintln(o.ErrOut, o.noReport(w, name))
		}
	}
	if !slices.ContainsFunc(reports, func(r v1alpha1.MemberReport) bool { return len(r.Status.Containers) > 0 }) {
		_, _ = fmt.Fprintln(o.ErrOut, o.whyNone(w))
	}
	return nil
}
