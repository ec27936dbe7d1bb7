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

// begin starts a new rollout in three cases: the revision is new; the rendering of the same revision has changed for a member whose
// wave has passed; or the author edited the waves before all of them had passed, so an Approval was given for other members. isNew is
// true then: the rollout has an id of its own, and no Approvals. begin starts the same rollout again if a person approved a retry. It
// starts none for a fresh member, and for a member that a wave has passed over with an earlier revision: the manager updates such
// a member within the present rollout. waveOf has the index of the wave of each member.
func (p *progress) begin(plan *Plan, in *Input, waveOf []int16) (isNew bool) {
	if p.current = plan.indexOf(p.Wave); p.current < 0 {
		p.current = len(p.waves)
	}
	retry := p.Failure != nil && in.Approvals.Retry.After(p.RetrySeen)
	edited := (p.Phase == Progressing || retry) && p.Plan != plan.identity
	isNew = p.Revision != in.Revision || edited || p.isOutdated(in, waveOf)
	if !isNew && !retry {
		return false
	}
	if isNew {
		p.ID = newID(p.ID, p.now)
	}
	switch {
	case p.Revision != in.Revision:
		p.Retried, p.RetrySeen = time.Time{}, time.Time{}
	case retry:
		p.Retried, p.RetrySeen = p.now, in.Approvals.Retry
	}
	p.Revision, p.Phase, p.Failure, p.Plan = in.Revision, Progressing, nil, plan.identity
	p.enter(0)
	return isNew
}

// isOutdated reports whether a member of a passed wave has the revision of this rollout, and would get another rendering of it now.
// That is a change like any other: it begins with the first wave. A rendering that the manager cannot make changes nothing.
func (p *progress) isOutdated(in *Input, waveOf []int16) bool {
	if p.Phase != Progressing && p.Phase != Complete {
		return false
	}
	for i := range in.Members {
		m := &in.Members[i]
		isOther := m.Revision == p.Revision && m.Newest != "" && m.Target != m.Newest
		if isOther && int(waveOf[i]) < p.current && m.reachable() && !slices.Contains(in.Approvals.Skip, m.Name) {
			return true
		}
	}
	return false
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
