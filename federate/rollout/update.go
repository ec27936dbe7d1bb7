// SPDX-License-Identifier: Apache-2.0

package rollout

// update sets the targets of a rollout that goes forward, or is paused. A member that is not updated keeps its target.
func (d *decider) update() {
	newest := func(m *Member) Target { return Target{Revision: d.Revision, Rendering: m.Newest} }
	gate := d.gate()
	started := d.inFlight(newest, true)
	for _, costly := range []bool{false, true} { // members that are not Healthy first: their updates cost no budget
		for i := range d.Members {
			m, wave := &d.Members[i], int(d.wave[i])
			if !costly {
				d.out.Targets[i] = Target{Revision: m.Revision, Rendering: m.Target}
			}
			if m.updated() || costly != d.costs(m) {
				continue
			}
			reason := gate[wave]
			if reason == "" {
				reason = d.start(m, newest(m), started, wave)
			}
			if reason == "" {
				d.out.Targets[i] = newest(m)
				continue
			}
			d.out.Targets[i].Reason = reason
			d.serveFresh(i, gate[wave])
		}
	}
}

// gate returns, for each wave, why its members may not be updated now, or "".
func (d *decider) gate() []Reason {
	s := &d.out.State
	gate := make([]Reason, len(d.waves))
	for w := range gate {
		switch {
		case s.Phase == Paused:
			gate[w] = WaitsAfterFailure
		case w < d.current:
		case w > d.current:
			gate[w] = WaitsForWave
		case s.Begun:
		case d.waves[w].Manual && !d.approved(d.waves[w].Name):
			gate[w] = WaitsForApproval
		case d.Suspended:
			gate[w] = WaitsForSuspend
		default:
			s.Begun = true
		}
	}
	return gate
}

func (d *decider) approved(wave string) bool {
	for _, name := range d.Approvals.Waves {
		if name == wave {
			return true
		}
	}
	return false
}

// costs reports whether an update of the member costs budget: it may make a member unavailable that is not counted as such.
func (d *decider) costs(m *Member) bool { return m.fresh() || m.healthy() }

// inFlight counts, for each wave, the members that have their target and are not Healthy with it yet. Members that the manager
// cannot reach any more are among them if lost is true: on the way forward they may be what the revision cut off.
func (d *decider) inFlight(target func(*Member) Target, lost bool) []int {
	started := make([]int, len(d.waves))
	for i := range d.Members {
		m := &d.Members[i]
		if lost && m.unread() && int(d.wave[i]) >= d.current { // it may have its target
			started[d.wave[i]]++
			continue
		}
		if m.fresh() || m.Target != target(m).Rendering || m.healthy() || d.failed(m) {
			continue
		}
		if !m.reachable() && (!lost || int(d.wave[i]) < d.current || d.lost(i)) {
			continue
		}
		started[d.wave[i]]++
	}
	return started
}

// start takes a member's place in its wave and in the budget. It returns why there is none, or "".
func (d *decider) start(m *Member, target Target, started []int, wave int) Reason {
	switch {
	case target.Rendering == "":
		return WaitsNoRendering
	case !m.reachable():
		return WaitsForMember
	case started[wave] >= amountOf(d.waves[wave].MaxConcurrent, d.inWave[wave]):
		return WaitsForTurn
	case d.costs(m) && d.budget <= 0:
		return WaitsForBudget
	}
	started[wave]++
	if d.costs(m) {
		d.budget--
	}
	return ""
}

// serveFresh gives a fresh member whose wave has not begun the last good revision. The wrapper's workload should not be missing
// there until the rollout is over.
func (d *decider) serveFresh(i int, gate Reason) {
	m := &d.Members[i]
	if !m.fresh() || gate == "" || m.Good == "" || d.out.State.LastGood == "" || !m.reachable() || d.budget <= 0 {
		return
	}
	d.budget--
	d.out.Targets[i].Revision, d.out.Targets[i].Rendering = d.out.State.LastGood, m.Good
}

// takeBack sets the targets of a rollout that failed. The waves go back in reverse order, each after the one behind it.
func (d *decider) takeBack() {
	good := func(m *Member) Target { return Target{Revision: d.out.State.LastGood, Rendering: m.Good} }
	started := d.inFlight(good, false)
	held, all := false, true // held: a later wave is not back
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
	// A fleet that is back stays so when a member falls ill: nothing goes back then.
	if all || d.out.State.Phase == RolledBack && !d.movesAny() {
		d.out.State.Phase = RolledBack
	} else {
		d.out.State.Phase = RollingBack
	}
}

// movesAny reports whether the decision gives a member another target.
func (d *decider) movesAny() bool {
	for i := range d.Members {
		if d.out.Targets[i].Rendering != d.Members[i].Target {
			return true
		}
	}
	return false
}

// takeMemberBack sets the target of one member, and reports whether the waves before it need not wait for it.
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
		// A member that had the last good revision before the failure holds no other member back, however it fares.
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

// explain names what the decision waits for, and when to look again for a deadline.
func (d *decider) explain() {
	for i := range d.Members {
		m := &d.Members[i]
		if at, ok := m.late(d.deadline, d.deadlinesFrom()); ok && !m.fresh() && d.out.State.Phase != Paused {
			d.lookAgain(at)
		}
	}
	if d.out.Waits == "" {
		d.out.Waits, d.out.Waiting = d.waits()
	}
}

// waits returns what the rollout waits for. A reason that only a person can end comes first, then the reason of the first member
// that waits, then health.
func (d *decider) waits() (Reason, string) {
	for _, reason := range []Reason{
		WaitsAfterFailure, WaitsForApproval, WaitsForSuspend, WaitsForBudget, WaitsForTurn, WaitsForMember, WaitsForWave, WaitsNoRendering,
	} {
		for i := range d.out.Targets {
			if d.out.Targets[i].Reason == reason {
				return reason, d.Members[i].Name
			}
		}
	}
	for i := range d.Members {
		m := &d.Members[i]
		if d.out.Targets[i].Rendering != m.Target || !m.healthy() && !m.fresh() {
			return WaitsForHealth, m.Name
		}
	}
	if d.out.State.Failure != nil {
		return WaitsAfterFailure, d.out.State.Failure.Member
	}
	return "", ""
}
