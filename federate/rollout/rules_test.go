// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// violation returns the rule that a decision breaks; "" if it breaks none.
func violation(p *Plan, before State, in Input, d Decision) string {
	unavailable, costly, moved, atRest := in.Removing, 0, 0, true
	for i := range in.Members {
		m, target := &in.Members[i], d.Targets[i]
		if m.unavailable() {
			unavailable++
		}
		atRest = atRest && m.updated() && m.healthy()
		if target.Rendering == m.Target {
			continue
		}
		moved++
		if m.fresh() || m.healthy() {
			costly++
		}
		switch wave := p.waveOf(m.Member); {
		case !m.reachable():
			return m.Name + " is not reachable and gets another target"
		case target.Rendering == m.Newest && target.Revision == in.Revision:
			if current := p.indexOf(d.State.Wave); d.State.Phase == Progressing && current >= 0 && wave > current {
				return m.Name + " is updated before its wave"
			}
			if d.State.Phase == Paused || d.State.Phase == RollingBack && m.Newest != m.Good {
				return m.Name + " is updated after a failure"
			}
			if current := p.indexOf(d.State.Wave); m.Revision == in.Revision && before.ID == d.State.ID && (current < 0 || wave < current) {
				return m.Name + " gets another rendering of the same revision, although its wave has passed"
			}
			if p.waves[wave].Manual && before.Wave == p.waves[wave].Name && !before.Begun && before.ID == d.State.ID &&
				d.State.Phase == Progressing && len(in.Approvals.Waves) == 0 {
				return m.Name + " is updated without the approval"
			}
		case target.Rendering == m.Good && target.Revision == before.LastGood:
			if !m.fresh() && d.State.Phase != RollingBack && d.State.Phase != RolledBack {
				return m.Name + " goes back without a failure"
			}
		default:
			return m.Name + " gets a rendering that is neither the newest nor the last good one"
		}
	}
	budget := amountOf(p.maxUnavailable, len(in.Members))
	if budget < math.MaxInt32 && costly > max(0, budget-unavailable) {
		return fmt.Sprintf("%d updates start while %d are unavailable, and %d may be", costly, unavailable, budget)
	}
	if moved == 0 && !atRest && d.Waits == "" {
		return "nothing happens, and no reason is given"
	}
	for _, problem := range []string{wronglyFailed(p, before, in, d), wronglyGood(before, in, d), tooManyAtATime(p, in, d), wronglyTakenBack(p, in, d), wronglyReinstalled(p, in, d, budget)} {
		if problem != "" {
			return problem
		}
	}
	if in.AllSuspended && before.ID == d.State.ID && before.Phase == Progressing && (d.State.Phase != Progressing || d.State.Wave != before.Wave) {
		return "a wave passes or fails while all is suspended"
	}
	return wronglyPassed(p, before, in, d)
}

// wronglyFailed returns a message if a decision fails the rollout for a member that no rollout under way has changed, or that is neither Stalled
// nor past its deadline; "" if it does not.
func wronglyFailed(p *Plan, before State, in Input, d Decision) string {
	if d.State.Failure == nil || before.Failure != nil && before.ID == d.State.ID && before.Failure.At.Equal(d.State.Failure.At) {
		return ""
	}
	for i := range in.Members {
		m := &in.Members[i]
		late := epoch.Sub(m.ProgressFrom) >= p.deadline || !m.reachable() && epoch.Sub(m.Since) >= p.deadline
		if m.Name == d.State.Failure.Member && (m.Proven || m.State != v1alpha1.StateStalled && !late) {
			return fmt.Sprintf("the rollout fails because of %s, which is %s and proven: %t", m.Name, m.State, m.Proven)
		}
	}
	return ""
}

// wronglyGood returns a message if a decision calls a revision good that is not Healthy on every member that the manager can reach, or
// before the manager has read all members; "" if it does not.
func wronglyGood(before State, in Input, d Decision) string {
	if d.State.LastGood == before.LastGood {
		return ""
	}
	for i := range in.Members {
		if m := &in.Members[i]; m.unread() || m.reachable() && (!m.updated() || !m.healthy()) {
			return fmt.Sprintf("%s is called good although %s is %s with %q", d.State.LastGood, m.Name, m.State, m.Target)
		}
	}
	return ""
}

// deadlinesFrom returns the time before which no progress deadline begins.
func deadlinesFrom(d Decision) time.Time {
	if d.State.Failure != nil {
		return d.State.Failure.At
	}
	return d.State.Retried
}

// tooManyAtATime returns a message if a decision exceeds maxConcurrent of a wave; "" if it does not. Members that change already may be
// more, because the author may have lowered maxConcurrent, or a member may have fallen ill.
func tooManyAtATime(p *Plan, in Input, d Decision) string {
	type count struct{ members, begin, changing, reinstalled, removed int }
	counts := make([]count, len(p.waves))
	for i := range in.Members {
		m, target := &in.Members[i], d.Targets[i]
		c := &counts[p.waveOf(m.Member)]
		c.members++
		goal := m.Newest
		if d.State.Phase == RollingBack {
			goal = m.Good
		}
		switch {
		case target.Rendering != m.Target && target.Rendering == goal:
			c.begin++
		case m.Target == goal && !m.healthy() && m.reachable() && !m.failed(p.deadline, deadlinesFrom(d), epoch):
			c.changing++
		}
		if m.isRemoved() {
			c.removed++
		}
		if m.isRemoved() || target.MayReinstall && m.Reinstall != ReinstallKept { // one that is kept is announced first, and counts then
			c.reinstalled++
		}
	}
	for w, c := range counts {
		switch most := p.waves[w].Concurrent(c.members); {
		case c.begin > max(0, most-c.changing):
			return fmt.Sprintf("%d members of wave %s begin to change while %d change, and %d may", c.begin, p.waves[w].Name, c.changing, most)
		case c.reinstalled > max(most, c.removed):
			return fmt.Sprintf("%d members of wave %s are reinstalled at the same time, and %d may be", c.reinstalled, p.waves[w].Name, most)
		}
	}
	return ""
}

// wronglyTakenBack returns a message if a member goes back in a rollback before a member of a later wave is back; "" if none does.
func wronglyTakenBack(p *Plan, in Input, d Decision) string {
	if d.State.Phase != RollingBack {
		return ""
	}
	latest, first := -1, "" // the latest wave with a member that is not back, and its first such member
	for i := range in.Members {
		m := &in.Members[i]
		// A member that had the last good revision before the failure is not taken back.
		isBack := m.Target == m.Good && (m.healthy() || m.waits() || m.failed(p.deadline, deadlinesFrom(d), epoch) ||
			m.Reinstall == NoReinstall && m.ProgressFrom.Before(d.State.Failure.At))
		if wave := p.waveOf(m.Member); wave > latest && m.Good != "" && !isBack && (m.reachable() || m.unread()) {
			latest, first = wave, m.Name
		}
	}
	for i := range in.Members {
		if m := &in.Members[i]; d.Targets[i].Rendering != m.Target && p.waveOf(m.Member) < latest {
			return m.Name + " goes back before " + first + ", whose wave is later"
		}
	}
	return ""
}

// wronglyReinstalled returns the rule about reinstalls that a decision breaks; "" if it breaks none.
func wronglyReinstalled(p *Plan, in Input, d Decision, budget int) string {
	back, running, begun := d.State.Phase == RollingBack || d.State.Phase == RolledBack, 0, 0
	failed := "" // a member whose reinstalled operator has failed
	for i := range in.Members {
		if m := &in.Members[i]; m.isRemoved() && m.failed(p.deadline, deadlinesFrom(d), epoch) {
			failed = m.Name
		}
	}
	for i := range in.Members {
		m, target := &in.Members[i], d.Targets[i]
		switch {
		case m.Reinstall == NoReinstall && (target.MayReinstall || target.ReinstallWaits != ""):
			return m.Name + " needs no reinstall and gets a decision about one"
		case m.Reinstall != NoReinstall && target.MayReinstall == (target.ReinstallWaits != ""):
			return m.Name + " may be reinstalled and has a reason why not, or has neither"
		case m.Reinstall == ReinstallBegun && !target.MayReinstall:
			return m.Name + " must finish its reinstall"
		}
		if m.isRemoved() && !target.MayReinstall {
			running, begun = running+1, begun+1 // it may be unreachable, and has not given its turn back
		}
		if !target.MayReinstall {
			continue
		}
		running++
		if m.isRemoved() {
			begun++
			continue
		}
		if m.Reinstall == ReinstallKept {
			running-- // takes no turn; it is announced first, and counts then
		}
		if failed != "" {
			return m.Name + " is reinstalled although " + failed + " is not Healthy after its reinstall"
		}
		if d.State.Phase == Paused {
			return m.Name + " is reinstalled after a failure"
		}
		if target.Rendering != m.Target {
			return m.Name + " is reinstalled for a target that it is about to lose"
		}
		wave := p.waveOf(m.Member)
		for j := range in.Members {
			o := &in.Members[j]
			other := p.waveOf(o.Member)
			first := other < wave && !back || other > wave && back
			if first && o.reachable() && (o.isRemoved() || o.Reinstall == ReinstallAnnounced || !back && !o.healthy()) {
				return m.Name + " is reinstalled before " + o.Name + ", whose wave comes first"
			}
		}
	}
	if running > max(budget, begun) {
		return fmt.Sprintf("%d members are reinstalled at the same time, and %d may be", running, budget)
	}
	return ""
}

// wronglyPassed looks at the waves that this decision has passed. If one of them was not done, it returns a message about a member that
// shows it; "" if all of them were done.
func wronglyPassed(p *Plan, before State, in Input, d Decision) string {
	from, to := p.indexOf(before.Wave), p.indexOf(d.State.Wave)
	if before.ID != d.State.ID || before.Phase != Progressing { // a new rollout, or a retry, begins with the first wave
		from = 0
	}
	switch {
	case d.State.Phase == Complete && (before.ID != d.State.ID || before.Phase != Complete):
		to = len(p.waves)
	case d.State.Phase != Progressing:
		return ""
	}
	for i := range in.Members {
		m := &in.Members[i]
		wave := p.waveOf(m.Member)
		if from < 0 || wave < from || wave >= to {
			continue
		}
		age := epoch.Sub(m.Since)
		switch {
		case m.updated() && m.healthy() && age >= p.waves[wave].Soak:
		case m.updated() && m.Proven: // all waves have passed with it before
		case !m.reachable() && age >= p.deadline:
		case m.updated() && p.waves[wave].MaxFailures > 0 && m.failed(p.deadline, d.State.Retried, epoch):
		default:
			return fmt.Sprintf("wave %d is passed although %s is %s since %s with %q", wave, m.Name, m.State, age, m.Target)
		}
	}
	return ""
}
