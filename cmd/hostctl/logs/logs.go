// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/request"
)

// Options are the flags, and what the command needs to reach the host.
type Options struct {
	evidence.Target
	// Ask asks members for evidence: it creates requests (MemberReports) at the host, and waits for the answers.
	Ask request.Client

	Clusters  []string
	Object    string
	Container string
	Previous  bool
	Tail      int
	Follow    bool
	Since     time.Duration
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	return newCommand(&Options{Target: evidence.NewTarget(streams), Ask: request.NewClient(streams.ErrOut)})
}

func newCommand(o *Options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logs (NAME | cfed/NAME | KIND NAME) [--cluster CLUSTER,…] [--object KIND/NAME] [-f] [--since 5m] [--container NAME] [--previous]",
		Short: "Show the ends of the logs of a wrapper's failing containers, or of one of its objects, on its clusters",
		Long: `logs prints the ends of the logs of containers on the clusters of a wrapper. Each line begins with [CLUSTER/POD/CONTAINER]. Standard
output has only these lines. Standard error has a line for each object: from which cluster the logs are, which clusters show the
same, the reason, and how long ago the manager received the logs. On a terminal these lines are wrapped. The lines of logs are not.

Without --object, -f and --since, logs prints what the host has: the logs of containers that fail. The collector on each cluster sends them without a
request, the last lines, up to 4 KiB of each log and 8 KiB for an object. Clusters that show the same share one log. The logs of a
cluster that the manager cannot reach stay at the host.

With --object, logs also asks the clusters for the logs of one object, healthy or not: of all containers of its pods, at most 8, up to
32 KiB in all. For a Subscription these are the operator's pods. It asks the clusters of --cluster that the host has no log of; with
--since or -f it asks all of them. Without --cluster it asks if the host has no log of the object at all.

With -f or --since, and without --object, logs asks about the objects in trouble that have pods. It asks the clusters of --cluster, or
else those where the object is in trouble. If no such object is in trouble, it asks about all objects that have pods.

logs asks about at most 4 objects, on at most 8 clusters, and waits up to 30 seconds for the answers. If there are more, name them with
--object or --cluster.

With -f, logs goes on until you interrupt it, or for an hour: it prints the new lines of a snapshot about every 5 seconds. Snapshots
have no timestamps. logs finds the new lines by the lines that two snapshots share: where they share none, standard error has
"… lines may be missing". A log that repeats the same lines may be shown with fewer repetitions.

Clusters are asked for the present run only: --previous shows what the host has.

logs contacts no cluster. It creates a MemberReport with spec.request for each object and cluster that it asks about, and deletes it at the end. The
collector replaces what looks like a secret by [redacted].

The command needs the right to get the wrapper, and to list and get MemberReports in its namespace (in fairlead-system for a
ClusterFederated). To ask, it also needs the rights to create, watch and delete them. ClusterRole fairlead-oncall grants all this.

A container that waits to be started again has the log of its crash in the plain output. --previous shows the run before that one.

With --output the logs of the present and of the previous run are both there, and --previous has no effect. The field unanswered has
the clusters that did not answer. With -f, each line of a log is a JSON object on a line of its own, or a YAML document. It has the
fields object, cluster, pod, container and line.

Exit codes: 0 also if there are no logs; standard error then has the reason. 0 after an interrupted -f, too. 1 if a cluster did not
answer or hostctl failed, 2 for wrong usage.`,
		Example: `  hostctl logs storefront -n shop
  hostctl logs storefront -n shop --cluster eu-1 --container app --previous
  hostctl logs storefront -n shop --object Deployment/web --cluster eu-1,eu-2 --since 5m
  hostctl logs storefront -n shop --object Deployment/web -f
  hostctl logs storefront -n shop --since 10m
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
	f.StringSliceVar(&o.Clusters, "cluster", nil, "show only failures that these clusters have; the lines may be of another cluster with the same failure. "+
		"With --object, -f or --since: the clusters to ask")
	f.StringVar(&o.Object, "object", "", "show only the containers of this object of the wrapper, for example Deployment/web; ask the clusters if the host has no log of it")
	f.BoolVarP(&o.Follow, "follow", "f", false, "ask clusters, go on, and print new lines")
	f.DurationVar(&o.Since, "since", 0, "ask clusters for lines that are not older than this, for example 90s, 10m or 2h (0: all lines)")
	f.StringVarP(&o.Container, "container", "c", "", "show only containers with this name")
	f.BoolVarP(&o.Previous, "previous", "p", false, "show the log of the run before the one that the plain command shows. Without this flag: the run that goes on, or, while the "+
		"container waits to be started again, the run that ended (kubectl's --previous shows the ended run in both cases)")
	f.IntVar(&o.Tail, "tail", -1, "how many of the last lines of each container to show (-1: all that the host has)")
	f.StringVarP(&o.Output, "output", "o", "", "json or yaml (default text)")
	o.Flags.AddFlags(f)
	cmd.ValidArgsFunction = complete.KindAndWrapper(o.Flags)
	complete.ListFlags(cmd, o.CompleteClusters, "cluster")
	complete.ListFlags(cmd, o.CompleteWith(request.Objects), "object")
	complete.ListFlags(cmd, o.CompleteFrom(containersOf), "container")
	return cmd
}

// Validate checks the flags.
func (o *Options) Validate() error {
	switch {
	case o.Tail < -1:
		return exit.Usagef("--tail %d: give a number of lines, or -1 for all", o.Tail)
	case o.Since < 0:
		return exit.Usagef("--since %s: give a time in the past as a positive duration, for example 10m", o.Since)
	case o.Previous && (o.Follow || o.Since > 0):
		return exit.Usagef("--previous shows what the host has, and --follow and --since ask for the present run: leave --previous out")
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
	if o.Follow || o.Since > 0 {
		about, err := o.subjects(ctx, w)
		if err != nil {
			return err
		}
		return o.ask(ctx, w, nil, about)
	}
	all, err := evidence.Reports(ctx, o.Host, w)
	if err != nil {
		return fmt.Errorf("logs of %s: %w", render.TitleOf(w), err)
	}
	reports, err := o.choose(w, all)
	if err != nil {
		return err
	}
	members := evidence.Unreported(reports, w, o.Clusters)
	if o.Object == "" || len(reports) > 0 && len(members) == 0 {
		if err := o.print(w, reports, nil); err != nil {
			return err
		}
		o.tellNone(w, reports)
		return nil
	}
	if o.Previous {
		return exit.Usagef("--previous: the host has no log of %s%s, and clusters are asked for the present run only: leave --previous out", o.Object, where(members))
	}
	about, err := o.named(w, members)
	if err != nil {
		return err
	}
	return o.ask(ctx, w, reports, about)
}

// print writes the logs, and to standard error the reason for each log that is missing. With -o it writes the output for programs instead.
func (o *Options) print(w v1alpha1.Wrapper, reports []v1alpha1.MemberReport, problems []*request.Problem) error {
	if o.Output != "" {
		return encode.To(o.Out, o.Output, o.outputOf(w, reports, problems))
	}
	return o.printLogs(w, reports)
}

// tellNone writes to standard error which of the members that --cluster names have no report, and why there is no log.
func (o *Options) tellNone(w v1alpha1.Wrapper, reports []v1alpha1.MemberReport) {
	for _, name := range evidence.Unreported(reports, w, o.Clusters) {
		o.tell("%s", o.noReport(w, name))
	}
	if !slices.ContainsFunc(reports, func(r v1alpha1.MemberReport) bool { return len(r.Status.Containers) > 0 }) {
		o.tell("%s", o.whyNone(w))
	}
}
