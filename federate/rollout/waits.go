// SPDX-License-Identifier: Apache-2.0

package rollout

// waits returns why the rollout waits, and one member to which that applies. A reason that only a person can end comes
// first, then the reason of a member that may not change yet, then a member that is not Healthy.
func waits(members []Member, targets []Target, failure *Failure) (Reason, string) {
	for _, reason := range []Reason{
		WaitsAfterFailure, WaitsForApproval, WaitsForSuspend, WaitsForBudget, WaitsForTurn, WaitsForMember, WaitsForWave, WaitsNoRendering,
	} {
		for i := range targets {
			if targets[i].Reason == reason {
				return reason, members[i].Name
			}
		}
	}
	for i := range members {
		m := &members[i]
		if targets[i].Rendering != m.Target || !m.healthy() && !m.fresh() {
			return WaitsForHealth, m.Name
		}
	}
	if failure != nil {
		return WaitsAfterFailure, failure.Member
	}
	return "", ""
}
