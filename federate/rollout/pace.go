// SPDX-License-Identifier: Apache-2.0

package rollout

// update sets the targets while the rollout goes forward or is paused. A member that has to wait keeps its target.
func (d *decider) update() {
	newest := func(m *Member) Target { return Target{Revision: d.Revision, Rendering: m.Newest} }
	gate := d.gate()
	started := d.inFlight(newest, true)
	for _, costly := range []bool{false, true} { // first the members that are not Healthy, because their updates use no budget
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

// gate returns, for each wave, the reason why its members may not be updated now; "" if they may.
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

// costs reports whether an update of the member uses budget. It does if the member is fresh or Healthy, because the
// update may make it one more member that is not Healthy.
func (d *decider) costs(m *Member) bool { return m.fresh() || m.healthy() }

// inFlight counts, for each wave, the members that have their target and are not Healthy with it yet. With lost, it
// also counts members that the manager cannot reach any more. A rollout that goes forward uses lost, because the new
// revision may have cut off those members.
func (d *decider) inFlight(target func(*Member) Target, lost bool) []int {
	started := make([]int, len(d.waves))
	for i := range d.Members {
		m := &d.Members[i]
		if lost && m.unread() && int(d.wave[i]) >= d.current { // the manager has not read the member, which may have its target already
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

// start lets a member begin its update: it counts the member as started in its wave, and uses budget if needed. It then
// returns "". If the member has to wait, start changes nothing and returns the reason.
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

// serveFresh gives the last good revision to a fresh member whose wave has not begun. Without that, the member would
// have none of the wrapper's objects until the rollout reaches its wave.
func (d *decider) serveFresh(i int, gate Reason) {
	m := &d.Members[i]
	if !m.fresh() || gate == "" || m.Good == "" || d.out.State.LastGood == "" || !m.reachable() || d.budget <= 0 {
		return
	}
	d.budget--
	d.out.Targets[i].Revision, d.out.Targets[i].Rendering = d.out.State.LastGood, m.Good
}
