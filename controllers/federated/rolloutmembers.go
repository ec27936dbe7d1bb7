// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/internal/oldrevisions"
	"github.com/fairlead-dev/fairlead/internal/push"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// rolloutMembers returns the placed members as the input of package rollout: for each member the target that the
// manager set last, and the state of the member with that target.
func (p *reconciliation) rolloutMembers(ctx context.Context, state *rollout.State, mayRollBack bool, now time.Time) ([]rollout.Member, error) {
	before := make(map[string]*v1alpha1.ClusterStatus)
	for i, lines := 0, p.wrapper.WrapperStatus().Clusters; i < len(lines); i++ {
		before[lines[i].Name] = &lines[i]
	}
	members := make([]rollout.Member, 0, len(p.decision.Status.Clusters))
	for _, name := range p.decision.Status.Clusters {
		m := rollout.Member{Member: selection.Member{Name: name, Labels: p.members[name].Labels}}
		if newest := p.desired[name]; newest != nil {
			m.Newest = newest.Rendering.Digest()
		}
		m.Revision, m.Target = p.target(name)
		was := before[name]
		if was != nil && was.Revision != m.Revision {
			was = nil // the line describes another revision
		}
		line := p.lineOfTarget(name, m.Target, was, now)
		m.State, m.Reason = line.State, line.Reason
		seen := p.rollouts.observe(p.key, name, observation{target: m.Target, rollout: state.ID, state: line.State,
			since: latest(line.LastTransitionTime.Time, state.Since)}, now)
		m.Since, m.ProgressFrom, m.Unchanged = seen.since, seen.progressFrom, seen.rollout != state.ID
		if mayRollBack || m.Target == "" || state.Phase == rollout.RollingBack || state.Phase == rollout.RolledBack {
			var err error
			if m.Good, err = p.good(ctx, &m, state.LastGood); err != nil {
				return nil, err
			}
		}
		members = append(members, m)
	}
	return members, nil
}

// target returns the member's present target: a revision, and the digest of its rendering. Usually that is the desired
// state that the manager set last. In two cases it is what the member's Delivery records:
//   - after a restart, because the manager then has no desired state in memory;
//   - if the member became unreachable before its Delivery recorded the new target. The new revision did not reach the
//     member, so it cannot have made the member unreachable. The member gets the new revision when it answers again.
func (p *reconciliation) target(name string) (revision, rendering string) {
	record := p.deliveries.Record(p.key, name)
	if desired := p.pusher.DesiredState(p.key, name); desired != nil && !desired.Leaving() && desired.Wrapper.UID == p.wrapper.GetUID() &&
		(desired.IsRecordedBy(record.Summary) || p.reachability(name, record).Usable) {
		return desired.Revision, desired.Digest()
	}
	if seen := record.Summary; seen != nil && seen.Wrapper.UID == p.wrapper.GetUID() {
		return seen.Revision, seen.Rendering
	}
	return "", ""
}

// lineOfTarget returns the status line that a member would have for its present target. publish writes another line to
// the status: that line describes the target that this reconcile sets.
func (p *reconciliation) lineOfTarget(name, target string, before *v1alpha1.ClusterStatus, now time.Time) v1alpha1.ClusterStatus {
	m := p.observe(name, false)
	m.Refusal, m.Wait, m.Rendering = report.Refusal{}, report.Wait{}, target
	if seen := p.deliveries.Record(p.key, name).Summary; p.pusher.DesiredState(p.key, name) == nil {
		m.Held = seen != nil && seen.Complete && seen.Rendering == target && seen.Wrapper.UID == p.wrapper.GetUID() &&
			!p.pusher.Result(p.key, name).Unrecorded
	}
	line := report.Line(&m, before, now)
	if line.State == v1alpha1.StateHealthy && m.Judged && isCollectorSilent(p.members[name]) {
		// Only the collector can tell whether these objects are still healthy, and it has stopped writing heartbeats.
		line = v1alpha1.ClusterStatus{State: v1alpha1.StateUnreachable, Reason: v1alpha1.ReasonNoHeartbeat}
	}
	return line
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func isCollectorSilent(mc *v1alpha1.MemberCluster) bool {
	return meta.IsStatusConditionFalse(mc.Status.Conditions, v1alpha1.ConditionCollectorReady)
}

// good returns the digest of the last good revision, rendered for a member. It returns "" if no revision is known to be
// good, or if the manager cannot render that revision.
func (p *reconciliation) good(ctx context.Context, m *rollout.Member, lastGood string) (string, error) {
	switch lastGood {
	case "":
		return "", nil
	case p.revision:
		return m.Newest, nil
	case m.Revision:
		return m.Target, nil // the member has that revision now
	}
	digest, err := p.old.Digest(ctx, oldrevisions.IDOf(p.wrapper, lastGood), m.Member)
	if errors.Is(err, oldrevisions.ErrLost) {
		return "", nil
	}
	return digest, err
}

// rolloutMemory remembers, for wrappers with a rollout, how long each member has been in its state. The status cannot
// replace this memory: it may lack the line of a member, and it does not record when a progress deadline began. A
// restart of the manager empties the memory. Soak times and deadlines can then only become longer.
type rolloutMemory struct {
	mu    sync.Mutex
	byKey map[push.Key]*rolloutNotes
}

// rolloutNotes is what rolloutMemory has about one wrapper.
type rolloutNotes struct {
	members map[string]*observation
	// outdated has the names of the Approvals for which the manager has recorded an event ApprovalOutdated.
	outdated map[string]bool
}

// observation is the state of a member with its present target.
type observation struct {
	target string
	// rollout is the id of the rollout in which the target last changed. In the first observation after a restart it is
	// the present rollout, because the target may have changed in that one.
	rollout string
	state   v1alpha1.ClusterState
	// since is when the state began.
	since time.Time
	// progressFrom is when the member's progress deadline began.
	progressFrom time.Time
}

// observe records the present state of a member, and returns it with two times: when the state began, and when the
// member's progress deadline began.
func (r *rolloutMemory) observe(key push.Key, name string, is observation, now time.Time) observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	notes := r.of(key)
	was := notes.members[name]
	if was == nil {
		is.progressFrom = is.since
		if is.since.IsZero() {
			is.since, is.progressFrom = now, now
		}
		notes.members[name] = &is
		return is
	}
	next := *was
	if was.state != is.state {
		next.state, next.since = is.state, now
		switch {
		case stopsDeadline(was.state):
			next.progressFrom = was.progressFrom.Add(now.Sub(was.since))
		case was.state == v1alpha1.StateHealthy:
			next.progressFrom = now // the member may have been Healthy until now
		}
	}
	if is.state == v1alpha1.StateHealthy {
		next.progressFrom = now
	}
	if was.target != is.target { // a new target has a new deadline, even if no reconcile has seen another state than Healthy
		next.target, next.rollout, next.since, next.progressFrom = is.target, is.rollout, now, now
	}
	*was = next
	return next
}

// stopsDeadline reports whether a member's progress deadline stands still while the member is in the state s.
func stopsDeadline(s v1alpha1.ClusterState) bool {
	switch s {
	case v1alpha1.StateWaiting, v1alpha1.StateHeld, v1alpha1.StateUnreachable, v1alpha1.StateUnknown:
		return true
	}
	return false
}

// of returns the notes about a wrapper, and makes empty notes if there are none. The caller holds the lock.
func (r *rolloutMemory) of(key push.Key) *rolloutNotes {
	notes := r.byKey[key]
	if notes == nil {
		if r.byKey == nil {
			r.byKey = make(map[push.Key]*rolloutNotes)
		}
		notes = &rolloutNotes{members: make(map[string]*observation), outdated: make(map[string]bool)}
		r.byKey[key] = notes
	}
	return notes
}

// keysOf returns the wrappers with a rollout that are placed on a member, or were placed there since the manager
// started.
func (r *rolloutMemory) keysOf(name string) []push.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []push.Key
	for key, notes := range r.byKey {
		if notes.members[name] != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// isNewlyOutdated records that an Approval is outdated. It reports true at the first call for that Approval.
func (r *rolloutMemory) isNewlyOutdated(key push.Key, approval string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	notes := r.of(key)
	was := notes.outdated[approval]
	notes.outdated[approval] = true
	return !was
}

func (r *rolloutMemory) forget(key push.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byKey, key)
}
