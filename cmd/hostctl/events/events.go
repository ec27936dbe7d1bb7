// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/request"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// pauseBetweenWatches is how long -w waits before it connects again.
const pauseBetweenWatches = time.Second

// Options are the flags, and what the command needs to reach the host.
type Options struct {
	evidence.Target
	// Ask asks members for evidence: it creates requests (MemberReports) at the host, and waits for the answers.
	Ask request.Client

	Clusters []string
	Object   string
	Since    time.Duration
	Watch    bool

	// Pause waits before -w connects again. It returns an error if the user interrupts the command meanwhile.
	Pause func(context.Context) error

	// told has the lines that the command has written to standard error. With -w it writes each line once.
	told map[string]bool
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command { return newCommand(newOptions(streams)) }

func newOptions(streams genericiooptions.IOStreams) *Options {
	return &Options{Target: evidence.NewTarget(streams), Ask: request.NewClient(streams.ErrOut), Pause: pause, told: make(map[string]bool)}
}

func newCommand(o *Options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events (NAME | cfed/NAME | KIND NAME) [--cluster CLUSTER,…] [--object KIND/NAME] [--since 1h] [-w] [-o json|yaml]",
		Short: "Show the events of a wrapper and of its objects on the clusters, the newest last",
		Long: `events shows one table in the order of time: the events of the wrapper itself, with CLUSTER host, and the events about its objects on the
clusters: pods that no node takes, images that cannot be pulled, volumes that cannot be mounted. "eu-1 +2" means: the event is of eu-1,
and two more clusters show the same failure.

events reads events and MemberReports from the host, and contacts no cluster. The collector on each cluster sends the events about
objects that are not healthy, up to 20 for an object, and replaces what looks like a secret by [redacted]. The events of a cluster
that the manager cannot reach stay at the host. The host keeps its own events for an hour, unless its API server is set up otherwise.

With --object, events shows only the events about one object of the wrapper and about what it owns, healthy or not. If the host has no
report of the object, hostctl asks the clusters for its events: with --cluster those of these clusters that have no report, otherwise all.
It asks at most 8 clusters, and waits up to 30 seconds for their answers. With -w it asks all of them, and goes on for an hour. hostctl
creates a MemberReport with spec.request for each cluster that it asks, and deletes it at the end.

The times are those of the clusters' clocks. With --since, only events that were seen within this time are shown. With --cluster, only
events of these clusters are shown, and of clusters that show the same failure. With -w the command prints each new event, until you interrupt it. With -w and
-o json each event is a JSON object on a line of its own; with -o yaml it is a YAML document.

The command needs the right to get the wrapper, to list events, and to list and get MemberReports in its namespace. For a ClusterFederated
the events are in namespace default, and the MemberReports in fairlead-system. With -w it needs the right to watch both. To ask
clusters it needs the rights to create, watch and delete MemberReports. ClusterRole fairlead-oncall grants all this. Without the right
to list events or MemberReports, standard error has a line, and the rest is shown.

Exit codes: 0 also if there are no events, and after an interrupted -w. 1 if a cluster did not answer or hostctl failed, 2 for wrong
usage.`,
		Example: `  hostctl events storefront -n shop
  hostctl events storefront -n shop --since 10m
  hostctl events storefront -n shop --cluster eu-1 -w
  hostctl events storefront -n shop --object Deployment/web --cluster eu-1
  hostctl events cfed/ingress -o json`,
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
	f.StringSliceVar(&o.Clusters, "cluster", nil, "show only failures that these clusters have; the events may be of another cluster with the same failure. With --object: the clusters to ask")
	f.StringVar(&o.Object, "object", "", "show only events about this object of the wrapper, for example Deployment/web; ask the clusters if the host has no report of it")
	f.DurationVar(&o.Since, "since", 0, "show only events that were seen within this time, for example 90s, 10m or 2h (0: all that the host has)")
	f.BoolVarP(&o.Watch, "watch", "w", false, "go on and print new events")
	f.StringVarP(&o.Output, "output", "o", "", "json or yaml (default text)")
	o.Flags.AddFlags(f)
	cmd.ValidArgsFunction = complete.KindAndWrapper(o.Flags)
	complete.ListFlags(cmd, o.CompleteClusters, "cluster")
	complete.ListFlags(cmd, o.CompleteWith(request.Objects), "object")
	return cmd
}

// Validate checks the flags.
func (o *Options) Validate() error {
	if o.Since < 0 {
		return exit.Usagef("--since %s: give a time in the past as a positive duration, for example 10m", o.Since)
	}
	return o.Target.Validate()
}

// Run prints the events once. With -w it goes on with new events.
func (o *Options) Run(ctx context.Context) error {
	out := &table{}
	switch {
	case o.Watch && o.Object != "":
		return o.watchObject(ctx, out)
	case o.Watch:
		return o.watch(ctx, out)
	}
	found, err := o.read(ctx)
	if err != nil {
		return err
	}
	if err := o.failure(found); err != nil {
		return err
	}
	if members := evidence.Unreported(found.reports, found.wrapper, o.Clusters); o.Object != "" && (len(members) > 0 || len(found.reports) == 0) {
		return o.ask(ctx, out, found, members)
	}
	return o.show(out, found)
}

// show prints what was read, as text or for programs.
func (o *Options) show(out *table, found *reading) error {
	o.tellErrors(found)
	if o.Output != "" {
		return encode.To(o.Out, o.Output, o.outputOf(found))
	}
	return o.print(out, found)
}

// failure returns an error if hostctl could read nothing of what the user wants to see.
func (o *Options) failure(found *reading) error {
	if found.reportsErr != nil && (found.eventsErr != nil || len(o.Clusters) > 0 || o.Object != "") {
		return fmt.Errorf("events of %s: %w", render.TitleOf(found.wrapper), found.reportsErr)
	}
	return nil
}

// print writes the rows of what was read, and to standard error what the user has to know about them.
func (o *Options) print(out *table, found *reading) error {
	if err := o.write(out, found.rows); err != nil {
		return err
	}
	for _, u := range o.unreachable(found) {
		known := "its events are from before that"
		if u.SampleCluster != "" {
			known = fmt.Sprintf("before that, it had the same failure as %s", u.SampleCluster)
		}
		o.tell("%s is Unreachable%s: %s", u.Cluster, screen.Since(o.Now(), u.Since), known)
	}
	if len(found.rows) == 0 {
		o.tell("%s", o.none(found))
	}
	return nil
}

// write writes rows to standard output: below the rows of the table, or each by itself in the format of -o.
func (o *Options) write(out *table, rows []row) error {
	if o.Output == "" {
		_, err := io.WriteString(o.Out, out.text(rows, o.Now(), o.Screen()))
		return err
	}
	for i := range rows {
		if err := encode.Item(o.Out, o.Output, &rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// none returns the line that hostctl prints if it found no events.
func (o *Options) none(found *reading) string {
	title := render.TitleOf(found.wrapper)
	switch {
	case found.older > 0:
		return fmt.Sprintf("%s has no events of the last %s; --since leaves out %d older", title,
			screen.Age(o.Now(), metav1.NewTime(o.Now().Add(-o.Since))), found.older)
	case o.Object != "":
		return fmt.Sprintf("%s has no events about %s", title, o.Object)
	case len(o.Clusters) > 0:
		return fmt.Sprintf("%s has no events from %s: a member sends events only about objects that are not healthy", title, messages.Few(o.Clusters, evidence.MaxNames))
	}
	return title + " has no events: a member sends events only about objects that are not healthy, and the host keeps its own for about an hour"
}

// tellErrors writes what could not be read.
func (o *Options) tellErrors(found *reading) {
	if found.eventsErr != nil {
		o.tell("• events at the host: %s", found.eventsErr)
	}
	if found.reportsErr != nil {
		o.tell("• events of members: %s", found.reportsErr)
	}
}

// tell writes a line to standard error, unless it has written the same line before.
func (o *Options) tell(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !o.told[line] {
		o.told[line] = true
		screen.Tell(o.ErrOut, "", "", line)
	}
}

func pause(ctx context.Context) error { return connect.Pause(ctx, pauseBetweenWatches) }
