// SPDX-License-Identifier: Apache-2.0

package rollout

// explain sets why the rollout waits, and the time of the next decision if a progress deadline ends.
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

// waits returns why the rollout waits, and one member to which that applies. A reason that only a person can end comes
// first, then the reason of a member that may not change yet, then a member that is not Healthy.
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
