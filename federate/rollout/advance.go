// SPDX-License-Identifier: Apache-2.0

package rollout

import "time"

// advance sets the current wave to the first wave that is not done. If all waves are done, the rollout is complete.
func (d *decider) advance() {
	s := &d.out.State
	if s.Phase != Progressing {
		return
	}
	for d.current < len(d.waves) && d.passes(d.current) && d.mayPass(d.current) {
		d.enter(d.current + 1)
	}
	if d.current == len(d.waves) {
		s.Phase = Complete
	}
}

// noticeSuccess records the revision as the last good one when the rollout is complete and every member that the
// manager can reach is Healthy. It records nothing while a member is Unknown: the manager has just started and has not
// read that member yet.
func (d *decider) noticeSuccess() {
	if d.out.State.Phase != Complete {
		return
	}
	if d.reachable == 0 {
		return
	}
	for i := range d.Members {
		m := &d.Members[i]
		if m.unread() || m.reachable() && !d.skipped(m) && (!m.updated() || !m.healthy()) {
			return
		}
	}
	d.out.State.LastGood = d.out.State.Revision
}

// passes reports whether a wave is done, so that the next wave may begin. While the wave soaks, passes records the soak
// as the reason why the rollout waits.
func (d *decider) passes(wave int) bool {
	var healthySince time.Time
	done := true
	for i := range d.Members {
		m := &d.Members[i]
		switch {
		case int(d.wave[i]) != wave || d.skipped(m):
		case !m.reachable() && m.updated() && wave >= d.current:
			done = done && d.lost(i) // a lost member is a failure, and noticeFailure has counted it
		case !m.reachable():
			done = done && d.passedOver(m)
		case !m.updated():
			done = false
		case m.healthy():
			healthySince = later(healthySince, m.Since)
		default: // a failed member does not stop the wave here, because noticeFailure has counted it
			done = done && (d.failed(m) || d.excused(m))
		}
	}
	if !done || healthySince.IsZero() {
		return done
	}
	soaked := healthySince.Add(d.waves[wave].Soak)
	if d.now.Before(soaked) {
		d.lookAgain(soaked)
		d.out.Waits, d.out.SoakUntil = WaitsForSoak, soaked
		return false
	}
	return true
}

// mayPass reports whether the rollout may pass a wave that is done. If the manager cannot reach a member of the wave
// now, it updates that member after the wave has passed. So the rollout may pass such a wave only if the wave could
// also begin: it has its Approval, and the rollout is not suspended.
func (d *decider) mayPass(wave int) bool {
	if d.out.State.Begun && d.out.State.Wave == d.waves[wave].Name {
		return true
	}
	for i := range d.Members {
		if m := &d.Members[i]; int(d.wave[i]) == wave && !m.updated() && !d.skipped(m) {
			return !d.Suspended && (!d.waves[wave].Manual || d.approved(d.waves[wave].Name))
		}
	}
	return true
}

// passedOver reports whether the wave of an unreachable member stops waiting for the member. It waits for one progress
// deadline. It waits longer in two cases: until the manager has read the member once after its start, and while the
// manager can reach no member at all, because the host itself may then be cut off.
func (d *decider) passedOver(m *Member) bool {
	if m.unread() || d.reachable == 0 {
		return false
	}
	at := m.Since.Add(d.deadline)
	if d.now.Before(at) {
		d.lookAgain(at)
		return false
	}
	return true
}

// lost reports whether the manager has not reached a member for a whole progress deadline since it updated the member
// in the current wave. A lost member counts as failed, because the revision may have cut it off. A member of a passed
// wave is never lost: the rollout passes over it.
func (d *decider) lost(i int) bool {
	m := &d.Members[i]
	if d.out.State.Phase != Progressing || m.reachable() || !m.updated() || int(d.wave[i]) < d.current {
		return false
	}
	at := later(m.Since, d.deadlinesFrom()).Add(d.deadline)
	if d.now.Before(at) {
		d.lookAgain(at)
		return false
	}
	return true
}
