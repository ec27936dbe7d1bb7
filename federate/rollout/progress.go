// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"strconv"
	"time"
)

// progress is the State while a decision changes it.
type progress struct {
	State
	waves   []compiledWave
	now     time.Time
	current int // the index of the current wave; len(waves) when all waves have passed
}

// begin starts a new rollout in three cases: the revision is new; the rollout is complete and a member's rendering of
// the same revision has changed; or a person approved a retry. It starts none for a fresh member, and for a member that
// a wave has passed over: the manager updates such a member within the present rollout. isNew is true in the first two
// cases: the rollout has not changed any member yet, and has no Approvals.
func (p *progress) begin(plan *Plan, in *Input) (isNew bool) {
	retry := p.Failure != nil && in.Approvals.Retry.After(p.RetrySeen)
	outdated := p.Phase == Complete && slices.ContainsFunc(in.Members, func(m Member) bool {
		return m.Revision == p.Revision && !m.updated() && m.reachable() && !slices.Contains(in.Approvals.Skip, m.Name)
	})
	switch {
	case p.Revision != in.Revision || outdated:
		p.ID = newID(p.ID, p.now)
		p.Retried, p.RetrySeen = time.Time{}, time.Time{}
		isNew = true
	case retry:
		p.Retried, p.RetrySeen = p.now, in.Approvals.Retry
	case p.Plan != plan.identity && p.Phase == Progressing: // the author edited the waves
		p.enter(0)
		p.Plan = plan.identity
		return false
	default:
		if p.current = plan.indexOf(p.Wave); p.current < 0 {
			p.current = len(p.waves)
		}
		return false
	}
	p.Revision, p.Phase, p.Failure, p.Plan = in.Revision, Progressing, nil, plan.identity
	p.enter(0)
	return isNew
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
func (p *progress) enter(wave int) {
	p.current = wave
	p.Wave, p.Begun, p.Since = "", false, p.now
	if wave < len(p.waves) {
		p.Wave = p.waves[wave].Name
	}
}

// fail records a failure, and sets the phase by the action on failure. retry is the creation time of the newest Approval
// of a retry. That Approval is older than the failure, so fail records it as seen, and it does not start a retry.
func (p *progress) fail(failure *Failure, action FailureAction, retry time.Time) {
	p.Failure, p.Phase = failure, Paused
	p.RetrySeen = later(p.RetrySeen, retry)
	if action == Rollback {
		if failure.NoGoodRevision = p.LastGood == "" || p.LastGood == p.Revision; !failure.NoGoodRevision {
			p.Phase = RollingBack
		}
	}
}

// deadlinesFrom returns the time before which no progress deadline begins: the time of the failure, or the last retry
// if there is no failure.
func (p *progress) deadlinesFrom() time.Time {
	if p.Failure != nil {
		return p.Failure.At
	}
	return p.Retried
}
