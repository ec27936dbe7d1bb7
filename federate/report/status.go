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

// maxLines is the greatest number of lines in status.clusters.
const maxLines = 500

// Input is a snapshot of a wrapper, from which Build computes its status.
type Input struct {
	// Generation is the metadata.generation of the wrapper.
	Generation int64
	// Deleting is true if the wrapper has a metadata.deletionTimestamp.
	Deleting bool
	// UpdateRevision is the name of the revision of the present spec.
	UpdateRevision string
	// PlacedOK is true if the condition Placed is True.
	PlacedOK bool
	// PlacedReason is the reason of the condition Placed, and PlacedMessage its message.
	PlacedReason, PlacedMessage string
	// Notice tells the author about names in overrides for which no MemberCluster exists; "" if there are none.
	Notice string
	// Invalid is why the manager cannot render the spec for any member; "" if it can.
	Invalid string
	// Approve is the command `hostctl approve WRAPPER`, without a flag for the action.
	Approve string
	// ProgressDeadline is spec.rollout.progressDeadlineSeconds; 0 if the spec gives none.
	ProgressDeadline time.Duration
	// Rollout is the state of the rollout; nil if all members change at the same time.
	Rollout *Rollout
	// Members are the placed members and those that the wrapper is leaving.
	Members []Member
	// Before is the status that the wrapper has now.
	Before *v1alpha1.WrapperStatus
}

// Build computes the status of a wrapper, except for placement, rollout and upgrade, which the caller adds. It is a
// pure function: the same input and time give the same status.
func Build(in Input, now time.Time) v1alpha1.WrapperStatus {
	before := LinesByName(in.Before)
	lines, quoted := make([]v1alpha1.ClusterStatus, 0, len(in.Members)), make([]string, 0, len(in.Members))
	for i := range in.Members {
		in.Members[i].Approve = in.Approve
		line, quote := lineOf(&in.Members[i], before[in.Members[i].Name], now)
		lines, quoted = append(lines, line), append(quoted, quote)
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
	redactQuotes(lines, status.Clusters, quoted, before)
	status.ClustersOmitted = int32(len(lines) - len(status.Clusters)) //nolint:gosec // at most 5,000 members are placed
	if in.Rollout.isRolledBack() {
		in.Rollout = in.Rollout.withAhead(aheadOf(in.Members, lines))
	}
	status.Conditions = conditions(in, tally, lines, now)
	return status
}

// redactQuotes redacts the messages of objects in the lines, and copies the results to the lines that the status keeps. A fault of the whole
// fleet would make it slow for the others, so of these only the object stays, which a condition may name.
func redactQuotes(lines, kept []v1alpha1.ClusterStatus, quoted []string, before map[string]*v1alpha1.ClusterStatus) {
	if !slices.ContainsFunc(quoted, func(quote string) bool { return quote != "" }) {
		return
	}
	places := make(map[string]int, len(kept))
	for i := range kept {
		places[kept[i].Name] = i
	}
	for i := range lines {
		if quoted[i] == "" {
			continue
		}
		place, isKept := places[lines[i].Name]
		if !isKept {
			lines[i].Message, _, _ = strings.Cut(lines[i].Message, ": ")
			continue
		}
		redactQuote(&lines[i], quoted[i], before[lines[i].Name])
		kept[place].Message = lines[i].Message
	}
}

// tally has the number of members in each state.
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
				t.healthy++ // only a healthy member has this line, because the rules for problems come before the rule withheld
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

// severity orders the states by how urgent they are for a person: 0 is the most urgent.
var severity = map[v1alpha1.ClusterState]int{
	v1alpha1.StateStalled: 0, v1alpha1.StateDegraded: 1, v1alpha1.StateUnreachable: 2, v1alpha1.StateUnknown: 3,
	v1alpha1.StateHeld: 4, v1alpha1.StateRemoving: 5, v1alpha1.StateWaiting: 6, v1alpha1.StateProgressing: 7,
	v1alpha1.StatePushing: 8, v1alpha1.StateHealthy: 9,
}

// shorten sorts the lines, keeps the first maxLines, and counts the omitted lines by state. Lines about a reinstall come first: the
// manager removes nothing that no status has shown, so a member without its line would hold the turn of others for ever. Then come lines
// with a Delivery, because an Approval has to name that Delivery. Then come lines with a problem, the most urgent state first,
// and then healthy lines with a reason. Lines of equal rank are sorted by name, so that their order is stable.
func shorten(lines []v1alpha1.ClusterStatus) (kept []v1alpha1.ClusterStatus, omitted []v1alpha1.OmittedClusters) {
	kept = slices.Clone(lines)
	slices.SortFunc(kept, func(a, b v1alpha1.ClusterStatus) int {
		return cmp.Or(last(!IsReinstalling(a.Reason))-last(!IsReinstalling(b.Reason)), last(a.Delivery == nil)-last(b.Delivery == nil), severity[a.State]-severity[b.State],
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

// last returns a sort key: 1 for a line that comes last, and 0 for a line that comes first.
func last(is bool) int {
	if is {
		return 1
	}
	return 0
}

// isWithheld reports whether a line is that of a healthy member whose removal waits.
func isWithheld(l *v1alpha1.ClusterStatus) bool {
	return l.State == v1alpha1.StateHeld && l.Reason == v1alpha1.ReasonRemovalNeedsApproval
}

// worstLine returns the most urgent line, for the message of a condition; nil if all members are healthy. It ignores
// withheld members, because the condition Placed reports them.
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
