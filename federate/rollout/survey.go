// SPDX-License-Identifier: Apache-2.0

package rollout

// fleet is the placed members with their waves. Nothing changes it after survey.
type fleet struct {
	members []Member
	wave    []int16 // the index of the wave of each member
	inWave  []int   // the number of members of each wave
	// reachable and unavailable count the members that the manager can reach, and those that are not Healthy.
	reachable, unavailable int
}

// survey finds the wave of each member, and counts the members.
func survey(p *Plan, members []Member) fleet {
	f := fleet{members: members, wave: make([]int16, len(members)), inWave: make([]int, len(p.waves))}
	for i := range members {
		m := &members[i]
		w := p.waveOf(m.Member)
		f.wave[i] = int16(w) //nolint:gosec // the API allows 16 waves
		f.inWave[w]++
		if m.unavailable() {
			f.unavailable++
		}
		if m.reachable() {
			f.reachable++
		}
	}
	return f
}
