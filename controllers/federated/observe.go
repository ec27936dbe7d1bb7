// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// observer reads what the manager knows about one wrapper on the members: the Deliveries, the results of pushes, and
// whether the members answer. It reads only the manager's memory.
type observer struct {
	deliveries *deliveries.Store
	pusher     Pusher
	fleet      *member.Fleet
	key        push.Key
	wrapper    v1alpha1.Wrapper
	// members are the MemberClusters by name.
	members map[string]*v1alpha1.MemberCluster
}

// assignment is what a reconcile has decided for a wrapper on one member.
type assignment struct {
	// revision is the update revision.
	revision string
	// desired is the desired state; nil if the member has none.
	desired *push.Desired
	// leaving is true if the wrapper leaves the member.
	leaving bool
	refusal report.Refusal
	wait    report.Wait
}

// observe returns what the manager knows about the wrapper on one member, as input for package report.
func (o observer) observe(name string, is assignment) report.Member {
	record, pushed := o.deliveries.Record(o.key, name), o.pusher.Result(o.key, name)
	m := report.Member{
		Name:         name,
		Leaving:      is.leaving,
		Revision:     is.revision,
		Held:         pushed.IsHeld(record.Summary),
		RepairsDrift: o.wrapper.WrapperSpec().Drift != v1alpha1.DriftReport,
		Contested:    pushed.Contested,
		Refusal:      is.refusal,
		Wait:         is.wait,
		Reachability: o.reachability(name, record),
		Listed:       record.Listed,
		Tried:        pushed.Outcome != nil,
	}
	if is.desired != nil {
		m.Revision, m.Rendering = is.desired.Revision, is.desired.Rendering.Digest()
	} else if m.Wait.Reason != "" {
		o.observeUnrendered(&m, record.Summary)
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
	return m
}

// observeUnrendered completes the facts about a member that waits in a rollout and has no desired state: its revision
// cannot be rendered, or it has no revision yet. Only the member's Delivery then shows which objects are there. The
// manager repairs no drift on such a member.
func (o observer) observeUnrendered(m *report.Member, seen *deliveries.Summary) {
	m.Revision, m.RepairsDrift = "", false
	if seen != nil && seen.Wrapper.UID == o.wrapper.GetUID() {
		m.Held, m.Revision, m.Rendering = seen.Complete && !o.pusher.Result(o.key, m.Name).Unrecorded, seen.Revision, seen.Rendering
	}
}

// target returns the member's present target: a revision, and the digest of its rendering. Usually that is the desired
// state that the manager set last. In two cases it is what the member's Delivery records:
//   - after a restart, because the manager then has no desired state in memory;
//   - if the member became unreachable before its Delivery recorded the new target. The new revision did not reach the
//     member, so it cannot have made the member unreachable. The member gets the new revision when it answers again.
func (o observer) target(name string) (revision, rendering string) {
	record := o.deliveries.Record(o.key, name)
	if desired := o.pusher.DesiredState(o.key, name); desired != nil && !desired.Leaving() && desired.Wrapper.UID == o.wrapper.GetUID() &&
		(desired.IsRecordedBy(record.Summary) || o.reachability(name, record).Usable) {
		return desired.Revision, desired.Digest()
	}
	if seen := record.Summary; seen != nil && seen.Wrapper.UID == o.wrapper.GetUID() {
		return seen.Revision, seen.Rendering
	}
	return "", ""
}

// lineOfTarget returns the status line that a member would have for its present target. publish writes another line to
// the status: that line describes the target that this reconcile sets. before is the member's line in the status; nil if
// it has none, or describes another revision.
func (o observer) lineOfTarget(name, target string, is assignment, before *v1alpha1.ClusterStatus, now time.Time) v1alpha1.ClusterStatus {
	is.refusal, is.wait = report.Refusal{}, report.Wait{}
	m := o.observe(name, is)
	m.Rendering = target
	if seen := o.deliveries.Record(o.key, name).Summary; o.pusher.DesiredState(o.key, name) == nil {
		m.Held = seen != nil && seen.Complete && seen.Rendering == target && seen.Wrapper.UID == o.wrapper.GetUID() &&
			!o.pusher.Result(o.key, name).Unrecorded
	}
	line := report.Line(&m, before, now)
	if line.State == v1alpha1.StateHealthy && m.Judged && isCollectorSilent(o.members[name]) {
		// Only the collector can tell whether these objects are still healthy, and it has stopped writing heartbeats.
		line = v1alpha1.ClusterStatus{State: v1alpha1.StateUnreachable, Reason: v1alpha1.ReasonNoHeartbeat}
	}
	return line
}

func isCollectorSilent(mc *v1alpha1.MemberCluster) bool {
	return meta.IsStatusConditionFalse(mc.Status.Conditions, v1alpha1.ConditionCollectorReady)
}

// stillLeaving returns the names in leaving without those of members that the wrapper has left completely.
func (o observer) stillLeaving(leaving []string) []string {
	var still []string
	for _, name := range leaving {
		if !o.left(name) {
			still = append(still, name)
		}
	}
	return still
}

// left reports whether the wrapper has left a member, that is, whether the last push there deleted the Delivery.
func (o observer) left(name string) bool {
	return o.pusher.Result(o.key, name).HasLeft()
}

// holders returns the members with a Delivery of this wrapper's uid.
func (o observer) holders() []string {
	return slices.DeleteFunc(o.deliveries.Holders(o.key), func(name string) bool {
		seen := o.deliveries.Record(o.key, name).Summary
		return seen == nil || seen.Wrapper.UID != o.wrapper.GetUID()
	})
}

// revisions returns the revisions that the desired states and the Deliveries of this wrapper name.
func (o observer) revisions() (names []string) {
	for _, name := range o.pusher.DesiredMembers(o.key) {
		if desired := o.pusher.DesiredState(o.key, name); desired != nil {
			names = append(names, desired.Revision)
		}
	}
	for _, name := range o.deliveries.Holders(o.key) {
		if seen := o.deliveries.Record(o.key, name).Summary; seen != nil {
			names = append(names, seen.Revision)
		}
	}
	return names
}

// reachability returns whether the manager can reach a member, by the last probe. Without a connection it returns the
// reason in the MemberCluster's condition Ready.
func (o observer) reachability(name string, record deliveries.Record) report.Reachability {
	probe, connected := o.fleet.LastProbe(name)
	if !connected {
		if mc := o.members[name]; mc != nil {
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
