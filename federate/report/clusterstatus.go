// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Member is what the manager knows about one wrapper on one member. Line makes the member's line from it.
type Member struct {
	Name string
	// Approve is the command `hostctl approve WRAPPER`, without a flag for the action.
	Approve string
	// Leaving is true while the manager removes the wrapper from the member.
	Leaving bool
	// Withheld is true if the placement no longer selects the member, but its removal waits.
	Withheld bool
	// Revision is the name of the revision that the member has to have now.
	Revision string
	// Held is true if the Delivery records exactly the desired objects as applied. It has nothing to do with StateHeld.
	Held bool
	// HeldRevision is the revision that the Delivery names; "" if the member has no Delivery.
	HeldRevision string
	// Judged is true if the Delivery has an object whose health only the collector can judge. The member is then not
	// Healthy until the collector has reported on the present desired objects: Status.ObservedRendering equals Rendering.
	Judged bool
	// Rendering is the digest of the present desired objects.
	Rendering string
	// Status is the status that the collector wrote last into the Delivery; nil if it wrote none.
	Status *v1alpha1.DeliveryStatus
	// RepairsDrift is true if the manager repairs drift, and false if it only reports drift.
	RepairsDrift bool
	// Contested is a message about the client that undoes every repair; "" if there is no such client.
	Contested string
	// Push is the problem of the last push. It is the zero value if that push had no problem, or if the manager has
	// not tried a push since it started.
	Push Push
	// Unapproved is why the manager does not approve an InstallPlan that waits for approval. Its Reason is "" if no
	// such InstallPlan waits.
	Unapproved Push
	// Reinstall is the present step of a reinstall of an operator, or why the manager keeps an operator that is ahead of its
	// target. Its Reason is "" if there is none.
	Reinstall Push
	// Refusal is why the manager cannot render the wrapper for this member. Its Reason is "" if the manager can.
	Refusal Refusal
	// Wait is why the rollout does not give the update revision to the member yet. Its Reason is "" if the rollout
	// gives it.
	Wait Wait
	// Reachability tells whether the manager can reach the member.
	Reachability Reachability
	// Listed is true if the manager has read the member's Deliveries since it started.
	// Tried is true if, since the manager started, a push of the present desired state has ended.
	Listed, Tried bool
}

// Push is a problem of a push to a member.
type Push struct {
	State           v1alpha1.ClusterState
	Reason, Message string
	// Unrepaired is true if the manager could not repair a drift. The line then shows this problem even though the
	// Delivery records every object as applied.
	Unrepaired bool
	// Delivery identifies the Delivery that the manager overwrites only after an Approval; nil if no Approval is
	// needed.
	Delivery *v1alpha1.DeliveryVersion
}

// Wait is why the rollout does not update a member yet.
type Wait struct {
	Reason, Message string
	// Fresh is true if the member never had any revision of the wrapper.
	Fresh bool
}

// Refusal is why the manager cannot render a wrapper for a member.
type Refusal struct{ Reason, Message string }

// Reachability is what the last probe or the last attempt to connect has shown.
type Reachability struct {
	// Known is false while the manager has not probed the member, or can reach it but has not read its Deliveries.
	// Usable is true if the member answers, accepts the host's credentials, and is the joined cluster.
	Known, Usable   bool
	Reason, Message string
}

// rule makes the line of a member.
type rule struct {
	// line makes the line. ok is false if the rule does not apply, and then the line is not used.
	line func(m *Member) (line v1alpha1.ClusterStatus, ok bool)
	// quotes is true if the message begins with the kind and the name of an object, and then has the message that the member wrote about it.
	quotes bool
}

// rules are in order of precedence: the first rule that applies makes the line.
var rules = []rule{
	{line: unreachable}, // the manager cannot read the member
	{line: leaving},
	{line: reinstalling}, // an operator is about to be removed, or is removed: nothing may hide that
	{line: fresh},        // the member waits for its first revision
	{line: refused},      // the manager cannot render the wrapper for the member
	{line: hindered},     // the last push has a problem
	{line: contested},
	{line: pushing}, // the Delivery does not record all objects as applied yet
	{line: drifted},
	{line: unjudged}, // the objects are applied, but the collector has not judged them
	{line: unapproved},
	{line: notReinstalled},
	{line: unwell, quotes: true}, // the objects are applied, and one is not healthy
	{line: withheld},             // healthy, but not selected; the removal waits
	{line: outdated},             // healthy with an earlier revision
	{line: deprecated, quotes: true},
	{line: healthy},
}

// volatile are reasons whose messages differ at each try (ports, addresses, times) without new information. While the
// state and the reason stay the same, Line keeps the first message, so that not every try causes a write of the status.
var volatile = map[string]bool{v1alpha1.ReasonPushError: true, v1alpha1.ReasonUnreachable: true}

// Line makes the line of one member. The parameter before is the previous line; nil if there is none. While state and
// revision stay the same, Line keeps the lastTransitionTime of the previous line.
//
// Line redacts the message of an object. The collector does so, too, but one of another vendor may not. Redaction takes much longer than
// the rest, so Line leaves it out where the previous line has the same message: that one was redacted before. An earlier version of the
// manager did not redact, so what it wrote stays until the message changes.
func Line(m *Member, before *v1alpha1.ClusterStatus, now time.Time) v1alpha1.ClusterStatus {
	line, quoted := lineOf(m, before, now)
	redactQuote(&line, quoted, before)
	return line
}

// State returns the state and the reason of the line that Line makes.
func State(m *Member) (state v1alpha1.ClusterState, reason string) {
	line, _ := lineOf(m, nil, time.Time{})
	return line.State, line.Reason
}

// lineOf makes the line of one member, and does not redact it. If the line quotes the message of an object, quoted is the line's message
// before it was cut; otherwise quoted is "".
func lineOf(m *Member, before *v1alpha1.ClusterStatus, now time.Time) (line v1alpha1.ClusterStatus, quoted string) {
	for _, r := range rules {
		line, ok := r.line(m)
		if !ok {
			continue
		}
		if r.quotes {
			quoted = line.Message
		}
		line.Name = m.Name
		line.Message = health.Clean(line.Message, MaxMessage)
		line.Reason = health.Clean(line.Reason, maxReason)
		line.Revision = health.Clean(m.HeldRevision, maxName) // text from the member is not trusted
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
		return line, quoted
	}
	panic("report: no rule applies to " + m.Name) // not reached, because the last rule, healthy, always applies
}

// redactQuote redacts the message of a line for which lineOf has returned quoted.
func redactQuote(line *v1alpha1.ClusterStatus, quoted string, before *v1alpha1.ClusterStatus) {
	if quoted != "" && (before == nil || before.Message != line.Message) {
		line.Message = redacted(quoted)
	}
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

// reinstalling makes the line while a reinstall is announced or has begun. The announcement counts only when a status shows it,
// so no other trouble of the member may take its place.
func reinstalling(m *Member) (v1alpha1.ClusterStatus, bool) {
	return v1alpha1.ClusterStatus{State: m.Reinstall.State, Reason: m.Reinstall.Reason, Message: m.Reinstall.Message}, IsReinstalling(m.Reinstall.Reason)
}

// IsReinstalling reports whether a reason means that an operator is about to be removed, or is removed and not yet installed again.
func IsReinstalling(reason string) bool {
	return reason == v1alpha1.ReasonReinstallAnnounced || reason == v1alpha1.ReasonReinstalling
}

// IsBeforeReinstall reports whether the manager waits before it removes an operator from a member with this line. No deadline runs then, also
// where the line shows another object that is Degraded: it may be the version to be removed that breaks it. step is the reason of the
// manager's present step of a reinstall there.
func IsBeforeReinstall(line *v1alpha1.ClusterStatus, step string) bool {
	waits := func(reason string) bool {
		return reason == v1alpha1.ReasonReinstallAnnounced || reason == v1alpha1.ReasonReinstallWaits
	}
	return waits(line.Reason) || line.State == v1alpha1.StateDegraded && waits(step)
}

// notReinstalled makes the line where an operator stays ahead of its target: the manager keeps it, or it is not the member's
// turn. It comes before the object's own reason, AheadOfTarget, which does not tell why. It does not hide another object that is
// Degraded, another operator among them: such an object has a higher rank, unless its state may only be a consequence.
func notReinstalled(m *Member) (v1alpha1.ClusterStatus, bool) {
	if m.Reinstall.Reason == "" {
		return v1alpha1.ClusterStatus{}, false
	}
	if m.Status != nil {
		if worst := worstObject(m.Status); worst != nil && worst.Health == v1alpha1.Degraded && !isAboutReinstall(worst) {
			return v1alpha1.ClusterStatus{}, false
		}
	}
	return v1alpha1.ClusterStatus{State: m.Reinstall.State, Reason: m.Reinstall.Reason, Message: m.Reinstall.Message}, true
}

// isAboutReinstall reports whether the reason of an object is one of an operator that is to be reinstalled: it is ahead of its target, or a
// reinstall that stopped has removed its CSV.
func isAboutReinstall(o *v1alpha1.ObjectStatus) bool {
	return o.Kind == "Subscription" && (o.Reason == v1alpha1.ReasonAheadOfTarget || o.Reason == v1alpha1.ReasonCSVMissing)
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

// contested makes a line in state Stalled while another client undoes every repair: another try does not help, and the
// on-call has to stop that client. The line stays until the drift backoff ends, even right after a repair, so that it
// does not change with each repair.
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
				Message: "the manager changed " + o.Kind + " " + o.Name + " and did not record the change; it applies the object again"}, true
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
		} else if worst := worstObject(m.Status); m.Withheld || worst != nil && stateOf[worst.Health] != "" {
			// The manager only reports drift here. A removal that waits, or an object that is not healthy, is more
			// urgent, so a later rule makes the line.
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

// withheld makes the line of a healthy member whose removal waits. It comes after the rules for problems: the person who
// approves the removal has to see the state of the wrapper on the member.
func withheld(m *Member) (v1alpha1.ClusterStatus, bool) {
	return v1alpha1.ClusterStatus{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonRemovalNeedsApproval,
		Message: fmt.Sprintf("`%s --removal` approves the removal from this member, which spec.placement no longer selects. "+
			"Until the removal, the manager serves the member. If it is selected again, the wrapper stays",
			m.Approve)}, m.Withheld
}

func healthy(*Member) (v1alpha1.ClusterStatus, bool) {
	return v1alpha1.ClusterStatus{State: v1alpha1.StateHealthy}, true
}

func orElse(word, fallback string) string {
	if word == "" {
		return fallback
	}
	return word
}
