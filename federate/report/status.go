// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// maxLines is the number of lines in a status.
const maxLines = 500

// Input is a snapshot of a wrapper.
type Input struct {
	// Generation is the generation of the wrapper. Deleting reports whether it is being deleted.
	Generation int64
	Deleting   bool
	// UpdateRevision is the revision of the present spec.
	UpdateRevision string
	// PlacedOK, PlacedReason and PlacedMessage are the condition Placed of the placement decision.
	PlacedOK                    bool
	PlacedReason, PlacedMessage string
	// Notice is a hint for the author that concerns no member: names in overrides without a MemberCluster. It is "" if
	// there is none.
	Notice string
	// Invalid is why the spec cannot be rendered for any member, "" when it can.
	Invalid string
	// Approve is the `hostctl approve` command for the wrapper, without --removal or --release.
	Approve string
	// Rollout is the state of the rollout; nil if all members change at the same time.
	Rollout *Rollout
	// Members are the placed and the leaving members.
	Members []Member
	// Before is the previous status.
	Before *v1alpha1.WrapperStatus
}

// Build makes the status, except placement, which the scheduler writes. It is a pure function: the same input and time
// give the same status.
func Build(in Input, now time.Time) v1alpha1.WrapperStatus {
	before := linesBefore(in.Before)
	lines := make([]v1alpha1.ClusterStatus, 0, len(in.Members))
	for i := range in.Members {
		in.Members[i].Approve = in.Approve
		lines = append(lines, Line(&in.Members[i], before[in.Members[i].Name], now))
	}
	tally := count(in.Members, lines)
	status := v1alpha1.WrapperStatus{
		ObservedGeneration: in.Generation,
		UpdateRevision:     in.UpdateRevision,
		CurrentRevision:    in.Before.CurrentRevision,
		Counts:             tally.counts(),
	}
	if in.UpdateRevision != "" && tally.placed > 0 && tally.updated == tally.placed {
		status.CurrentRevision = in.UpdateRevision
	}
	status.Clusters, status.ClustersOmittedByState = shorten(lines)
	status.ClustersOmitted = int32(len(lines) - len(status.Clusters)) //nolint:gosec // at most 5,000 members are placed
	status.Conditions = conditions(in, tally, lines, now)
	return status
}

// tally counts members by state.
type tally struct {
	placed, updated, healthy, progressing, degraded, stalled, held, unreachable, leaving int32
}

func count(members []Member, lines []v1alpha1.ClusterStatus) tally {
	var t tally
	for i := range members {
		if members[i].Leaving {
			t.leaving++
		} else {
			t.placed++
			if members[i].Held && members[i].Wait.Reason == "" {
				t.updated++
			}
		}
		switch lines[i].State {
		case v1alpha1.StateHealthy:
			t.healthy++
		case v1alpha1.StateWaiting, v1alpha1.StatePushing, v1alpha1.StateProgressing, v1alpha1.StateRemoving:
			t.progressing++
		case v1alpha1.StateDegraded:
			t.degraded++
		case v1alpha1.StateStalled:
			t.stalled++
		case v1alpha1.StateHeld:
			t.held++
			if isWithheld(&lines[i]) {
				t.healthy++ // a member with a problem has another line
			}
		case v1alpha1.StateUnreachable, v1alpha1.StateUnknown:
			t.unreachable++
		}
	}
	return t
}

func (t tally) counts() v1alpha1.ClusterCounts {
	return v1alpha1.ClusterCounts{
		Placed: ptr.To(t.placed), Updated: ptr.To(t.updated), Healthy: ptr.To(t.healthy), Progressing: ptr.To(t.progressing),
		Degraded: ptr.To(t.degraded), Stalled: ptr.To(t.stalled), Held: ptr.To(t.held), Unreachable: ptr.To(t.unreachable),
	}
}

// severity orders the states by urgency for a person.
var severity = map[v1alpha1.ClusterState]int{
	v1alpha1.StateStalled: 0, v1alpha1.StateDegraded: 1, v1alpha1.StateUnreachable: 2, v1alpha1.StateUnknown: 3,
	v1alpha1.StateHeld: 4, v1alpha1.StateRemoving: 5, v1alpha1.StateWaiting: 6, v1alpha1.StateProgressing: 7,
	v1alpha1.StatePushing: 8, v1alpha1.StateHealthy: 9,
}

// shorten bounds the lines, and counts the omitted lines by state, the worst state first. Lines that wait for an
// Approval come first, because an Approval names the Delivery in the line. Lines with trouble follow, then healthy
// lines with a reason. Lines of equal rank are sorted by name, so that the status is stable.
func shorten(lines []v1alpha1.ClusterStatus) (kept []v1alpha1.ClusterStatus, omitted []v1alpha1.OmittedClusters) {
	kept = slices.Clone(lines)
	slices.SortFunc(kept, func(a, b v1alpha1.ClusterStatus) int {
		return cmp.Or(last(a.Delivery == nil)-last(b.Delivery == nil), severity[a.State]-severity[b.State],
			last(a.Reason == "")-last(b.Reason == ""), strings.Compare(a.Name, b.Name))
	})
	if len(kept) <= maxLines {
		return kept, nil
	}
	for _, l := range kept[maxLines:] {
		i := slices.IndexFunc(omitted, func(o v1alpha1.OmittedClusters) bool { return o.State == l.State })
		if i < 0 {
			omitted, i = append(omitted, v1alpha1.OmittedClusters{State: l.State}), len(omitted)
		}
		omitted[i].Count++
	}
	return kept[:maxLines], omitted
}

// last is 1 for lines that come last, and 0 for the others.
func last(is bool) int {
	if is {
		return 1
	}
	return 0
}

// isWithheld reports whether a line is about a healthy member that waits for its removal.
func isWithheld(l *v1alpha1.ClusterStatus) bool {
	return l.State == v1alpha1.StateHeld && l.Reason == v1alpha1.ReasonRemovalNeedsApproval
}

// worstLine is the line that the message quotes beside the counts; nil if all members are healthy. The condition Placed
// reports withheld members.
func worstLine(lines []v1alpha1.ClusterStatus) *v1alpha1.ClusterStatus {
	var worst *v1alpha1.ClusterStatus
	for i := range lines {
		l := &lines[i]
		if isWithheld(l) {
			continue
		}
		if worst == nil || severity[l.State] < severity[worst.State] ||
			severity[l.State] == severity[worst.State] && l.Name < worst.Name {
			worst = l
		}
	}
	if worst != nil && worst.State == v1alpha1.StateHealthy {
		return nil
	}
	return worst
}
