// SPDX-License-Identifier: Apache-2.0

package memberreport

import "time"

// turnLasts is how long a turn stays valid after it is due. Wrappers may use all valid turns at one moment, that is, every turn that became
// due within this time. Their writes together must not be more than the burst.
const turnLasts = 10 * time.Second

// Turns bounds the writes of all wrappers over time: a burst at once, and a rate after that. Wrappers that have to wait write in
// turns, first come, first served: each wrapper keeps its place, and has only one place at a time. So a wrapper that writes all the
// time delays another by no more than one turn. It is not safe for concurrent use.
type Turns struct {
	burst, perSecond int
	// covered is the time from which on the newest of the reserved writes may be made. It is in the past while some of the burst is left.
	covered time.Time
}

// Turn is the place of one wrapper: some writes, and the time from which on the wrapper may make them. The zero value is no place.
type Turn struct {
	due  time.Time
	left int
}

// NewTurns makes the limit of all wrappers. The burst, a number of writes, has to be greater than perSecond times the seconds of turnLasts.
func NewTurns(burst, perSecond int) *Turns { return &Turns{burst: burst, perSecond: perSecond} }

// Take takes one or two writes for the wrapper that has this turn. If the wrapper has to wait, Take returns for how long. The wrapper
// then keeps its place, and has to call Take again within ten seconds after that time, or it loses the place.
func (t *Turns) Take(turn *Turn, writes int, now time.Time) (wait time.Duration) {
	isWaiting := turn.left > 0 && turn.due.After(now)
	if !isWaiting && (turn.left < writes || now.After(turn.due.Add(turnLasts))) {
		*turn = Turn{due: t.reserve(writes, now), left: writes}
	}
	if wait := turn.due.Sub(now); wait > 0 {
		return wait
	}
	turn.left -= writes
	return 0
}

// reserve reserves writes, and returns the time from which on a wrapper may make them.
func (t *Turns) reserve(writes int, now time.Time) time.Time {
	each := time.Second / time.Duration(t.perSecond)
	if full := now.Add(-time.Duration(t.burst) * each); t.covered.Before(full) {
		t.covered = full
	}
	t.covered = t.covered.Add(time.Duration(writes) * each)
	return t.covered
}
