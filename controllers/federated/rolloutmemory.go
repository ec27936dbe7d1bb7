// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push"
)

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
