// SPDX-License-Identifier: Apache-2.0

package rollout

// pace starts changes of members within maxConcurrent of their waves and within the budget.
type pace struct {
	fleet fleet
	waves []compiledWave
	// budget is how many more Healthy or fresh members may begin a change.
	budget int
	// started has, for each wave, how many members have begun a change and are not Healthy yet.
	started []int
}

// newPace makes the pace of an update or a rollback. The function rendering returns the rendering that the update or
// the rollback brings to a member. If lost is true, members that the manager can no longer reach count as started. A
// rollout that goes forward sets lost, because the new revision may have cut off those members.
func newPace(checks *memberChecks, budget int, rendering func(*Member) string, lost bool) pace {
	fleet, current := checks.fleet, checks.progress.current
	p := pace{fleet: fleet, waves: checks.progress.waves, budget: budget, started: make([]int, len(fleet.inWave))}
	for i := range fleet.members {
		m, wave := &fleet.members[i], int(fleet.wave[i])
		if lost && m.unread() && wave >= current { // the manager has not read the member, which may have its target already
			p.started[wave]++
			continue
		}
		if m.fresh() || m.Target != rendering(m) || m.healthy() || checks.failed(m) {
			continue
		}
		if !m.reachable() && (!lost || wave < current || checks.lost(i)) {
			continue
		}
		p.started[wave]++
	}
	return p
}

// start lets the member at index i begin its change: it counts the member as started in its wave, and uses budget if
// needed. It then returns "". If the member has to wait, start changes nothing and returns the reason.
func (p *pace) start(i int, rendering string) Reason {
	m, wave := &p.fleet.members[i], p.fleet.wave[i]
	switch {
	case rendering == "":
		return WaitsNoRendering
	case !m.reachable():
		return WaitsForMember
	case p.started[wave] >= p.waves[wave].Concurrent(p.fleet.inWave[wave]):
		return WaitsForTurn
	case m.costs() && p.budget <= 0:
		return WaitsForBudget
	}
	p.started[wave]++
	if m.costs() {
		p.budget--
	}
	return ""
}

// startEarly uses budget for a fresh member whose wave has not begun. It returns false if the member has to wait.
func (p *pace) startEarly(m *Member) bool {
	if !m.reachable() || p.budget <= 0 {
		return false
	}
	p.budget--
	return true
}
