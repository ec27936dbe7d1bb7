// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"container/heap"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

const (
	// resyncInterval is the time between two checks of a Secret, if the fleet is small enough for it.
	resyncInterval = 10 * time.Minute
	// resyncGap is the time between two checks, over the whole fleet: ten a second.
	resyncGap = 100 * time.Millisecond
)

// Pair is a pair: one wrapper on one member.
type Pair struct {
	Member string
	Key    deliveries.Key
}

// Turn is one Secret that waits for its next check.
type Turn struct {
	Pair
	Name string
	due  time.Time
	// version is the resourceVersion at which the Secret last had its desired content; "" if that was never known, as
	// after a restart.
	version string
	index   int
}

// SecretSchedule is the order in which the manager checks the Secrets of a fleet: the Secret with the longest time
// since its last check comes first. It has no member and no clock. The zero value has no Secrets, and costs nothing.
type SecretSchedule struct {
	mu    sync.Mutex
	queue turns
	at    map[Pair]map[string]*Turn
	// last is when Next last returned a Secret.
	last time.Time
}

// Enlist schedules exactly these Secrets of a pair. It reports whether one of them is new. The first turn of a new
// Secret comes at a fixed time within the interval that follows. Otherwise all Secrets of a fleet that is listed at
// once would have their turns at once.
func (r *SecretSchedule) Enlist(at Pair, names []string, now time.Time) (news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, t := range r.at[at] {
		if !slices.Contains(names, name) {
			r.remove(t)
		}
	}
	for _, name := range names {
		if r.at[at][name] != nil {
			continue
		}
		t := &Turn{Pair: at, Name: name, due: now.Add(offset(at, name))}
		if r.at == nil {
			r.at = make(map[Pair]map[string]*Turn)
		}
		if r.at[at] == nil {
			r.at[at] = make(map[string]*Turn, len(names))
		}
		r.at[at][name] = t
		heap.Push(&r.queue, t)
		news = true
	}
	return news
}

// Leave removes all Secrets of a member.
func (r *SecretSchedule) Leave(member string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, ofPair := range maps.Clone(r.at) {
		if at.Member != member {
			continue
		}
		for _, t := range ofPair {
			r.remove(t)
		}
	}
}

// remove removes one Secret. r.mu is held.
func (r *SecretSchedule) remove(t *Turn) {
	heap.Remove(&r.queue, t.index)
	if delete(r.at[t.Pair], t.Name); len(r.at[t.Pair]) == 0 {
		delete(r.at, t.Pair)
	}
}

// Next returns the Secret whose turn it is. Its next turn is an interval later, whether or not the caller uses this
// one. While no turn has come, wait is the time until the next one; zero when the schedule is empty.
func (r *SecretSchedule) Next(now time.Time) (is Turn, wait time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return Turn{}, 0, false
	}
	t := r.queue[0]
	if wait = max(t.due.Sub(now), r.last.Add(resyncGap).Sub(now)); wait > 0 {
		return Turn{}, wait, false
	}
	t.due = now.Add(resyncInterval)
	heap.Fix(&r.queue, 0)
	return *t, 0, true
}

// Taken records that a turn was used: the next turn of any Secret comes a gap later.
func (r *SecretSchedule) Taken(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = now
}

// Version is the resourceVersion that a Secret has as long as no client has changed it; "" when that is not known.
func (r *SecretSchedule) Version(at Pair, name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.at[at][name]; t != nil {
		return t.version
	}
	return ""
}

// Note records that a Secret has its desired content at a resourceVersion.
func (r *SecretSchedule) Note(at Pair, name, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.at[at][name]; t != nil {
		t.version = version
	}
}

// Len is the number of Secrets.
func (r *SecretSchedule) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue)
}

// offset is the point of an interval at which the turn of a Secret comes.
func offset(at Pair, name string) time.Duration {
	h := fnv.New64a()
	for _, piece := range []string{at.Member, at.Key.String(), name} {
		_, _ = h.Write([]byte(piece)) // it never fails
		_, _ = h.Write([]byte{0})
	}
	return time.Duration(h.Sum64() % uint64(resyncInterval)) //nolint:gosec // less than an interval
}

// turns is a heap, with the first turn that is due on top.
type turns []*Turn

var _ heap.Interface = &turns{}

func (t turns) Len() int           { return len(t) }
func (t turns) Less(i, j int) bool { return t[i].due.Before(t[j].due) }
func (t turns) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i, j
}

// Push implements heap.Interface.
func (t *turns) Push(x any) {
	added := x.(*Turn) //nolint:forcetypeassert // nothing else is pushed
	added.index = len(*t)
	*t = append(*t, added)
}

// Pop implements heap.Interface.
func (t *turns) Pop() any {
	last := len(*t) - 1
	popped := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return popped
}
