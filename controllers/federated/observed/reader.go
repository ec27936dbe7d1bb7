// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// Pusher is the part of push.Pusher that a Reader needs.
type Pusher interface {
	// DesiredMembers are the members with a desired state for a wrapper, sorted.
	DesiredMembers(key push.Key) []string
	// DesiredState is the desired state of a wrapper on a member; nil if the member has no desired state.
	DesiredState(key push.Key, memberName string) *push.Desired
	// Result is the result of the pushes of a wrapper to a member.
	Result(key push.Key, memberName string) push.Result
}

// Reader reads what the manager knows about one wrapper on the members: the Deliveries, the results of pushes, and whether
// the members answer. It reads only the manager's memory.
type Reader struct {
	Deliveries *deliveries.Store
	Pusher     Pusher
	Fleet      *member.Fleet
	Key        push.Key
	Wrapper    v1alpha1.Wrapper
	// Members are the MemberClusters by name.
	Members map[string]*v1alpha1.MemberCluster
}

// Assignment is what a reconcile has decided for a wrapper on one member.
type Assignment struct {
	// Revision is the update revision.
	Revision string
	// Desired is the desired state; nil if the member has none.
	Desired *push.Desired
	// Leaving is true if the wrapper leaves the member.
	Leaving bool
	Refusal report.Refusal
	Wait    report.Wait
}

// Observe returns what the manager knows about the wrapper on one member, as input for package report.
func (r Reader) Observe(name string, is Assignment) report.Member {
	record, pushed := r.Deliveries.Record(r.Key, name), r.Pusher.Result(r.Key, name)
	m := report.Member{
		Name:         name,
		Leaving:      is.Leaving,
		Revision:     is.Revision,
		Held:         pushed.IsHeld(record.Summary),
		RepairsDrift: r.Wrapper.WrapperSpec().Drift != v1alpha1.DriftReport,
		Contested:    pushed.Contested,
		Refusal:      is.Refusal,
		Wait:         is.Wait,
		Reachability: r.Reachability(name, record),
		Listed:       record.Listed,
		Tried:        pushed.Outcome != nil,
	}
	if is.Desired != nil {
		m.Revision, m.Rendering = is.Desired.Revision, is.Desired.Rendering.Digest()
	} else if m.Wait.Reason != "" {
		r.observeUnrendered(&m, record.Summary)
	}
	if seen := record.Summary; seen != nil {
		m.HeldRevision, m.Judged, m.Status = seen.Revision, seen.Judged, seen.Status
	}
	if out := pushed.Outcome; out != nil && !out.Done {
		m.Push = report.Push{State: out.State, Reason: out.Reason, Message: out.Message, Unrepaired: out.LeftDrift(), Delivery: out.Overtaken}
	}
	if refused := pushed.Unapproved; refused != nil {
		m.Unapproved = report.Push{State: refused.State, Reason: refused.Reason, Message: refused.Message}
	}
	if step := pushed.Reinstall; step != nil && !is.Leaving {
		m.Reinstall = report.Push{State: step.State, Reason: step.Reason, Message: step.Message}
	}
	return m
}

// Reinstall returns the reason of the manager's present step of a reinstall on a member; "" if there is none. recorded is how far the
// reinstalls of the wrapper's operators are according to the member's Delivery. That is known also when the member does not answer.
func (r Reader) Reinstall(name string) (step string, recorded upgrade.RecordState) {
	if is := r.Pusher.Result(r.Key, name).Reinstall; is != nil {
		step = is.Reason
	}
	if seen := r.Deliveries.Record(r.Key, name).Summary; seen != nil && seen.Wrapper.UID == r.Wrapper.GetUID() {
		recorded = seen.Reinstall
	}
	return step, recorded
}

// observeUnrendered completes the facts about a member that waits in a rollout and has no desired state: its revision
// cannot be rendered, or it has no revision yet. Only the member's Delivery then shows which objects are there. The
// manager repairs no drift on such a member.
func (r Reader) observeUnrendered(m *report.Member, seen *deliveries.Summary) {
	m.Revision, m.RepairsDrift = "", false
	if seen != nil && seen.Wrapper.UID == r.Wrapper.GetUID() {
		m.Held, m.Revision, m.Rendering = seen.Complete && !r.Pusher.Result(r.Key, m.Name).Unrecorded, seen.Revision, seen.Rendering
	}
}

// Target returns the member's present target: a revision, and the digest of its rendering. Usually that is the desired
// state that the manager set last. In two cases it is what the member's Delivery records:
//   - after a restart, because the manager then has no desired state in memory;
//   - if the member became unreachable before its Delivery recorded the new target. The new revision did not reach the
//     member, so it cannot have made the member unreachable. The member gets the new revision when it answers again.
func (r Reader) Target(name string) (revision, rendering string) {
	record := r.Deliveries.Record(r.Key, name)
	if desired := r.Pusher.DesiredState(r.Key, name); desired != nil && !desired.Leaving() && desired.Wrapper.UID == r.Wrapper.GetUID() &&
		(desired.IsRecordedBy(record.Summary) || r.Reachability(name, record).Usable) {
		return desired.Revision, desired.Digest()
	}
	if seen := record.Summary; seen != nil && seen.Wrapper.UID == r.Wrapper.GetUID() {
		return seen.Revision, seen.Rendering
	}
	return "", ""
}

// LineOfTarget returns the status line that a member would have for its present target. publish writes another line to
// the status: that line describes the target that this reconcile sets. before is the member's line in the status; nil if
// it has none, or describes another revision.
func (r Reader) LineOfTarget(name, target string, is Assignment, before *v1alpha1.ClusterStatus, now time.Time) v1alpha1.ClusterStatus {
	is.Refusal, is.Wait = report.Refusal{}, report.Wait{}
	m := r.Observe(name, is)
	m.Rendering = target
	if seen := r.Deliveries.Record(r.Key, name).Summary; r.Pusher.DesiredState(r.Key, name) == nil {
		m.Held = seen != nil && seen.Complete && seen.Rendering == target && seen.Wrapper.UID == r.Wrapper.GetUID() &&
			!r.Pusher.Result(r.Key, name).Unrecorded
	}
	line := report.Line(&m, before, now)
	if m.Judged && IsCollectorSilent(r.Members[name]) {
		return doubted(line, now)
	}
	return line
}

// doubted returns the line of a member whose collector has stopped writing heartbeats, where only the collector can tell whether the
// objects are still healthy. If the line says Healthy, the member counts as Unreachable, and that from now on: after a restart
// the manager does not know since when.
func doubted(line v1alpha1.ClusterStatus, now time.Time) v1alpha1.ClusterStatus {
	if line.State != v1alpha1.StateHealthy {
		return line
	}
	return v1alpha1.ClusterStatus{State: v1alpha1.StateUnreachable, Reason: v1alpha1.ReasonNoHeartbeat, LastTransitionTime: metav1.NewTime(now)}
}

// IsCollectorSilent reports whether the collector of a member has stopped writing heartbeats.
func IsCollectorSilent(mc *v1alpha1.MemberCluster) bool {
	return meta.IsStatusConditionFalse(mc.Status.Conditions, v1alpha1.ConditionCollectorReady)
}

// StillLeaving returns the names in leaving without those of members that the wrapper has left completely.
func (r Reader) StillLeaving(leaving []string) []string {
	var still []string
	for _, name := range leaving {
		if !r.HasLeft(name) {
			still = append(still, name)
		}
	}
	return still
}

// HasLeft reports whether the wrapper has left a member, that is, whether the last push there deleted the Delivery.
func (r Reader) HasLeft(name string) bool {
	return r.Pusher.Result(r.Key, name).HasLeft()
}

// Holders returns the members with a Delivery of this wrapper's uid.
func (r Reader) Holders() []string {
	return slices.DeleteFunc(r.Deliveries.Holders(r.Key), func(name string) bool {
		seen := r.Deliveries.Record(r.Key, name).Summary
		return seen == nil || seen.Wrapper.UID != r.Wrapper.GetUID()
	})
}

// Revisions returns the revisions that the desired states and the Deliveries of this wrapper name.
func (r Reader) Revisions() (names []string) {
	for _, name := range r.Pusher.DesiredMembers(r.Key) {
		if desired := r.Pusher.DesiredState(r.Key, name); desired != nil {
			names = append(names, desired.Revision)
		}
	}
	for _, name := range r.Deliveries.Holders(r.Key) {
		if seen := r.Deliveries.Record(r.Key, name).Summary; seen != nil {
			names = append(names, seen.Revision)
		}
	}
	return names
}

// Reachability returns whether the manager can reach a member, by the last probe. Without a connection it returns the
// reason in the MemberCluster's condition Ready.
func (r Reader) Reachability(name string, record deliveries.Record) report.Reachability {
	probe, connected := r.Fleet.LastProbe(name)
	if !connected {
		if mc := r.Members[name]; mc != nil {
			ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
			if ready != nil && ready.Status == metav1.ConditionFalse {
				reason := ready.Reason
				if v1alpha1.IsUnreachable(reason) { // as in the result of a probe
					reason = v1alpha1.ReasonUnreachable
				}
				return report.Reachability{Known: true, Reason: reason, Message: ready.Message}
			}
		}
		return report.Reachability{}
	}
	return known(report.Reachability{Known: probe.Probed, Usable: probe.Usable(), Reason: probe.Reason, Message: probe.Message}, record)
}

// known returns the reachability s, with one exception: if the member is usable, but the manager has not read its
// Deliveries yet or can no longer read them, the result is an unknown reachability.
func known(s report.Reachability, record deliveries.Record) report.Reachability {
	if s.Usable && (!record.Listed || record.Unreadable != "") {
		return report.Reachability{Message: record.Unreadable}
	}
	return s
}
