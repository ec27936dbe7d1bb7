// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/federate/cause"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// description is what -o json and -o yaml print. The names of its fields are stable.
type description struct {
	// Wrapper is the kind, the namespace and the name, for example "Federated shop/web".
	Wrapper string `json:"wrapper"`
	// Summary is the state in a few words, for example "Degraded: 3 of 12 members".
	Summary string `json:"summary"`
	// Since is when the first of the members that Summary counts got the state in Summary. It is absent if Summary counts no members, or
	// Healthy ones.
	Since metav1.Time `json:"since,omitempty,omitzero"`
	// NeedsPerson is true if a person has to act. hostctl then exits with 4.
	NeedsPerson bool `json:"needsPerson"`
	// Revision is the name of the revision to which the manager brings the members; "" until the manager has acted on the wrapper.
	Revision string `json:"revision,omitempty"`
	// Counts are the numbers of members by state, as the status has them.
	Counts v1alpha1.ClusterCounts `json:"counts,omitzero"`
	// Notes tell what concerns the whole wrapper: a deletion, a suspension, a rollout that is not complete.
	Notes notes `json:"notes"`
	// Causes are in the order in which a person should act. With --cluster they are the causes of the chosen members.
	Causes []cause.Cause `json:"causes"`
	// Healthy are the healthy members.
	Healthy []healthyMember `json:"healthy"`
	// HealthyOmitted is the number of healthy members that have no line in the status.
	HealthyOmitted int32 `json:"healthyOmitted,omitempty"`
	// Clusters are the lines of the members that --cluster names. It is absent without --cluster.
	Clusters []v1alpha1.ClusterStatus `json:"clusters,omitempty"`
	// Evidence is the evidence from members that the host has about the causes, in the order of the causes.
	Evidence []causeEvidence `json:"evidence"`
	// EvidenceError is the reason why hostctl could not read the evidence; "" if it could.
	EvidenceError string `json:"evidenceError,omitempty"`
	// Events are the newest events of the wrapper, the newest first. EventsFound is the number of all events of the wrapper.
	Events      []evidence.HostEvent `json:"events"`
	EventsFound int                  `json:"eventsFound"`
	// EventsError is the reason why hostctl could not read the events; "" if it could.
	EventsError string `json:"eventsError,omitempty"`
}

// healthyMember is a healthy member. Its reason, for example WaveHeld or Drifted, tells what a person should know
// although the member is healthy.
type healthyMember struct {
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
}

// describe makes the description of a wrapper. If chosen is not empty, the description is about these members only.
func describe(w v1alpha1.Wrapper, chosen []string) (*description, error) {
	d := &description{Wrapper: render.TitleOf(w), Notes: notesOf(w), Healthy: []healthyMember{}, Evidence: []causeEvidence{}, Events: []evidence.HostEvent{}}
	status := w.WrapperStatus()
	d.Revision, d.Counts = status.UpdateRevision, status.Counts
	if len(chosen) > 0 {
		lines, without, err := linesOf(w, chosen)
		if err != nil {
			return nil, err
		}
		d.Notes = append(d.Notes, without...)
		status.Clusters, status.ClustersOmittedByState = lines, nil
		d.Clusters = lines
	}
	d.Causes = cause.Of(w)
	for i := range status.Clusters {
		if l := &status.Clusters[i]; l.State == v1alpha1.StateHealthy {
			d.Healthy = append(d.Healthy, healthyMember{l.Name, l.Reason})
		}
	}
	slices.SortFunc(d.Healthy, func(a, b healthyMember) int { return cmp.Compare(a.Name, b.Name) })
	d.HealthyOmitted = omittedIn(status, v1alpha1.StateHealthy)
	d.summarize(w)
	d.NeedsPerson = slices.ContainsFunc(d.Notes, func(n note) bool { return n.NeedsPerson }) ||
		slices.ContainsFunc(d.Causes, func(c cause.Cause) bool { return c.NeedsPerson })
	return d, nil
}

// linesOf returns the lines of the chosen members, and a note for each of them that is placed and has no line. It returns an error for
// a name that is not a member of the wrapper.
func linesOf(w v1alpha1.Wrapper, chosen []string) ([]v1alpha1.ClusterStatus, notes, error) {
	if err := evidence.CheckClusters(w, chosen); err != nil {
		return nil, nil, err
	}
	lines, without := []v1alpha1.ClusterStatus{}, notes{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(chosen))) {
		if l := evidence.LineOf(w, name); l != nil {
			lines = append(lines, *l)
		} else {
			without.add(false, "%s has the wrapper, and no line in the status of the wrapper", name)
		}
	}
	return lines, without, nil
}

// summarize sets Summary and Since from the most urgent cause.
func (d *description) summarize(w v1alpha1.Wrapper) {
	status, placed, most := w.WrapperStatus(), ptr.Deref(d.Counts.Placed, 0), cause.MostUrgent(d.Causes)
	switch {
	case w.GetDeletionTimestamp() != nil:
		d.Summary = "being deleted"
	case status.ObservedGeneration == 0:
		d.Summary = "not acted on yet"
	case most == nil && placed == 0:
		d.Summary = "placed nowhere"
	case most == nil:
		d.Summary = fmt.Sprintf("Healthy: %d of %s", len(d.Healthy)+int(d.HealthyOmitted), messages.Count(totalOf(status), "member"))
	case len(most.Members) == 0:
		d.Summary = string(most.State) + ": " + most.Reason
	default:
		state := most.State
		count := omittedIn(status, state)
		for i := range status.Clusters {
			if l := &status.Clusters[i]; l.State == state {
				count++
				if since := l.LastTransitionTime; !since.IsZero() && (d.Since.IsZero() || since.Before(&d.Since)) {
					d.Since = since
				}
			}
		}
		d.Summary = fmt.Sprintf("%s: %d of %s", state, count, messages.Count(totalOf(status), "member"))
	}
}

// totalOf returns the number of members in a status, with a line or without.
func totalOf(status *v1alpha1.WrapperStatus) int {
	total := len(status.Clusters)
	for _, o := range status.ClustersOmittedByState {
		total += int(o.Count)
	}
	return total
}

// omittedIn returns the number of members in a state that have no line.
func omittedIn(status *v1alpha1.WrapperStatus, state v1alpha1.ClusterState) int32 {
	for _, o := range status.ClustersOmittedByState {
		if o.State == state {
			return o.Count
		}
	}
	return 0
}
