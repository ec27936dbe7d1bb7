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
	members map[string]*memberNotes
	// outdated has the names of the Approvals for which the manager has recorded an event ApprovalOutdated.
	outdated map[string]bool
}

// memberNotes is what Memory has about one member.
type memberNotes struct {
	Past
	target   string
	state    v1alpha1.ClusterState
	isHeldUp bool
	// retried is when the rollout was last retried when the state began; zero if the state may be older than the retry.
	retried time.Time
	// seen is when the state was observed last.
	seen time.Time
}

// Observation is the present state of a member.
type Observation struct {
	// Target is the digest of the rendering that the member has to have; "" if it has none, or is Unknown.
	Target string
	// IsProven is true if the target needs no proof: no rollout is under way that could have set it.
	IsProven bool
	State    v1alpha1.ClusterState
	// Since is when the state began, or the present wave if that is later. It counts in the first Observation only.
	Since time.Time
	// LineSince is when the state began according to the member's line in the status. After a restart it tells whether the member was
	// in this state before the last retry.
	LineSince time.Time
	// Retried is when the rollout was last retried; zero if it was not.
	Retried time.Time
	// IsHeldUp is true while the manager does not do what the member needs to become Healthy: its turn to be reinstalled has not come,
	// or is announced, or pushes are suspended. The progress deadline stands still then.
	IsHeldUp bool
}

// Past is how a member came into its present state.
type Past struct {
	// Since is when the state began. For a member out of reach, the time in which it was held up does not count.
	Since time.Time
	// ProgressFrom is when the member's progress deadline began.
	ProgressFrom time.Time
	// Proven is true if the target was proven once since the member has it. A restart forgets that.
	Proven bool
	// BeforeRetry is true if the state began before the last retry, or may have.
	BeforeRetry bool
}

// Observe records the present state of a member, and returns how the member came into it.
func (r *Memory) Observe(key push.Key, name string, is Observation, now time.Time) Past {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.of(key)
	m := known.members[name]
	if m == nil {
		m = is.first(now)
		known.members[name] = m
	} else {
		m.observe(&is, now)
	}
	m.seen, m.isHeldUp = now, is.IsHeldUp
	m.BeforeRetry = !is.Retried.IsZero() && !m.retried.Equal(is.Retried)
	return m.Past
}

// first returns the notes about a member that was not observed before. How long a deadline has stood still is not known then.
func (o *Observation) first(now time.Time) *memberNotes {
	m := &memberNotes{target: o.Target, state: o.State, retried: o.retriedBeforeLine(), Past: Past{Since: o.Since, ProgressFrom: o.Since, Proven: o.IsProven}}
	if o.Since.IsZero() {
		m.Since, m.ProgressFrom = now, now
	}
	if m.stopsDeadline() || o.IsHeldUp {
		m.ProgressFrom = now
	}
	return m
}

func (m *memberNotes) observe(is *Observation, now time.Time) {
	elapsed := now.Sub(m.seen)
	if m.stopsDeadline() || m.isHeldUp {
		m.ProgressFrom = m.ProgressFrom.Add(elapsed)
	}
	if m.isHeldUp && m.state == v1alpha1.StateUnreachable {
		m.Since = m.Since.Add(elapsed)
	}
	m.Proven = m.Proven || is.IsProven
	wasUnread := m.state == v1alpha1.StateUnknown
	if m.state != is.State {
		if m.state == v1alpha1.StateHealthy {
			m.ProgressFrom = now // the member may have been Healthy until now
		}
		m.state, m.Since, m.retried = is.State, now, is.Retried
		if wasUnread { // the member may have been in this state before the restart
			m.retried = is.retriedBeforeLine()
		}
	}
	if is.State == v1alpha1.StateHealthy {
		m.ProgressFrom = now
	}
	if is.State == v1alpha1.StateUnknown || m.target == is.Target {
		return // what an Unknown member has is not known, and does not change by that
	}
	if isFirst := wasUnread && m.target == ""; !isFirst {
		m.Proven, m.retried = false, is.Retried
	}
	// A new target has a new deadline, even if no reconcile has seen another state than Healthy.
	m.target, m.Since, m.ProgressFrom = is.Target, now, now
}

// retriedBeforeLine returns when the rollout was last retried; zero if the state in the line may have begun before that. The times in
// a status have whole seconds, so a state that began in the second of the retry may have.
func (o *Observation) retriedBeforeLine() time.Time {
	if !o.LineSince.After(o.Retried) {
		return time.Time{}
	}
	return o.Retried
}

// stopsDeadline reports whether the member's progress deadline stands still in its state.
func (m *memberNotes) stopsDeadline() bool {
	switch m.state {
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
		known = &notes{members: make(map[string]*memberNotes), outdated: make(map[string]bool)}
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
