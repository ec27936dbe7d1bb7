// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"time"
)

// passage lets the rollout pass waves that are done.
type passage struct {
	// approved are the names of the waves that may begin. suspended is true if no wave may begin.
	approved  []string
	suspended bool
	// soakUntil is when the soak of the current wave ends; zero if it does not soak. advance sets it.
	soakUntil time.Time
}

// advance sets the current wave to the first wave that is not done. If all waves are done, the rollout is complete. No wave passes
// before the first member is placed: its waves would count as done, and the first delivery would reach all members at once.
func (p *passage) advance(checks *memberChecks) {
	at := &checks.progress
	if at.Phase != Progressing || len(checks.fleet.members) == 0 {
		return
	}
	for at.current < len(at.waves) && p.isDone(checks, at.current) && p.mayPass(checks, at.current) {
		at.enter(at.current + 1)
	}
	if at.current == len(at.waves) {
		at.Phase = Complete
	}
}

// isDone reports whether a wave is done, so that the next wave may begin. While the wave soaks, isDone sets soakUntil.
func (p *passage) isDone(checks *memberChecks, wave int) bool {
	members, current := checks.fleet.members, checks.progress.current
	var healthySince time.Time
	done := true
	for i := range members {
		m := &members[i]
		switch {
		case int(checks.fleet.wave[i]) != wave || checks.skipped(m):
		case !m.reachable() && m.updated() && wave >= current:
			done = done && checks.lost(i) // a lost member is a failure, and firstFailure has counted it
		case !m.reachable():
			done = done && checks.passedOver(m)
		case !m.updated():
			done = false
		case m.healthy():
			healthySince = later(healthySince, m.Since)
		default: // a failed member does not stop the wave here, because firstFailure has counted it
			done = done && (checks.failed(m) || checks.excused(m))
		}
	}
	if !done || healthySince.IsZero() {
		return done
	}
	soaked := healthySince.Add(checks.progress.waves[wave].Soak)
	if !checks.timer.has(soaked) {
		p.soakUntil = soaked
		return false
	}
	return true
}

// mayPass reports whether the rollout may pass a wave that is done. If the manager cannot reach a member of the wave
// now, it updates that member after the wave has passed. So the rollout may pass such a wave only if the wave could
// also begin: it has its Approval, and the rollout is not suspended.
func (p *passage) mayPass(checks *memberChecks, wave int) bool {
	at, fleet := &checks.progress, &checks.fleet
	is := &at.waves[wave]
	if at.Begun && at.Wave == is.Name {
		return true
	}
	for i := range fleet.members {
		if m := &fleet.members[i]; int(fleet.wave[i]) == wave && !m.updated() && !checks.skipped(m) {
			return !p.suspended && (!is.Manual || slices.Contains(p.approved, is.Name))
		}
	}
	return true
}
