// SPDX-License-Identifier: Apache-2.0

package rollout

import "slices"

// update sets the targets while the rollout goes forward or is paused.
type update struct {
	fleet fleet
	pace  pace
	// revision is the newest revision, and lastGood the last good one; "" if there is none.
	revision, lastGood string
	// gates has, for each wave, the reason why its members may not be updated now; "" if they may.
	gates []Reason
	// targets has the result, in the order of the members.
	targets []Target
}

// run sets the targets. A member that has to wait keeps its target.
func (u *update) run() {
	for _, costly := range []bool{false, true} { // first the members that are not Healthy, because their updates use no budget
		for i := range u.fleet.members {
			m := &u.fleet.members[i]
			if !costly {
				u.targets[i] = Target{Revision: m.Revision, Rendering: m.Target}
			}
			if m.updated() || costly != m.costs() {
				continue
			}
			reason := u.gates[u.fleet.wave[i]]
			if reason == "" {
				reason = u.pace.start(i, m.Newest)
			}
			if reason == "" {
				u.targets[i] = Target{Revision: u.revision, Rendering: m.Newest}
				continue
			}
			u.targets[i].Reason = reason
			u.serveFresh(i)
		}
	}
}

// serveFresh gives the last good revision to a fresh member whose wave has not begun. Without that, the member would
// have none of the wrapper's objects until the rollout reaches its wave.
func (u *update) serveFresh(i int) {
	m := &u.fleet.members[i]
	if !m.fresh() || u.gates[u.fleet.wave[i]] == "" || m.Good == "" || u.lastGood == "" || !u.pace.startEarly(m) {
		return
	}
	u.targets[i].Revision, u.targets[i].Rendering = u.lastGood, m.Good
}

// openGates returns, for each wave, the reason why its members may not be updated now; "" if they may. If the current
// wave may begin, openGates records that it has begun. approved are the names of the waves that may begin. If suspended is true, no
// wave begins.
func openGates(at *progress, approved []string, suspended bool) []Reason {
	gates := make([]Reason, len(at.waves))
	for w := range gates {
		switch {
		case at.Phase == Paused:
			gates[w] = WaitsAfterFailure
		case w < at.current:
		case w > at.current:
			gates[w] = WaitsForWave
		case at.Begun:
		case at.waves[w].Manual && !slices.Contains(approved, at.waves[w].Name):
			gates[w] = WaitsForApproval
		case suspended:
			gates[w] = WaitsForSuspend
		default:
			at.Begun = true
		}
	}
	return gates
}
