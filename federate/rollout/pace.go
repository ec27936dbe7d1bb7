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

// start counts a member as started in its wave, and takes its part of the budget. If the member has to wait, start returns the reason,
// and otherwise "".
func (d *decider) start(m *Member, target Target, started []int, wave int) Reason {
	switch {
	case target.Rendering == "":
		return WaitsNoRendering
	case !m.reachable():
		return WaitsForMember
	case started[wave] >= d.waves[wave].Concurrent(d.inWave[wave]):
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
