// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/request"
)

// row is one event, of the wrapper at the host or about an object on a member. The names of its fields are stable.
type row struct {
	// Seen is when the event was last seen, and Count how often.
	Seen metav1.Time `json:"seen,omitempty,omitzero"`
	// Cluster is the member whose event it is; "" for an event of the wrapper at the host.
	Cluster string `json:"cluster,omitempty"`
	// Clusters are the members that show the failure to which the event belongs, 100 at most. ClusterCount is the number of all such
	// members. Both are absent for an event at the host.
	Clusters     []string `json:"clusters,omitempty"`
	ClusterCount int32    `json:"clusterCount,omitempty"`
	Type         string   `json:"type,omitempty"`
	Reason       string   `json:"reason"`
	Object       object   `json:"object"`
	Count        int32    `json:"count"`
	Message      string   `json:"message,omitempty"`

	others int         // how many further members show the failure
	last   metav1.Time // the time of the event by the clock of its cluster
}

// object is what an event is about.
type object struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// key identifies an event. If the event happens again, its time and its count change, and its key stays the same.
type key struct {
	cluster, eventType, reason, message string
	object                              object
}

func (r *row) key() key { return key{r.Cluster, r.Type, r.Reason, r.Message, r.Object} }

// reading is what the command has read from the host.
type reading struct {
	wrapper v1alpha1.Wrapper
	reports []v1alpha1.MemberReport
	// rows are the events, the newest last.
	rows []row
	// older is how many events --since leaves out.
	older int
	// unanswered are the members that hostctl asked and that did not answer.
	unanswered []*request.Problem
	// eventsErr and reportsErr are why the events at the host and the reports could not be read.
	eventsErr, reportsErr error
	// eventsVersion and reportsVersion are the resource versions from which watches continue.
	eventsVersion, reportsVersion string
}

// read reads the wrapper and all its events. With --cluster or --object it does not read the events at the host. It returns an error about
// the wrapper or the flags only. If it cannot read events or reports, it notes that in the result.
func (o *Options) read(ctx context.Context) (*reading, error) {
	w, err := o.Wrapper(ctx)
	if err != nil {
		return nil, err
	}
	if err := evidence.CheckClusters(w, o.Clusters); err != nil {
		return nil, err
	}
	found := &reading{wrapper: w}
	if len(o.Clusters) == 0 && o.Object == "" {
		var events []evidence.HostEvent
		events, found.eventsVersion, found.eventsErr = evidence.HostEvents(ctx, o.Host, w)
		for i := range events {
			found.rows = append(found.rows, rowOf(w, &events[i]))
		}
	}
	found.reports, found.reportsVersion, found.reportsErr = evidence.ReportsAt(ctx, o.Host, w)
	found.reports = slices.DeleteFunc(found.reports, func(r v1alpha1.MemberReport) bool {
		return !evidence.IsAbout(&r, w, o.Clusters) || o.Object != "" && !evidence.IsObject(&r, o.Object)
	})
	for i := range found.reports {
		found.rows = append(found.rows, rowsOf(&found.reports[i])...)
	}
	o.arrange(found)
	return found, nil
}

// arrange sorts the rows, and leaves out repeated rows and those that are too old for --since.
func (o *Options) arrange(found *reading) {
	sortRows(found.rows)
	found.rows = slices.CompactFunc(found.rows, func(a, b row) bool { return a.key() == b.key() && a.Seen.Equal(&b.Seen) && a.Count == b.Count })
	if all := len(found.rows); o.Since > 0 {
		found.rows = recent(found.rows, o.Since, o.Now())
		found.older = all - len(found.rows)
	}
}

// recent returns the rows that are not too old for --since. If since is 0, no row is too old.
func recent(rows []row, since time.Duration, now time.Time) []row {
	if since == 0 {
		return rows
	}
	from := now.Add(-since)
	return slices.DeleteFunc(rows, func(r row) bool { return r.Seen.Time.Before(from) })
}

// rowOf makes the row of an event at the host.
func rowOf(w v1alpha1.Wrapper, e *evidence.HostEvent) row {
	return row{Seen: e.Seen, last: e.Seen, Type: e.Type, Reason: e.Reason, Object: object{string(w.WrapperKind()), w.GetName()}, Count: e.Count, Message: e.Message}
}

// rowsOf makes the rows of a report.
func rowsOf(r *v1alpha1.MemberReport) []row {
	names, more := evidence.Others(r)
	var rows []row
	for i := range r.Status.Events {
		e := &r.Status.Events[i]
		rows = append(rows, row{Seen: evidence.SeenOf(r, e), last: e.LastTime, Cluster: r.Status.Cluster, Clusters: r.Status.Clusters, ClusterCount: r.Status.ClusterCount, Type: e.Type,
			Reason: e.Reason, Object: object{e.Kind, e.Name}, Count: max(e.Count, 1), Message: e.Message, others: len(names) + more})
	}
	return rows
}

// sortRows sorts by time, the newest last. It also orders rows of the same time, so that the same events always give the same output.
func sortRows(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(a.Seen.Compare(b.Seen.Time), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Object.Kind, b.Object.Kind), cmp.Compare(a.Object.Name, b.Object.Name),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
}

// output is what -o json and -o yaml print. The names of its fields are stable.
type output struct {
	// Wrapper is the kind, the namespace and the name, for example "Federated shop/web".
	Wrapper string `json:"wrapper"`
	// Events are the events, the newest last.
	Events []row `json:"events"`
	// EventsError and ReportsError are why hostctl could not read the events at the host and those of members; "" if it could.
	EventsError  string `json:"eventsError,omitempty"`
	ReportsError string `json:"reportsError,omitempty"`
	// Unanswered are the members that hostctl asked and that did not answer.
	Unanswered []*request.Problem `json:"unanswered,omitempty"`
	// Unreachable are the members that the manager cannot reach. Their events are from before the outage.
	Unreachable []unreachable `json:"unreachable,omitempty"`
}

// unreachable is a member that the manager cannot reach, and whose last events the output has.
type unreachable struct {
	// Cluster is the member. Reason tells why the manager cannot reach it, and Since when that began.
	Cluster string      `json:"cluster"`
	Reason  string      `json:"reason,omitempty"`
	Since   metav1.Time `json:"since,omitempty,omitzero"`
	// SampleCluster is the member whose events the output has, if that is another one that failed in the same way.
	SampleCluster string `json:"sampleCluster,omitempty"`
	// ObservedTime is when the manager received the newest of the evidence.
	ObservedTime metav1.Time `json:"observedTime,omitempty,omitzero"`
}

// unreachable returns the members that the manager cannot reach, and of which the user has to know in order to judge the events.
func (o *Options) unreachable(found *reading) []unreachable {
	var all []unreachable
	for i := range found.reports {
		r := &found.reports[i]
		for _, l := range evidence.UnreachableIn(r, found.wrapper, o.Clusters) {
			one := unreachable{Cluster: l.Name, Reason: l.Reason, Since: l.LastTransitionTime, ObservedTime: r.Status.ObservedTime}
			if l.Name != r.Status.Cluster {
				one.SampleCluster = r.Status.Cluster
			}
			// Several reports can be about the same members.
			same := slices.IndexFunc(all, func(u unreachable) bool { return u.Cluster == one.Cluster && u.SampleCluster == one.SampleCluster })
			switch {
			case same < 0:
				all = append(all, one)
			case all[same].ObservedTime.Before(&one.ObservedTime):
				all[same].ObservedTime = one.ObservedTime
			}
		}
	}
	return all
}

func (o *Options) outputOf(found *reading) *output {
	out := &output{Wrapper: render.TitleOf(found.wrapper), Events: append([]row{}, found.rows...), Unanswered: found.unanswered, Unreachable: o.unreachable(found)}
	if found.eventsErr != nil {
		out.EventsError = found.eventsErr.Error()
	}
	if found.reportsErr != nil {
		out.ReportsError = found.reportsErr.Error()
	}
	return out
}
