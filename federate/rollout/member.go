// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// Member is the part of a placed member that a decision uses.
type Member struct {
	selection.Member
	// Target is the digest of the rendering that the manager last told the member to have, and Revision its revision. Both are ""
	// for a fresh member. After a restart they come from the Delivery. A target that no Delivery has counts as never told.
	Target, Revision string
	// Newest is the digest of the member's rendering of the newest revision, and Good that of State.LastGood. They are "" when the
	// manager cannot make the rendering. Good is also "" when the rendering would differ from that of the time.
	Newest, Good string
	// State is the member's state with Target, and Since is when that state began. Reason is the reason of the state.
	State  v1alpha1.ClusterState
	Since  time.Time
	Reason string
	// ProgressFrom is when the deadline began: when Target changed, or when the member was last Healthy, whichever is later,
	// moved forward by the time that the member was Waiting, Held or not reachable since then.
	ProgressFrom time.Time
	// Unchanged reports whether the manager knows that Target did not change in this rollout. Then the rollout is not the cause of the
	// member's state.
	Unchanged bool
}

func (m *Member) fresh() bool   { return m.Target == "" }
func (m *Member) updated() bool { return m.Newest != "" && m.Target == m.Newest }
func (m *Member) healthy() bool { return m.State == v1alpha1.StateHealthy }
func (m *Member) reachable() bool {
	return m.State != v1alpha1.StateUnreachable && m.State != v1alpha1.StateUnknown
}

// unavailable reports whether a member has the wrapper and is not Healthy with it. A member that the manager cannot reach may have
// it: after a restart the manager does not know the target of such a member.
func (m *Member) unavailable() bool { return !m.healthy() && (!m.fresh() || !m.reachable()) }

// unread reports whether the manager has not read the member since it started.
func (m *Member) unread() bool { return m.State == v1alpha1.StateUnknown }

// late is when the member's progress deadline ends. ok is false for a member without a deadline: one that is Healthy, Waiting, Held
// or not reachable. No deadline begins before from: a retry, or a roll back, gives each member the whole deadline again.
func (m *Member) late(deadline time.Duration, from time.Time) (at time.Time, ok bool) {
	if m.healthy() || !m.reachable() || m.waits() {
		return time.Time{}, false
	}
	return later(m.ProgressFrom, from).Add(deadline), true
}

// failed reports whether a member is Stalled, or past its deadline. A member that was Stalled before from has a deadline again.
func (m *Member) failed(deadline time.Duration, from, now time.Time) bool {
	if m.State == v1alpha1.StateStalled && !from.After(m.Since) {
		return true
	}
	at, ok := m.late(deadline, from)
	return ok && !now.Before(at)
}

// waits reports whether the member waits for something outside the revision: a kind, a consumer, a person.
func (m *Member) waits() bool {
	return m.State == v1alpha1.StateWaiting || m.State == v1alpha1.StateHeld
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
