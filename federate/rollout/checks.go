// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"time"
)

// memberChecks find out whether a member has failed, and whether the rollout still waits for it. The answers depend on
// the phase and on the current wave. Both are in the field progress, and the steps of a decision change them there.
type memberChecks struct {
	fleet    fleet
	progress progress
	timer    timer
	deadline time.Duration
	// skip are the names of the members that a person skipped.
	skip []string
	// isRetry is true if this decision begins the retry of a failed rollout. Then no member has failed yet: what it is was so before.
	isRetry bool
}

// firstFailure returns the failure of the first wave in which more members have failed than the wave's MaxFailures; nil
// if there is none. It also looks at passed waves, because a revision that fails after the soak must not reach the later
// waves.
func (c *memberChecks) firstFailure() *Failure {
	// In phase Complete all waves have passed with the revision, so it is probably not the cause of a later failure. In the other
	// phases a failure is recorded already.
	if c.progress.Phase != Progressing {
		return nil
	}
	for w := range c.progress.waves {
		count, first := 0, -1
		for i := range c.fleet.members {
			m := &c.fleet.members[i]
			if int(c.fleet.wave[i]) != w || !m.updated() || c.excused(m) || !c.failed(m) && !c.lost(i) {
				continue
			}
			if count++; first < 0 {
				first = i
			}
		}
		if wave := &c.progress.waves[w]; count > wave.MaxFailures {
			m := &c.fleet.members[first]
			return &Failure{Revision: c.progress.Revision, Wave: wave.Name, Member: m.Name, Reason: m.Reason, Message: m.Message, Count: count,
				At: c.progress.now}
		}
	}
	return nil
}

// excused reports whether a failure of the member does not count: the rollout is not the cause of it, or a person
// skipped the member.
func (c *memberChecks) excused(m *Member) bool { return m.Proven || c.skipped(m) }

func (c *memberChecks) skipped(m *Member) bool { return slices.Contains(c.skip, m.Name) }

// failed reports whether a member is Stalled, or not Healthy at its progress deadline.
func (c *memberChecks) failed(m *Member) bool {
	return !c.isRetry && m.failed(c.deadline, c.progress.deadlinesFrom(), c.progress.now)
}

// passedOver reports whether the wave of an unreachable member stops waiting for the member. It waits for one progress
// deadline. It waits longer in two cases: until the manager has read the member once after its start, and while the
// manager can reach no member at all, because the host itself may then be cut off.
func (c *memberChecks) passedOver(m *Member) bool {
	if m.unread() || c.fleet.reachable == 0 {
		return false
	}
	return c.timer.has(m.Since.Add(c.deadline))
}

// lost reports whether the manager has not reached an updated member for a whole progress deadline, which begins with the current
// wave, or later. A lost member counts as failed, because the revision may have cut it off. A member of a passed wave is never lost:
// the rollout passes over it. In a new rollout that wave has not passed, so the member has the whole deadline again.
func (c *memberChecks) lost(i int) bool {
	m := &c.fleet.members[i]
	if c.progress.Phase != Progressing || m.reachable() || !m.updated() || int(c.fleet.wave[i]) < c.progress.current {
		return false
	}
	from := later(c.progress.Since, c.progress.deadlinesFrom())
	return c.timer.has(later(m.Since, from).Add(c.deadline))
}

// isSuccess reports whether the rollout is complete and every member that the manager can reach is Healthy. It returns
// false while a member is Unknown: the manager has just started and has not read that member yet.
func (c *memberChecks) isSuccess() bool {
	if c.progress.Phase != Complete || c.fleet.reachable == 0 {
		return false
	}
	for i := range c.fleet.members {
		m := &c.fleet.members[i]
		if m.unread() || m.reachable() && !c.skipped(m) && (!m.updated() || !m.healthy()) {
			return false
		}
	}
	return true
}

// awaitDeadlines sets the timer to the next end of a progress deadline.
func (c *memberChecks) awaitDeadlines() {
	for i := range c.fleet.members {
		m := &c.fleet.members[i]
		if at, ok := m.late(c.deadline, c.progress.deadlinesFrom()); ok && !m.fresh() && c.progress.Phase != Paused {
			c.timer.has(at)
		}
	}
}
