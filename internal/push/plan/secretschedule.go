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
	// resyncInterval is the time between two checks of the same Secret. In a large fleet, resyncGap makes it longer.
	resyncInterval = 10 * time.Minute
	// resyncGap is the shortest time between the checks of any two Secrets of the fleet. It allows ten checks a second.
	resyncGap = 100 * time.Millisecond
)

// Pair is one wrapper on one member.
type Pair struct {
	Member string
	Key    deliveries.Key
}

// Turn is one Secret and the time of its next check.
type Turn struct {
	Pair
	Name string
	due  time.Time
	// version is the resourceVersion of the Secret after the manager's last apply; "" if the manager does not know it, for
	// example after a restart.
	version string
	index   int
}

// SecretSchedule is the order in which the manager checks the Secrets of a fleet. The Secret whose last check is
// longest ago comes first. The zero value has no Secrets.
type SecretSchedule struct {
	mu    sync.Mutex
	queue turns
	at    map[Pair]map[string]*Turn
	// last is the time of the last check. The method Taken sets it.
	last time.Time
}

// Enlist schedules the Secrets with these names for a pair, and removes all other Secrets of the pair. It reports
// whether it added a Secret. A new Secret gets its first turn at a time within the next resyncInterval that depends on
// its name (function offset). Without that, all Secrets of the fleet would have their first turns at once after a
// restart.
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

// remove removes one Secret. The caller holds r.mu.
func (r *SecretSchedule) remove(t *Turn) {
	heap.Remove(&r.queue, t.index)
	if delete(r.at[t.Pair], t.Name); len(r.at[t.Pair]) == 0 {
		delete(r.at, t.Pair)
	}
}

// Next returns the Secret whose turn has come. It also sets the Secret's next turn, one resyncInterval later, whether
// or not the caller checks the Secret. If no turn has come, ok is false, and wait is the time until the next turn; zero
// when the schedule is empty.
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

// Taken records that the caller checks a Secret now. The next turn of any Secret comes at least one resyncGap later.
func (r *SecretSchedule) Taken(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = now
}

// Version returns the resourceVersion of a Secret after the manager's last apply; "" if the manager does not know it.
// As long as no client changes the Secret, it has this resourceVersion.
func (r *SecretSchedule) Version(at Pair, name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.at[at][name]; t != nil {
		return t.version
	}
	return ""
}

// Note records that a Secret has its desired content at this resourceVersion.
func (r *SecretSchedule) Note(at Pair, name, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.at[at][name]; t != nil {
		t.version = version
	}
}

// Len returns the number of scheduled Secrets.
func (r *SecretSchedule) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue)
}

// offset returns the time until the first turn of a new Secret, less than one resyncInterval. It depends only on the
// member, the wrapper and the name, so the first turns are spread evenly.
func offset(at Pair, name string) time.Duration {
	h := fnv.New64a()
	for _, piece := range []string{at.Member, at.Key.String(), name} {
		_, _ = h.Write([]byte(piece)) // a hash's Write never fails
		_, _ = h.Write([]byte{0})
	}
	return time.Duration(h.Sum64() % uint64(resyncInterval)) //nolint:gosec // less than an interval
}

// turns is a heap with the earliest turn on top.
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
	added := x.(*Turn) //nolint:forcetypeassert // only Enlist pushes, and it pushes *Turn
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
