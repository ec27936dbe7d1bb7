// SPDX-License-Identifier: Apache-2.0

package rollout

// rollback sets the targets of a rollout that rolls back.
type rollback struct {
	pace pace
	// lastGood is the last good revision.
	lastGood string
	// targets has the result, in the order of the members.
	targets []Target
}

// run sets the targets, and returns the phase that follows. The waves go back in reverse order: each one waits until all
// later waves are back.
func (r *rollback) run(checks *memberChecks) Phase {
	fleet, at := &checks.fleet, &checks.progress
	held, all := false, true // held is true if a later wave is not back yet
	for w := len(at.waves) - 1; w >= 0; w-- {
		back := true
		for _, costly := range []bool{false, true} {
			for i := range fleet.members {
				if int(fleet.wave[i]) != w || costly != fleet.members[i].costs() {
					continue
				}
				back = r.takeBack(checks, i, held) && back
			}
		}
		held, all = held || !back, all && back
	}
	// Once all members are back, the phase stays RolledBack even if a member stops being Healthy: the rollout changes
	// no target then.
	if all || at.Phase == RolledBack && !movesAny(fleet.members, r.targets) {
		return RolledBack
	}
	return RollingBack
}

// movesAny reports whether the targets differ from the present target of any member.
func movesAny(members []Member, targets []Target) bool {
	for i := range members {
		if targets[i].Rendering != members[i].Target {
			return true
		}
	}
	return false
}

// takeBack sets the target of the member at index i: the last good revision, or its present target if the member has to
// wait. It returns true if earlier waves need not wait for this member.
func (r *rollback) takeBack(checks *memberChecks, i int, held bool) bool {
	m := &checks.fleet.members[i]
	r.targets[i] = Target{Revision: m.Revision, Rendering: m.Target}
	switch {
	case m.Good == "":
		r.targets[i].Reason = WaitsNoRendering
		return true
	case m.unread():
		r.targets[i].Reason = WaitsForMember
		return false
	case m.Target == m.Good && m.Reinstall != NoReinstall && m.reachable():
		// The member has the target, and a later version is still installed. It is back when that has been reinstalled.
		return checks.failed(m) || checks.skipped(m)
	case m.Target == m.Good:
		// A member that had the last good revision before the failure was not taken back. So earlier waves do not wait
		// for it, even if it is not Healthy.
		return m.healthy() || !m.reachable() || checks.failed(m) || checks.skipped(m) || m.waits() || m.HeldUp ||
			m.ProgressFrom.Before(checks.progress.Failure.At)
	case !m.reachable():
		r.targets[i].Reason = WaitsForMember
		return true
	case held:
		r.targets[i].Reason = WaitsForWave
		return false
	}
	if reason := r.pace.start(i, m.Good); reason != "" {
		r.targets[i].Reason = reason
		return false
	}
	r.targets[i] = Target{Revision: r.lastGood, Rendering: m.Good}
	return false
}
