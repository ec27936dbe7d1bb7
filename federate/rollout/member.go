// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// Member is what a decision needs to know of one placed member.
type Member struct {
	selection.Member
	// Target is the digest of the rendering that the manager last decided on for the member; "" for a fresh member.
	// After a restart the manager takes it from the Delivery, so it forgets a target that it had not yet written there.
	// Revision is the revision of that rendering; "" for a fresh member.
	Target, Revision string
	// Newest is the digest of the member's rendering of the newest revision; "" if the manager cannot render it. Good is
	// the digest of the member's rendering of State.LastGood as it is now: with the present labels of the member and the
	// present version of Fairlead. It is "" if the manager cannot render that revision.
	Newest, Good string
	// State is the member's state with Target.
	State v1alpha1.ClusterState
	// Since is when State began.
	Since time.Time
	// Reason is the reason of State, and Message explains State to a person.
	Reason, Message string
	// ProgressFrom is when the progress deadline of the member began: when Target changed, or when the member was last
	// Healthy, whichever is later. While the member is Waiting, Held, HeldUp or not reachable, the deadline stands still;
	// ProgressFrom moves forward by that time.
	ProgressFrom time.Time
	// Reinstall tells how far a reinstall of an operator is on the member: one whose installed version is later than its target,
	// with spec.upgrade.rollback: Reinstall.
	Reinstall Reinstall
	// BeforeRetry is true if State began before the last retry of this rollout. Since cannot tell that: State.Retried comes from a
	// status, which has whole seconds.
	BeforeRetry bool
	// Proven is true if the member had Target when a rollout was Complete, or before the first rollout, or if Target is its rendering
	// of State.LastGood. So the content of Target has passed all waves before, and the present rollout need not prove it. A target
	// that an unfinished rollout has set is not Proven, even if a later rollout does not change it: it has still to become Healthy
	// before the next wave gets that content.
	Proven bool
	// HeldUp is true while the manager does not do what the member needs to become Healthy: pushes are suspended, or the reinstall of an
	// operator waits for its turn or is announced. No progress deadline runs then.
	HeldUp bool
}

func (m *Member) fresh() bool   { return m.Target == "" }
func (m *Member) updated() bool { return m.Newest != "" && m.Target == m.Newest }
func (m *Member) healthy() bool { return m.State == v1alpha1.StateHealthy }
func (m *Member) reachable() bool {
	return m.State != v1alpha1.StateUnreachable && m.State != v1alpha1.StateUnknown
}

// unavailable reports whether the member may have the wrapper and is not Healthy with it. It is true for each member
// that the manager cannot reach, even a fresh one: after a restart the manager does not know what such a member has.
func (m *Member) unavailable() bool { return !m.healthy() && (!m.fresh() || !m.reachable()) }

// costs reports whether a change of the member uses budget. It does if the member is fresh or Healthy, because the change
// may make it one more member that is not Healthy.
func (m *Member) costs() bool { return m.fresh() || m.healthy() }

// unread reports whether the manager has not read the member since it started.
func (m *Member) unread() bool { return m.State == v1alpha1.StateUnknown }

// late returns the time at which the member's progress deadline ends. ok is false if no deadline runs, because the
// member is Healthy, Waiting, Held, HeldUp or not reachable. The deadline does not begin before the time in the parameter from.
// So after a retry or a rollback each member has the whole deadline again.
func (m *Member) late(deadline time.Duration, from time.Time) (at time.Time, ok bool) {
	if m.healthy() || !m.reachable() || m.waits() || m.HeldUp {
		return time.Time{}, false
	}
	return later(m.ProgressFrom, from).Add(deadline), true
}

// failed reports whether a member is Stalled, or not Healthy at its deadline. For a member that became Stalled before
// the time in the parameter from, or before the last retry, only the deadline counts.
func (m *Member) failed(deadline time.Duration, from, now time.Time) bool {
	if m.State == v1alpha1.StateStalled && !m.BeforeRetry && !from.After(m.Since) {
		return true
	}
	at, ok := m.late(deadline, from)
	return ok && !now.Before(at)
}

// waits reports whether the member waits for something that the revision does not control: a kind, a pod that uses a
// claim, or a person.
func (m *Member) waits() bool {
	return m.State == v1alpha1.StateWaiting || m.State == v1alpha1.StateHeld
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
