// SPDX-License-Identifier: Apache-2.0

package rollout

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
