// SPDX-License-Identifier: Apache-2.0

package rolloutstate

import (
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// Memory remembers, for wrappers with a rollout, how long each member has been in its state. The status cannot
// replace this memory: it may lack the line of a member, and it does not record when a progress deadline began. A
// restart of the manager empties the memory. Soak times and deadlines can then only become longer.
type Memory struct {
	mu    sync.Mutex
	byKey map[push.Key]*notes
}

// notes is what Memory has about one wrapper.
type notes struct {
	members map[string]*Observation
	// outdated has the names of the Approvals for which the manager has recorded an event ApprovalOutdated.
	outdated map[string]bool
}

// Observation is the state of a member with its present target.
type Observation struct {
	Target string
	// Settled is true if the member has had the target while a rollout was Complete, or before the first rollout. After a restart it
	// is false until a rollout is Complete, because an unfinished one may have changed the target.
	Settled bool
	State   v1alpha1.ClusterState
	// Since is when the state began.
	Since time.Time
	// LineSince is when the state began according to the member's line in the status. After a restart it tells whether the member was
	// in this state before the last retry.
	LineSince time.Time
	// Retried is when the rollout was last retried; zero if it was not. In the result of Observe, it is the value at the time when the
	// state began, and zero if the state may be older than the retry.
	Retried time.Time
	// ProgressFrom is when the member's progress deadline began.
	ProgressFrom time.Time
	// IsHeldUp is true while the manager does not do what the member needs to become Healthy: its turn to be reinstalled has not come,
	// or is announced, or pushes are suspended. The progress deadline stands still then.
	IsHeldUp bool
	// seen is when the state was observed last.
	seen time.Time
}

// Observe records the present state of a member, and returns it with two times: when the state began, and when the
// member's progress deadline began.
func (r *Memory) Observe(key push.Key, name string, is Observation, now time.Time) Observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.of(key)
	was := known.members[name]
	is.seen = now
	if was == nil {
		is.ProgressFrom, is.Retried = is.Since, is.retriedBeforeLine()
		if is.Since.IsZero() {
			is.Since, is.ProgressFrom = now, now
		}
		known.members[name] = &is
		return is
	}
	next := *was
	if was.IsHeldUp {
		next.ProgressFrom = was.ProgressFrom.Add(now.Sub(was.seen))
	}
	next.IsHeldUp, next.Settled, next.seen = is.IsHeldUp, was.Settled || is.Settled, now
	if was.State != is.State {
		next.State, next.Since, next.Retried = is.State, now, is.Retried
		if was.State == v1alpha1.StateUnknown { // the manager reads the member now, which may have been in this state before the restart
			next.Retried = is.retriedBeforeLine()
		}
		switch {
		case stopsDeadline(was.State):
			next.ProgressFrom = next.ProgressFrom.Add(now.Sub(was.Since))
		case was.State == v1alpha1.StateHealthy:
			next.ProgressFrom = now // the member may have been Healthy until now
		}
	}
	if is.State == v1alpha1.StateHealthy {
		next.ProgressFrom = now
	}
	if was.Target != is.Target { // a new target has a new deadline, even if no reconcile has seen another state than Healthy
		next.Target, next.Settled, next.Since, next.ProgressFrom, next.Retried = is.Target, false, now, now, is.Retried
	}
	*was = next
	return next
}

// retriedBeforeLine returns when the rollout was last retried; zero if the state in the line may have begun before that. The times in
// a status have whole seconds, so a state that began in the second of the retry may have.
func (o *Observation) retriedBeforeLine() time.Time {
	if !o.LineSince.After(o.Retried) {
		return time.Time{}
	}
	return o.Retried
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
func (r *Memory) of(key push.Key) *notes {
	known := r.byKey[key]
	if known == nil {
		if r.byKey == nil {
			r.byKey = make(map[push.Key]*notes)
		}
		known = &notes{members: make(map[string]*Observation), outdated: make(map[string]bool)}
		r.byKey[key] = known
	}
	return known
}

// KeysOf returns the wrappers with a rollout that are placed on a member, or were placed there since the manager
// started.
func (r *Memory) KeysOf(name string) []push.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []push.Key
	for key, known := range r.byKey {
		if known.members[name] != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// IsKnownOutdated reports whether NoteOutdated was called for an Approval.
func (r *Memory) IsKnownOutdated(key push.Key, approval string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of(key).outdated[approval]
}

// NoteOutdated records that an Approval is outdated.
func (r *Memory) NoteOutdated(key push.Key, approval string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(key).outdated[approval] = true
}

// Forget drops what the memory has about a wrapper.
func (r *Memory) Forget(key push.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byKey, key)
}
