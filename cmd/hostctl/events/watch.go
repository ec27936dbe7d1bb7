// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// follower prints the rows that it has not printed before.
type follower struct {
	*Options
	out *table
	// printed has the last printed state of each event.
	printed map[key]state
	// silent is true after the command has told the user that the host does not answer, until the host answers.
	silent bool
}

// state is what changes when an event happens again: its time and its count. seen is the time by the clock of the event's cluster, and not
// row.Seen. If that clock is ahead, row.Seen is the time of the report. It then changes with each report, although the event did
// not happen again.
type state struct {
	seen  metav1.Time
	count int32
}

// watch prints the events, and then each new one until the user interrupts the command. The API server ends each watch after some time,
// and at a restart; the command then reads again and prints what is new.
func (o *Options) watch(ctx context.Context, out *table) error {
	f := &follower{Options: o, out: out, printed: make(map[key]state)}
	for {
		err := f.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !connect.IsTransient(err):
			return err
		case err != nil && !f.silent:
			f.silent = true
			screen.Tell(o.ErrOut, "", "", "• the host does not answer, hostctl tries again: "+plain.Error(err))
		}
		if o.Pause(ctx) != nil {
			return nil
		}
	}
}

// follow reads all events and prints the new ones, and then watches until a watch ends.
func (f *follower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found, err := f.read(ctx)
	if err != nil {
		return err
	}
	if err := f.lasting(found); err != nil {
		return err
	}
	f.tellErrors(found)
	found.rows = f.news(found.rows)
	if len(found.rows) > 0 || len(f.printed) == 0 {
		if err := f.print(f.out, found); err != nil {
			return err
		}
	}
	reports, events, err := f.open(ctx, found)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil // the API server has forgotten the state from which the watch was to begin
	}
	if err != nil {
		return err
	}
	defer stop(reports, events)
	f.silent = false
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-results(reports):
			if !ok || e.Type == watch.Error {
				return nil
			}
			if err := f.reportChanged(ctx, found, e); err != nil {
				return err
			}
		case e, ok := <-results(events):
			if !ok || e.Type == watch.Error {
				return nil
			}
			if err := f.hostEvent(found, e); err != nil {
				return err
			}
		}
	}
}

// lasting returns an error if the host did not answer, or if there is nothing to watch. If the account may read only one of events and
// reports, the command watches those, and lasting returns no error.
func (f *follower) lasting(found *reading) error {
	for _, err := range []error{found.eventsErr, found.reportsErr} {
		if err != nil && connect.IsTransient(err) {
			return err
		}
	}
	return f.failure(found)
}

// open begins a watch of MemberReports and a watch of events. Each continues from the resource version at which hostctl read the list. If
// hostctl could not read a list, its watch is nil.
func (f *follower) open(ctx context.Context, found *reading) (reports, events watch.Interface, err error) {
	if found.reportsErr == nil {
		namespace := client.InNamespace(evidence.ReportsNamespace(found.wrapper))
		if reports, err = f.Host.Watch(ctx, evidence.MetadataOfReports(), namespace, from(found.reportsVersion)); err != nil {
			return nil, nil, fmt.Errorf("watching MemberReports: %w", err)
		}
	}
	if found.eventsErr == nil && len(f.Clusters) == 0 {
		if events, err = f.Host.Watch(ctx, &corev1.EventList{}, append(evidence.HostEventsOf(found.wrapper), from(found.eventsVersion))...); err != nil {
			stop(reports, nil)
			return nil, nil, fmt.Errorf("watching events: %w", err)
		}
	}
	return reports, events, nil
}

// from returns the option with which a watch begins after a resource version.
func from(resourceVersion string) client.ListOption {
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: resourceVersion}}
}

// reportChanged prints the new events of a report about an object of the wrapper that is not healthy.
func (f *follower) reportChanged(ctx context.Context, found *reading, e watch.Event) error {
	about, ok := e.Object.(metav1.Object)
	if !ok || e.Type != watch.Added && e.Type != watch.Modified || !evidence.IsOfTrouble(about, found.wrapper) {
		return nil
	}
	report, err := evidence.Report(ctx, f.Host, about.GetNamespace(), about.GetName())
	if err != nil || report == nil || !evidence.IsAbout(report, found.wrapper, f.Clusters) {
		return err
	}
	return f.add(rowsOf(report))
}

// hostEvent prints an event of the wrapper at the host.
func (f *follower) hostEvent(found *reading, e watch.Event) error {
	event, ok := e.Object.(*corev1.Event)
	if !ok || e.Type != watch.Added && e.Type != watch.Modified || event.InvolvedObject.UID != found.wrapper.GetUID() {
		return nil
	}
	read := evidence.HostEventFrom(event)
	return f.add([]row{rowOf(found.wrapper, &read)})
}

// add prints the new ones of these rows.
func (f *follower) add(rows []row) error {
	sortRows(rows)
	return f.write(f.out, f.news(rows))
}

// news returns the rows that the command has not printed in this state, and records them as printed.
func (f *follower) news(rows []row) []row {
	var fresh []row
	for i := range rows {
		r := &rows[i]
		last, ok := f.printed[r.key()]
		if ok && last.seen.Equal(&r.last) && last.count == r.Count {
			continue
		}
		f.printed[r.key()] = state{r.last, r.Count}
		fresh = append(fresh, *r)
	}
	return fresh
}

// results returns the channel of a watch. If the watch is nil, the channel is nil too: it never delivers an event, so a select ignores it.
func results(w watch.Interface) <-chan watch.Event {
	if w == nil {
		return nil
	}
	return w.ResultChan()
}

func stop(watches ...watch.Interface) {
	for _, w := range watches {
		if w != nil {
			w.Stop()
		}
	}
}
