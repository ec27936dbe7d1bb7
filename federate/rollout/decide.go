// SPDX-License-Identifier: Apache-2.0

package rollout

import (
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
	// AllSuspended is true if spec.suspend is All. Then the manager writes nothing to the members, not even what a member needs to become
	// Healthy. So no member fails, and no wave passes.
	AllSuspended bool
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
	// MayReinstall is true if a reinstall of an operator may begin on the member now. ReinstallWaits is why it may not; "" if the
	// member needs none.
	MayReinstall   bool
	ReinstallWaits Reason
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
	WaitsForPlacement Reason = v1alpha1.ReasonNoClusterMatches
)

// Decide decides what each member has to have now. It is a pure function: the same arguments give the same decision. A
// second call with the returned State and the same members changes nothing. A plan may have at most 32,767 waves.
func (p *Plan) Decide(in Input, state State, now time.Time) Decision {
	checks := memberChecks{fleet: survey(p, in.Members), progress: progress{State: state, waves: p.waves, now: now}, timer: timer{now: now},
		deadline: p.deadline}
	at := &checks.progress
	if isNew := at.begin(p, &in, checks.fleet.wave); isNew {
		in.Approvals = Approvals{} // the given Approvals name the previous rollout
	}
	checks.skip, checks.isRetry = in.Approvals.Skip, !at.Retried.IsZero() && !at.Retried.Equal(state.Retried)
	waves := passage{approved: in.Approvals.Waves, suspended: in.Suspended}
	if !in.AllSuspended {
		if failure := checks.firstFailure(); failure != nil {
			at.fail(failure, p.onFailure, in.Approvals.Retry)
		}
		waves.advance(&checks)
	}
	if checks.isSuccess() {
		at.LastGood = at.Revision
	}
	targets := make([]Target, len(in.Members))
	limit, _ := p.Unavailable(len(in.Members))
	budget := limit - in.Removing - checks.fleet.unavailable
	if at.Phase == RollingBack || at.Phase == RolledBack {
		back := rollback{pace: newPace(&checks, budget, good, false), lastGood: at.LastGood, targets: targets}
		at.Phase = back.run(&checks)
		at.Wave, at.Begun = "", false
		turns := reinstallTurns{checks: &checks, limit: limit, isRollback: true, suspended: in.Suspended, targets: targets}
		turns.run()
	} else {
		gates := openGates(at, in.Approvals.Waves, in.Suspended || len(in.Members) == 0)
		forward := update{fleet: checks.fleet, pace: newPace(&checks, budget, newest, true), gates: gates,
			revision: in.Revision, lastGood: at.LastGood, targets: targets}
		forward.run()
		turns := reinstallTurns{checks: &checks, limit: limit, gates: gates, suspended: in.Suspended, targets: targets}
		turns.run()
	}
	checks.awaitDeadlines()
	out := Decision{State: at.State, Targets: targets, SoakUntil: waves.soakUntil, Again: checks.timer.again}
	if out.Waits = WaitsForSoak; out.SoakUntil.IsZero() {
		out.Waits, out.Waiting = waits(in.Members, targets, at.Failure)
	}
	switch {
	case at.Phase != Progressing:
	case len(in.Members) == 0:
		out.Waits, out.Waiting = WaitsForPlacement, ""
	case in.AllSuspended:
		out.Waits, out.Waiting = WaitsForSuspend, ""
	}
	return out
}

// newest is the rendering that an update brings to a member. good is the one that a rollback brings to it.
func newest(m *Member) string { return m.Newest }
func good(m *Member) string   { return m.Good }

// timer finds out when a decision may change without an event.
type timer struct {
	now time.Time
	// again is the earliest such time; zero if there is none.
	again time.Time
}

// has reports whether the time at has come. If not, it remembers at, because the decision may change then.
func (t *timer) has(at time.Time) bool {
	if !t.now.Before(at) {
		return true
	}
	if t.again.IsZero() || at.Before(t.again) {
		t.again = at
	}
	return false
}
