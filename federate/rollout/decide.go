// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"strconv"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Input has all inputs of a decision except the State of the rollout and the time.
type Input struct {
	// Revision is the name of the newest revision.
	Revision string
	// Members are the placed members, sorted by name.
	Members []Member
	// Removing is the number of members that the wrapper is leaving. They count towards maxUnavailable, but
	// maxUnavailable does not delay their removal.
	Removing int
	// Approvals are the Approvals of the present rollout.
	Approvals Approvals
	// Suspended is true if spec.suspend is Rollout or All. Then no further wave begins.
	Suspended bool
}

// Decision is the result of Decide: what each member has to have now, and the new State of the rollout.
type Decision struct {
	State State
	// Targets has one Target for each member, in the order of Input.Members.
	Targets []Target
	// Waits is why no further member changes now; "" if every member is updated and Healthy. It is not part of State,
	// because it may change with each member.
	Waits Reason
	// Waiting is the name of one member to which Waits applies; "" if it applies to none in particular.
	Waiting string
	// SoakUntil is when the soak of the current wave ends; zero if Waits is not WaitsForSoak.
	SoakUntil time.Time
	// Again is when the decision may change without an event; zero if only an event can change it.
	Again time.Time
}

// Target is the revision and the rendering that one member has to have now.
type Target struct {
	// Revision is the name of the revision; "" for a fresh member that has to wait.
	// Rendering is the digest of the member's rendering of this revision; "" for a fresh member that has to wait.
	Revision, Rendering string
	// Reason is why a member that is not updated has to wait; "" if the member need not wait.
	Reason Reason
}

// Reason is why a member or the whole rollout waits.
type Reason string

// The reasons why a member or the rollout waits. Package v1alpha1 explains each of them at its constant.
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

// Decide decides what each member has to have now. It is a pure function: the same arguments give the same decision. A
// second call with the returned State and the same members changes nothing. A plan may have at most 32,767 waves.
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

// decider holds the intermediate results of one call of Decide.
type decider struct {
	*Plan
	Input
	now time.Time
	out Decision

	wave        []int16 // the index of the wave of each member
	inWave      []int   // the number of members of each wave
	current     int     // the index of the current wave; len(waves) when all waves have passed
	reachable   int
	isNew       bool // this decision begins the rollout, so the rollout has not changed any member yet
	budget      int  // how many more Healthy or fresh members may begin an update
	unavailable int
}

// survey finds the wave of each member, counts the members that are not Healthy, and computes the budget.
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

// begin starts a new rollout in three cases: the revision is new; the rollout is complete and a member's rendering of
// the same revision has changed; or a person approved a retry. It starts none for a fresh member, and for a member that
// a wave has passed over: the manager updates such a member within the present rollout.
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
		d.Approvals, d.isNew = Approvals{}, true // the given Approvals name the previous rollout
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

// newID returns an id that no earlier rollout of this wrapper had: the present time in seconds, in base 36. If that is
// not greater than the previous id, newID returns the previous id plus one.
func newID(previous string, now time.Time) string {
	id := now.Unix()
	if before, err := strconv.ParseInt(previous, 36, 64); err == nil && before >= id {
		id = before + 1
	}
	return strconv.FormatInt(id, 36)
}

// enter makes wave the current wave. The index len(waves) means that all waves have passed.
func (d *decider) enter(wave int) {
	d.current = wave
	s := &d.out.State
	s.Wave, s.Begun, s.Since = "", false, d.now
	if wave < len(d.waves) {
		s.Wave = d.waves[wave].Name
	}
}

// noticeFailure records a failure when more members of a wave have failed than the wave's MaxFailures. It also looks at
// passed waves, because a revision that fails after the soak must not reach the later waves.
func (d *decider) noticeFailure() {
	s := &d.out.State
	// Complete: all waves have passed, so the revision is probably not the cause of a later failure. In the other phases a failure is
	// recorded already.
	if s.Phase != Progressing {
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

// excused reports whether a failure of the member does not count: the rollout has not changed the member, or a person
// skipped it.
func (d *decider) excused(m *Member) bool { return d.isNew || m.Unchanged || d.skipped(m) }

func (d *decider) skipped(m *Member) bool { return slices.Contains(d.Approvals.Skip, m.Name) }

// failed reports whether a member is Stalled, or not Healthy at its progress deadline.
func (d *decider) failed(m *Member) bool { return m.failed(d.deadline, d.deadlinesFrom(), d.now) }

// deadlinesFrom returns the time before which no progress deadline begins: the time of the failure, or the last retry
// if there is no failure.
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
