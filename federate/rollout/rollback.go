// SPDX-License-Identifier: Apache-2.0

package rollout

// takeBack sets the targets of a rollout that rolls back. The waves go back in reverse order: each one waits until all
// later waves are back.
func (d *decider) takeBack() {
	good := func(m *Member) Target { return Target{Revision: d.out.State.LastGood, Rendering: m.Good} }
	started := d.inFlight(good, false)
	held, all := false, true // held is true if a later wave is not back yet
	for w := len(d.waves) - 1; w >= 0; w-- {
		back := true
		for _, costly := range []bool{false, true} {
			for i := range d.Members {
				m := &d.Members[i]
				if int(d.wave[i]) != w || costly != d.costs(m) {
					continue
				}
				back = d.takeMemberBack(i, good(m), held, started) && back
			}
		}
		held, all = held || !back, all && back
	}
	d.out.State.Wave, d.out.State.Begun = "", false
	// Once all members are back, the phase stays RolledBack even if a member stops being Healthy: the rollout changes
	// no target then.
	if all || d.out.State.Phase == RolledBack && !d.movesAny() {
		d.out.State.Phase = RolledBack
	} else {
		d.out.State.Phase = RollingBack
	}
}

// movesAny reports whether this decision changes the target of any member.
func (d *decider) movesAny() bool {
	for i := range d.Members {
		if d.out.Targets[i].Rendering != d.Members[i].Target {
			return true
		}
	}
	return false
}

// takeMemberBack sets the target of the member at index i: good, or its present target if the member has to wait. It
// returns true if earlier waves need not wait for this member.
func (d *decider) takeMemberBack(i int, good Target, held bool, started []int) bool {
	m, keep := &d.Members[i], Target{Revision: d.Members[i].Revision, Rendering: d.Members[i].Target}
	d.out.Targets[i] = keep
	switch {
	case m.Good == "":
		d.out.Targets[i].Reason = WaitsNoRendering
		return true
	case m.unread():
		d.out.Targets[i].Reason = WaitsForMember
		return false
	case m.Target == m.Good:
		// A member that had the last good revision before the failure was not taken back. So earlier waves do not wait
		// for it, even if it is not Healthy.
		return m.healthy() || !m.reachable() || d.failed(m) || d.skipped(m) || m.waits() ||
			m.ProgressFrom.Before(d.out.State.Failure.At)
	case !m.reachable():
		d.out.Targets[i].Reason = WaitsForMember
		return true
	case held:
		d.out.Targets[i].Reason = WaitsForWave
		return false
	}
	if reason := d.start(m, good, started, int(d.wave[i])); reason != "" {
		d.out.Targets[i].Reason = reason
		return false
	}
	d.out.Targets[i] = good
	return false
}
