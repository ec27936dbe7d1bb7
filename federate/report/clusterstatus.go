// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Member is a snapshot of one member with one wrapper.
type Member struct {
	Name string
	// Approve is the `hostctl approve` command for the wrapper, without --removal or --release.
	Approve string
	// Leaving reports whether the wrapper is to leave the member.
	Leaving bool
	// Withheld reports whether the member is placed only until its removal is allowed.
	Withheld bool
	// Revision is the desired revision of the member.
	Revision string
	// Held reports whether the member holds exactly the desired objects. HeldRevision is the revision that its Delivery
	// names.
	Held         bool
	HeldRevision string
	// Judged reports whether the Delivery has an object whose health only the collector can tell. Then the member is not
	// Healthy before Status, which the collector wrote, has observed Rendering, the digest of the desired objects.
	Judged    bool
	Rendering string
	Status    *v1alpha1.DeliveryStatus
	// RepairsDrift reports whether the manager repairs drift, or only reports it.
	RepairsDrift bool
	// Contested is the message about the client that undoes repairs; "" if there is none.
	Contested string
	// Push is the problem with the push. It is the zero value if there is none, or if no push was tried.
	Push Push
	// Approval is why the manager does not approve an InstallPlan of spec.upgrade; its reason is "" if there is none.
	Approval Push
	// Refusal is why nothing can be rendered for this member; its reason is "" if it can.
	Refusal Refusal
	// Wait is why a member does not get the update revision yet; its reason is "" if it does.
	Wait Wait
	// Reachability is the manager's connection to the member.
	Reachability Reachability
	// Listed reports whether the member's Deliveries were read since the manager started. Tried reports whether a
	// pass for the desired state has ended since. See KnowsLess.
	Listed, Tried bool
}

// Push is the problem with a push.
type Push struct {
	State           v1alpha1.ClusterState
	Reason, Message string
	// Unrepaired reports whether the manager could not repair some drift. Then there is a problem although the Delivery
	// lists every object as applied.
	Unrepaired bool
	// Delivery is the Delivery that waits for an Approval; nil if none does.
	Delivery *v1alpha1.DeliveryVersion
}

// Wait is why the rollout does not update a member yet. Fresh reports whether the member has no revision of the wrapper so far.
type Wait struct {
	Reason, Message string
	Fresh           bool
}

// Refusal is why nothing can be rendered for a member.
type Refusal struct{ Reason, Message string }

// Reachability is the manager's view of the connection to a member. Known is false until the manager has probed the member
// or could not connect it; Usable reports whether requests to the member are answered.
type Reachability struct {
	Known, Usable   bool
	Reason, Message string
}

// rule makes the line for a member; ok reports whether the rule applies.
type rule func(m *Member) (line v1alpha1.ClusterStatus, ok bool)

// rules in order of precedence: the first that applies writes the line.
var rules = []rule{
	unreachable, // its state is unknown
	leaving,
	fresh,    // it waits for its first revision
	refused,  // nothing can be rendered for it
	hindered, // the push has a problem
	contested,
	pushing, // not applied yet
	drifted,
	unjudged, // applied, and not judged yet
	unapproved,
	unwell,   // applied, and not healthy
	withheld, // healthy, but the wrapper is to leave it
	outdated, // healthy with an earlier revision
	healthy,
}

// volatile are reasons whose messages differ from one try to the next (ports, addresses, times) without new
// information. The first message stays. Otherwise the status would be written at every try.
var volatile = map[string]bool{v1alpha1.ReasonPushError: true, v1alpha1.ReasonUnreachable: true}

// Line makes the line of one member. While state and revision stay the same, the time of the last transition stays.
func Line(m *Member, before *v1alpha1.ClusterStatus, now time.Time) v1alpha1.ClusterStatus {
	for _, r := range rules {
		line, ok := r(m)
		if !ok {
			continue
		}
		line.Name = m.Name
		line.Message = health.Clean(line.Message, maxMessage)
		line.Reason = health.Clean(line.Reason, maxReason)
		line.Revision = health.Clean(m.HeldRevision, maxName) // text from the member, like the version
		if m.Held || line.Revision == "" {
			line.Revision = m.Revision
		}
		if m.Status != nil && !m.Leaving {
			line.Version = health.Clean(m.Status.Version, maxName)
		}
		line.LastTransitionTime = metav1.NewTime(now)
		if before != nil && before.State == line.State {
			if before.Revision == line.Revision {
				line.LastTransitionTime = before.LastTransitionTime
			}
			if before.Reason == line.Reason && volatile[line.Reason] && before.Message != "" {
				line.Message = before.Message
			}
		}
		return line
	}
	panic("report: no rule applies to " + m.Name) // the rule healthy always applies
}

func unreachable(m *Member) (v1alpha1.ClusterStatus, bool) {
	switch {
	case !m.Reachability.Known:
		return v1alpha1.ClusterStatus{State: v1alpha1.StateUnknown, Reason: orElse(m.Reachability.Reason, v1alpha1.ReasonNotHeardFrom),
			Message: orElse(m.Reachability.Message, "the manager has not read this member yet")}, true
	case !m.Reachability.Usable:
		return v1alpha1.ClusterStatus{State: v1alpha1.StateUnreachable, Reason: orElse(m.Reachability.Reason, v1alpha1.ReasonUnreachable),
			Message: m.Reachability.Message}, true
	}
	return v1alpha1.ClusterStatus{}, false
}

func leaving(m *Member) (v1alpha1.ClusterStatus, bool) {
	return v1alpha1.ClusterStatus{State: v1alpha1.StateRemoving, Reason: orElse(m.Push.Reason, v1alpha1.ReasonLeaving),
		Message: m.Push.Message, Delivery: m.Push.Delivery}, m.Leaving
}

func fresh(m *Member) (v1alpha1.ClusterStatus, bool) {
	return v1alpha1.ClusterStatus{State: v1alpha1.StateWaiting, Reason: m.Wait.Reason, Message: m.Wait.Message}, m.Wait.Fresh && m.Refusal.Reason == ""
}

func outdated(m *Member) (v1alpha1.ClusterStatus, bool) {
	return v1alpha1.ClusterStatus{State: v1alpha1.StateHealthy, Reason: m.Wait.Reason, Message: m.Wait.Message}, m.Wait.Reason != ""
}

func refused(m *Member) (v1alpha1.ClusterStatus, bool) {
	return v1alpha1.ClusterStatus{State: v1alpha1.StateStalled, Reason: m.Refusal.Reason, Message: m.Refusal.Message}, m.Refusal.Reason != ""
}

func hindered(m *Member) (v1alpha1.ClusterStatus, bool) {
	return v1alpha1.ClusterStatus{State: m.Push.State, Reason: m.Push.Reason, Message: m.Push.Message, Delivery: m.Push.Delivery},
		(!m.Held || m.Push.Unrepaired) && m.Push.State != ""
}

// contested is Stalled: another try does not help, and the on-call has to stop the other client. The state lasts
// until the drift backoff ends, also while a repair is made and while it holds. Otherwise the line would change with
// each repair.
func contested(m *Member) (v1alpha1.ClusterStatus, bool) {
	return v1alpha1.ClusterStatus{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonDriftContested, Message: m.Contested},
		m.Contested != "" && m.RepairsDrift
}

func pushing(m *Member) (v1alpha1.ClusterStatus, bool) {
	return v1alpha1.ClusterStatus{State: v1alpha1.StatePushing, Reason: v1alpha1.ReasonPushing}, !m.Held
}

func drifted(m *Member) (v1alpha1.ClusterStatus, bool) {
	if m.Status == nil {
		return v1alpha1.ClusterStatus{}, false
	}
	for i := range m.Status.Objects {
		if o := &m.Status.Objects[i]; o.Drift != nil && o.Reason == v1alpha1.ReasonUnfinished {
			return v1alpha1.ClusterStatus{State: v1alpha1.StateProgressing, Reason: v1alpha1.ReasonUnfinished,
				Message: o.Kind + " " + o.Name + " was changed by a push that the manager did not record; the manager applies it again"}, true
		}
	}
	for i := range m.Status.Objects {
		o := &m.Status.Objects[i]
		if o.Drift == nil {
			continue
		}
		line := v1alpha1.ClusterStatus{State: v1alpha1.StateHealthy, Reason: v1alpha1.ReasonDrifted, Message: driftWords(o)}
		if m.RepairsDrift {
			line.State = v1alpha1.StateProgressing
		} else if worst := worstObject(m.Status.Objects); m.Withheld || worst != nil && stateOf[worst.Health] != "" {
			// Drift is reported, and hides no line that a person has to see first.
			return v1alpha1.ClusterStatus{}, false
		}
		return line, true
	}
	return v1alpha1.ClusterStatus{}, false
}

func driftWords(o *v1alpha1.ObjectStatus) string {
	what := o.Kind + " " + o.Name
	switch o.Drift.Kind {
	case v1alpha1.DriftGone:
		return what + " was deleted on the member"
	case v1alpha1.DriftReplaced:
		return what + " was deleted and made again on the member"
	}
	words := what + " was changed on the member"
	if o.Drift.Manager != "" {
		words += " by " + o.Drift.Manager
	}
	if len(o.Drift.Fields) > 0 {
		words += fmt.Sprintf(" (%s", o.Drift.Fields[0])
		if more := len(o.Drift.Fields) - 1; more > 0 {
			words += fmt.Sprintf(" and %d more", more)
		}
		words += ")"
	}
	return words
}

func unjudged(m *Member) (v1alpha1.ClusterStatus, bool) {
	spoken := m.Status != nil && m.Status.ObservedRendering == m.Rendering
	return v1alpha1.ClusterStatus{State: v1alpha1.StateProgressing, Reason: v1alpha1.ReasonApplying}, m.Judged && !spoken
}

var stateOf = map[v1alpha1.Health]v1alpha1.ClusterState{
	v1alpha1.Waiting:     v1alpha1.StateWaiting,
	v1alpha1.Progressing: v1alpha1.StateProgressing,
	v1alpha1.Degraded:    v1alpha1.StateDegraded,
}

// unapproved takes the place of InstallPlanPending, which only says that the manager has not answered yet. It hides no object that
// is Degraded.
func unapproved(m *Member) (v1alpha1.ClusterStatus, bool) {
	if m.Approval.Reason == "" || m.Status == nil {
		return v1alpha1.ClusterStatus{}, false
	}
	if worst := worstObject(m.Status.Objects); worst != nil && worst.Health == v1alpha1.Degraded {
		return v1alpha1.ClusterStatus{}, false
	}
	pending := slices.ContainsFunc(m.Status.Objects, func(o v1alpha1.ObjectStatus) bool { return o.Reason == v1alpha1.ReasonInstallPlanPending })
	return v1alpha1.ClusterStatus{State: m.Approval.State, Reason: m.Approval.Reason, Message: m.Approval.Message}, pending
}

func unwell(m *Member) (v1alpha1.ClusterStatus, bool) {
	if m.Status == nil {
		return v1alpha1.ClusterStatus{}, false
	}
	worst := worstObject(m.Status.Objects)
	if worst == nil || stateOf[worst.Health] == "" {
		return v1alpha1.ClusterStatus{}, false
	}
	words := worst.Kind + " " + worst.Name
	if worst.Message != "" {
		words += ": " + worst.Message
	}
	return v1alpha1.ClusterStatus{State: stateOf[worst.Health], Reason: worst.Reason, Message: words}, true
}

// withheld hides no problem: the person who approves the removal has to see the state of the wrapper on the member.
func withheld(m *Member) (v1alpha1.ClusterStatus, bool) {
	return v1alpha1.ClusterStatus{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonRemovalNeedsApproval,
		Message: fmt.Sprintf("`%s --removal` approves the removal: spec.placement no longer selects this member. Until then the manager serves it. It stays if it is selected again",
			m.Approve)}, m.Withheld
}

func healthy(*Member) (v1alpha1.ClusterStatus, bool) {
	return v1alpha1.ClusterStatus{State: v1alpha1.StateHealthy}, true
}

func worstObject(objects []v1alpha1.ObjectStatus) *v1alpha1.ObjectStatus {
	rank := map[v1alpha1.Health]int{v1alpha1.Degraded: 3, v1alpha1.Waiting: 2, v1alpha1.Progressing: 1}
	var worst *v1alpha1.ObjectStatus
	for i := range objects {
		o := &objects[i]
		if worst == nil || rank[o.Health] > rank[worst.Health] {
			worst = o
		}
	}
	return worst
}

func orElse(word, fallback string) string {
	if word == "" {
		return fallback
	}
	return word
}
