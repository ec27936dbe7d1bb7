// SPDX-License-Identifier: Apache-2.0

package rollout

import "time"

// advance passes one wave after the other, up to the first wave that is not done.
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

// noticeSuccess records the revision as the last good one, if it is Healthy on every member that the manager can reach. It waits
// while a member is Unknown: a manager that has just started has read no member yet.
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

// passes reports whether later waves need not wait for a wave. If the wave still soaks, passes records that as the reason to wait.
func (d *decider) passes(wave int) bool {
	var healthySince time.Time
	done := true
	for i := range d.Members {
		m := &d.Members[i]
		switch {
		case int(d.wave[i]) != wave || d.skipped(m):
		case !m.reachable() && m.updated() && wave >= d.current:
			done = done && d.lost(i) // noticeFailure has counted it
		case !m.reachable():
			done = done && d.passedOver(m)
		case !m.updated():
			done = false
		case m.healthy():
			healthySince = later(healthySince, m.Since)
		default: // noticeFailure has counted those that failed
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

// mayPass reports whether a wave may pass although some of its members are not updated. The manager updates them when it can reach
// them. So the wave must be allowed to begin: it needs its approval, and no suspension.
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

// passedOver reports whether the waves no longer wait for a member that the manager cannot reach. They wait while the manager has not
// read it since the start, and while it can reach no member at all: then the host itself may be cut off.
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

// lost reports whether the manager could not reach a member for the whole deadline since the member was updated in the current wave.
// That is a failure: the revision may be what cuts the member off. A member that was lost later is passed over.
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
