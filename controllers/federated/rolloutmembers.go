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

// rolloutMembers describes each placed member to the rollout: its target, and its state with that target.
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
			was = nil // it is about another revision
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

// target is the revision and the rendering that the manager last told a member to have. After a restart it is the target in the
// member's Delivery. The same holds for a member that went out of reach before its Delivery had the new target: the new revision
// cannot be the cause, and the member gets it when it is back.
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

// lineOfTarget is a member's line for the target that it has. The line in the status is for the target that this reconcile
// decides.
func (p *reconciliation) lineOfTarget(name, target string, before *v1alpha1.ClusterStatus, now time.Time) v1alpha1.ClusterStatus {
	m := p.observe(name, false)
	m.Refusal, m.Wait, m.Rendering = report.Refusal{}, report.Wait{}, target
	if seen := p.deliveries.Record(p.key, name).Summary; p.pusher.DesiredState(p.key, name) == nil {
		m.Held = seen != nil && seen.Complete && seen.Rendering == target && seen.Wrapper.UID == p.wrapper.GetUID() &&
			!p.pusher.Result(p.key, name).Unrecorded
	}
	line := report.Line(&m, before, now)
	if line.State == v1alpha1.StateHealthy && m.Judged && isCollectorSilent(p.members[name]) {
		// Only the collector can tell whether these objects are still healthy.
		line = v1alpha1.ClusterStatus{State: v1alpha1.StateUnreachable, Reason: v1alpha1.ReasonNoHeartbeat}
	}
	return line
}

// latest returns the later time. After a restart a line may be older than the wave: it is about an earlier revision then.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func isCollectorSilent(mc *v1alpha1.MemberCluster) bool {
	return meta.IsStatusConditionFalse(mc.Status.Conditions, v1alpha1.ConditionCollectorReady)
}

// good is the digest of a member's rendering of the last good revision; "" when there is none.
func (p *reconciliation) good(ctx context.Context, m *rollout.Member, lastGood string) (string, error) {
	switch lastGood {
	case "":
		return "", nil
	case p.revision:
		return m.Newest, nil
	case m.Revision:
		return m.Target, nil // it has that revision as it was
	}
	digest, err := p.old.Digest(ctx, oldrevisions.IDOf(p.wrapper, lastGood), m.Member)
	if errors.Is(err, oldrevisions.ErrLost) {
		return "", nil
	}
	return digest, err
}

// rolloutMemory has the states over time of the members of paced wrappers. A status has neither a line for each member nor the
// beginning of its deadline. A restart of the manager empties the memory, and that only makes soak times and deadlines longer.
type rolloutMemory struct {
	mu    sync.Mutex
	byKey map[push.Key]*rolloutNotes
}

// rolloutNotes are the notes about one wrapper.
type rolloutNotes struct {
	members map[string]*observation
	// outdated are the names of Approvals that an event has called outdated.
	outdated map[string]bool
}

// observation is the state of a member with its target.
type observation struct {
	target string
	// rollout is the rollout in which the target last changed. After a restart it is the present one: the target may have changed in it.
	rollout string
	state   v1alpha1.ClusterState
	// since is when the state began, progressFrom when the deadline did.
	since, progressFrom time.Time
}

// observe notes the present state of a member. It returns that state with the times when the state and its progress deadline began.
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
			next.progressFrom = now // it was Healthy until now, whenever a reconcile last saw that
		}
	}
	if is.state == v1alpha1.StateHealthy {
		next.progressFrom = now
	}
	if was.target != is.target { // it may be Healthy again before a reconcile sees it otherwise
		next.target, next.rollout, next.since, next.progressFrom = is.target, is.rollout, now, now
	}
	*was = next
	return next
}

// stopsDeadline reports whether the deadline of a member stands still in a state.
func stopsDeadline(s v1alpha1.ClusterState) bool {
	switch s {
	case v1alpha1.StateWaiting, v1alpha1.StateHeld, v1alpha1.StateUnreachable, v1alpha1.StateUnknown:
		return true
	}
	return false
}

// of returns the notes about a wrapper. The caller holds the lock.
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

// keysOf returns the paced wrappers that are placed on a member, or have been placed there since the manager started.
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

// isNewlyOutdated notes that an Approval does not count, and reports whether that was not noted before.
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
