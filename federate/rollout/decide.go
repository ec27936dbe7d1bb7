// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"strconv"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Input has the inputs of a decision, except for the state.
type Input struct {
	// Revision is the newest revision.
	Revision string
	// Members are the placed members, sorted by name.
	Members []Member
	// Removing is how many members the wrapper is leaving. They use up maxUnavailable and are not held back by it.
	Removing  int
	Approvals Approvals
	// Suspended is spec.suspend: Rollout. No further wave begins.
	Suspended bool
}

// Decision has the target of each member, and the new state of the rollout.
type Decision struct {
	State State
	// Targets are in the order of the members.
	Targets []Target
	// Waits is the reason why no further member changes now; "" when every member is updated and Healthy. Waiting is one of the
	// members that wait for this reason, or "". Both may change with each member, so they are not in State.
	Waits   Reason
	Waiting string
	// SoakUntil is the end of the soak of the current wave; zero when Waits is another reason.
	SoakUntil time.Time
	// Again is when the decision changes although no input does; zero when it does not.
	Again time.Time
}

// Target is the rendering that one member has to have, by its digest, and the revision of that rendering. Both are "" for a fresh
// member that has to wait. Reason is why a member that is not updated waits, or "".
type Target struct {
	Revision, Rendering string
	Reason              Reason
}

// Reason is why a member, or the rollout, waits.
type Reason string

// The reasons, documented with the constants of the API.
const (
	WaitsForWave      Reason = v1alpha1.ReasonWaveHeld
	WaitsForApproval  Reason = v1alpha1.ReasonWaveNeedsApproval
	WaitsForSuspend   Reason = v1alpha1.ReasonSuspended
	WaitsForSoak      Reason = v1alpha1.ReasonWaveSoaking
	WaitsForBudget    Reason = v1alpha1.ReasonMaxUnavailableReached
	WaitsForTurn      Reason = v1alpha1.ReasonMaxConcurrentReached
	WaitsForHealth    Reason = v1alpha1.ReasonNotHealthy
	WaitsForMember    Reason = v1alpha1.ReasonUnreachable
	WaitsAfterFailure Reason = v1alpha1.ReasonRolloutStopped
	WaitsNoRendering  Reason = v1alpha1.ReasonRenderingLost
)

// Decide decides what each member has to have now. The result depends on nothing else: the same arguments give the same decision, and
// a second decision with the returned state and the same members changes nothing. A plan has at most 32,767 waves.
func (p *Plan) Decide(in Input, state State, now time.Time) Decision {
	d := decider{Plan: p, Input: in, now: now, out: Decision{State: state, Targets: make([]Target, len(in.Members))}}
	d.survey()
	d.begin()
	d.noticeFailure()
	d.advance()
	d.noticeSuccess()
	if back := d.out.State.Phase; back == RollingBack || back == RolledBack {
		d.takeBack()
	} else {
		d.update()
	}
	d.explain()
	return d.out
}

// decider makes one decision. It is not used again.
type decider struct {
	*Plan
	Input
	now time.Time
	out Decision

	wave        []int16 // of each member
	inWave      []int   // the number of members of each wave
	current     int     // the index of the current wave; len(waves) when all are passed
	reachable   int
	isNew       bool // the rollout begins with this decision, so it has changed no member
	budget      int  // how many more Healthy or fresh members may begin an update
	unavailable int
}

// survey finds the wave of each member and counts the members that are not Healthy.
func (d *decider) survey() {
	d.wave, d.inWave = make([]int16, len(d.Members)), make([]int, len(d.waves))
	d.unavailable = d.Removing
	for i := range d.Members {
		m := &d.Members[i]
		w := d.waveOf(m.Member)
		d.wave[i] = int16(w) //nolint:gosec // the API allows 16 waves
		d.inWave[w]++
		if m.unavailable() {
			d.unavailable++
		}
		if m.reachable() {
			d.reachable++
		}
	}
	limit, _ := d.Unavailable(len(d.Members))
	d.budget = limit - d.unavailable
}

// begin begins a rollout: for a new revision, for another rendering of the same revision after the rollout was complete, and for a
// retry. A member that is fresh, or that a wave has passed over, begins none: it is updated without a new rollout.
func (d *decider) begin() {
	s := &d.out.State
	retry := s.Failure != nil && d.Approvals.Retry.After(s.RetrySeen)
	outdated := s.Phase == Complete && slices.ContainsFunc(d.Members, func(m Member) bool {
		return m.Revision == s.Revision && !m.updated() && m.reachable() && !d.skipped(&m)
	})
	switch {
	case s.Revision != d.Revision || outdated:
		s.ID = newID(s.ID, d.now)
		s.Retried, s.RetrySeen = time.Time{}, time.Time{}
		d.Approvals, d.isNew = Approvals{}, true // the Approvals name the previous rollout
	case retry:
		s.Retried, s.RetrySeen = d.now, d.Approvals.Retry
	case s.Plan != d.identity && s.Phase == Progressing: // the author edited the waves
		d.enter(0)
		s.Plan = d.identity
		return
	default:
		if d.current = d.indexOf(s.Wave); d.current < 0 {
			d.current = len(d.waves)
		}
		return
	}
	s.Revision, s.Phase, s.Failure, s.Plan = d.Revision, Progressing, nil, d.identity
	d.enter(0)
}

// newID returns an identity that no earlier rollout of this wrapper had: the time in seconds, or one more than the previous.
func newID(previous string, now time.Time) string {
	id := now.Unix()
	if before, err := strconv.ParseInt(previous, 36, 64); err == nil && before >= id {
		id = before + 1
	}
	return strconv.FormatInt(id, 36)
}

// enter makes a wave the current one; len(waves) is the end.
func (d *decider) enter(wave int) {
	d.current = wave
	s := &d.out.State
	s.Wave, s.Begun, s.Since = "", false, d.now
	if wave < len(d.waves) {
		s.Wave = d.waves[wave].Name
	}
}

// noticeFailure acts when more members of a wave failed than the wave allows. A member of a passed wave counts as well: a revision
// that fails after its soak must not go further.
func (d *decider) noticeFailure() {
	s := &d.out.State
	if s.Phase != Progressing { // the revision was Healthy on each member of a complete rollout, so a later failure is the member's own
		return
	}
	for w := range d.waves {
		count, first := 0, -1
		for i := range d.Members {
			m := &d.Members[i]
			if int(d.wave[i]) != w || !m.updated() || d.excused(m) || !d.failed(m) && !d.lost(i) {
				continue
			}
			if count++; first < 0 {
				first = i
			}
		}
		if count <= d.waves[w].MaxFailures {
			continue
		}
		s.Failure = &Failure{
			Revision: s.Revision, Wave: d.waves[w].Name, Member: d.Members[first].Name, Reason: d.Members[first].Reason, Count: count, At: d.now,
		}
		s.RetrySeen = later(s.RetrySeen, d.Approvals.Retry)
		s.Phase = Paused
		if d.onFailure == Rollback {
			if s.Failure.NoGoodRevision = s.LastGood == "" || s.LastGood == s.Revision; !s.Failure.NoGoodRevision {
				s.Phase = RollingBack
			}
		}
		return
	}
}

// excused reports whether a failure of the member does not count.
func (d *decider) excused(m *Member) bool { return d.isNew || m.Unchanged || d.skipped(m) }

func (d *decider) skipped(m *Member) bool { return slices.Contains(d.Approvals.Skip, m.Name) }

// failed reports whether a member has failed with its target.
func (d *decider) failed(m *Member) bool { return m.failed(d.deadline, d.deadlinesFrom(), d.now) }

// deadlinesFrom is the time before which no deadline begins.
func (d *decider) deadlinesFrom() time.Time {
	if s := &d.out.State; s.Failure != nil {
		return s.Failure.At
	}
	return d.out.State.Retried
}

func (d *decider) lookAgain(at time.Time) {
	if at.After(d.now) && (d.out.Again.IsZero() || at.Before(d.out.Again)) {
		d.out.Again = at
	}
}
