// SPDX-License-Identifier: Apache-2.0

package rollout

import "slices"

// Reinstall is how far the reinstall of an operator is on a member.
type Reinstall int

const (
	// NoReinstall is the state of a member whose operators are not ahead of their targets.
	NoReinstall Reinstall = iota
	// ReinstallReported is the state of a member with an operator that is ahead of its target according to the collector, before the
	// manager has looked at it. It gets no turn: the manager may find nothing to do there, and would then hold the turn for ever.
	ReinstallReported
	// ReinstallNeeded is the state of a member with an operator that is ahead of its target, and waits for its turn.
	ReinstallNeeded
	// ReinstallKept is the state of a member where the manager keeps an operator that is ahead, because a removal is not safe.
	ReinstallKept
	// ReinstallAnnounced is the state of a member whose status announces the removal. Nothing is removed yet.
	ReinstallAnnounced
	// ReinstallBegun is the state of a member where the removal has begun. It goes on whatever the decision is.
	ReinstallBegun
	// ReinstallSettling is the state of a member whose operator was created again, and was not yet Healthy since.
	ReinstallSettling
)

// isRemoved reports whether the operator of a member was removed, and was not yet Healthy since.
func (m *Member) isRemoved() bool {
	return m.Reinstall == ReinstallBegun || m.Reinstall == ReinstallSettling
}

// reinstallTurns decides on which members a reinstall may begin.
//
// A member that needs one is not Healthy, so it counts as unavailable before, during and after. That is no reason to take all
// operators down at the same time: so a reinstall counts in maxConcurrent of its wave, and no more run at the same time than
// maxUnavailable allows. It counts from its announcement until the operator is Healthy again. While one has failed, no other begins: the
// target may be one that cannot be installed. The waves go in their order, in a rollback in reverse. A wave begins when the members of
// the waves before it are Healthy.
type reinstallTurns struct {
	checks *memberChecks
	// limit is how many members may be reinstalled at the same time.
	limit int
	// gates has, for each wave, the reason why its members may not change now. It is nil in a rollback.
	gates      []Reason
	isRollback bool
	suspended  bool
	// failed is true if an operator that was reinstalled is not Healthy at the deadline.
	failed bool
	// targets has the result, in the order of the members.
	targets []Target
}

func (t *reinstallTurns) run() {
	fleet := &t.checks.fleet
	needed, running := false, 0
	for i := range fleet.members {
		m := &fleet.members[i]
		needed = needed || m.Reinstall != NoReinstall
		if t.counts(m) {
			running++
			t.failed = t.failed || t.checks.failed(m)
		}
	}
	if !needed {
		return
	}
	waves := make([]int, len(fleet.inWave))
	for w := range waves {
		waves[w] = w
	}
	if t.isRollback {
		slices.Reverse(waves)
	}
	var held Reason
	for _, w := range waves {
		running = t.serve(w, t.reason(w, held), running)
		if held == "" && t.holdsOthers(w) {
			held = WaitsForWave
		}
	}
}

// counts reports whether a member still holds its turn after its operator was removed. A person can end that by skipping the member.
func (t *reinstallTurns) counts(m *Member) bool { return m.isRemoved() && !t.checks.skipped(m) }

// reason returns why no reinstall may begin in a wave; "" if one may.
func (t *reinstallTurns) reason(wave int, held Reason) Reason {
	switch {
	case t.gates != nil && t.gates[wave] != "":
		return t.gates[wave]
	case t.suspended:
		return WaitsForSuspend
	}
	return held
}

// reinstallOrder is the order in which members get turns. A member whose removal is announced comes before those whose removal is
// not. Otherwise two members could take turns, and none would begin.
var reinstallOrder = []Reinstall{ReinstallBegun, ReinstallSettling, ReinstallAnnounced, ReinstallNeeded, ReinstallKept, ReinstallReported}

// serve gives turns to the members of one wave. running is how many members are being reinstalled in the whole fleet.
func (t *reinstallTurns) serve(wave int, reason Reason, running int) int {
	fleet := &t.checks.fleet
	inWave, most := t.changing(wave), t.checks.progress.waves[wave].Concurrent(fleet.inWave[wave])
	for _, state := range reinstallOrder {
		for i := range fleet.members {
			m := &fleet.members[i]
			if int(fleet.wave[i]) != wave || m.Reinstall != state {
				continue
			}
			waits := reason
			switch {
			case state == ReinstallBegun:
				waits = ""
			case waits != "":
			case t.targets[i].Rendering != m.Target || !m.reachable() || state == ReinstallReported:
				waits = WaitsForTurn // it gets another target first, or cannot be reached, or the manager has to look at it first
			case state == ReinstallSettling: // it still has its turn
			case t.failed:
				waits = WaitsForHealth
			case state == ReinstallKept: // takes no turn; if the obstacle goes away, it is announced, and counts then
			case inWave >= most:
				waits = WaitsForTurn
			case running >= t.limit:
				waits = WaitsForBudget
			default:
				inWave, running = inWave+1, running+1
			}
			t.targets[i].MayReinstall, t.targets[i].ReinstallWaits = waits == "", waits
		}
	}
	return running
}

// changing returns how many members of a wave are being reinstalled, or change otherwise.
func (t *reinstallTurns) changing(wave int) (count int) {
	fleet := &t.checks.fleet
	for i := range fleet.members {
		m := &fleet.members[i]
		if int(fleet.wave[i]) != wave {
			continue
		}
		switch m.Reinstall {
		case ReinstallBegun, ReinstallSettling:
			if t.counts(m) {
				count++
			}
		case NoReinstall:
			if t.targets[i].Rendering != m.Target || !m.fresh() && !m.healthy() && m.reachable() && !t.checks.failed(m) {
				count++
			}
		case ReinstallReported, ReinstallNeeded, ReinstallKept, ReinstallAnnounced:
		}
	}
	return count
}

// holdsOthers reports whether no reinstall may begin in the waves that follow this one. In a rollback, a failed member holds no
// others: they have a version that failed, and have to go back.
func (t *reinstallTurns) holdsOthers(wave int) bool {
	fleet, c := &t.checks.fleet, t.checks
	for i := range fleet.members {
		m := &fleet.members[i]
		switch {
		case int(fleet.wave[i]) != wave || c.skipped(m) || m.healthy() || m.fresh() && m.reachable():
		case !m.reachable():
			if !c.passedOver(m) {
				return true
			}
		case t.isRollback && !m.isRemoved() && m.Reinstall != ReinstallAnnounced && c.failed(m):
		default:
			return true
		}
	}
	return false
}

// TurnsOfUnpaced decides on which members of a wrapper without waves a reinstall may begin: one member after the other, in the
// order of the parameter. The result has one Target for each member, of which only the fields about reinstalls are set.
func TurnsOfUnpaced(members []Member, suspended bool) []Target {
	targets := make([]Target, len(members))
	running, granted := 0, false
	for i := range members {
		if members[i].isRemoved() {
			running++
		}
	}
	for _, state := range reinstallOrder {
		for i := range members {
			if members[i].Reinstall != state {
				continue
			}
			var waits Reason
			switch {
			case state == ReinstallBegun:
			case suspended:
				waits = WaitsForSuspend
			case state == ReinstallKept, state == ReinstallSettling:
			case state == ReinstallReported || running > 0 || granted || !members[i].reachable():
				waits = WaitsForTurn
			default:
				granted = true
			}
			targets[i].MayReinstall, targets[i].ReinstallWaits = waits == "", waits
		}
	}
	return targets
}
