// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"maps"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// maxKept is how many kept objects of one pair are remembered until TakeKept returns them.
const maxKept = 64

// keptObjects are the objects that passes kept on members and that no event has reported yet. The zero value has
// none.
type keptObjects struct {
	mu  sync.Mutex
	all map[Key]map[string][]Kept // by wrapper and member
}

// note stores the objects that passes of a pair kept on a member, until take returns them.
func (k *keptObjects) note(key Key, memberName string, kept []Kept) {
	if len(kept) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = make(map[Key]map[string][]Kept)
	}
	if k.all[key] == nil {
		k.all[key] = make(map[string][]Kept)
	}
	all := k.all[key][memberName]
	for _, one := range kept {
		// If a pass could not record that it kept an object, the next pass reports it again.
		if len(all) < maxKept && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	k.all[key][memberName] = all
}

// members are the members on which passes of a wrapper kept objects.
func (k *keptObjects) members(key Key) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Keys(k.all[key]))
}

// take returns the objects that passes of a pair kept, and forgets them.
func (k *keptObjects) take(key Key, memberName string) []Kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept := k.all[key][memberName]
	delete(k.all[key], memberName)
	if len(k.all[key]) == 0 {
		delete(k.all, key)
	}
	return kept
}

// noteKept stores the objects that a pass kept. It runs before the queue records the outcome of the pass. An outcome that
// is done may end the wrapper, and then the controller never calls TakeKept for it again.
func (q *memberQueue) noteKept(ctx context.Context, key Key, kept []Kept) {
	for _, one := range kept {
		log.FromContext(ctx).Info("kept on a member", "member", q.conn.Name(), "wrapper", key.String(), "object", one.Object, "why", one.Why)
	}
	q.pusher.kept.note(key, q.conn.Name(), kept)
}

// TakeKept returns the objects that passes of a wrapper kept since its last call, by member. It returns those of a
// member only when no more passes are under way there: the event recorder folds events about one member in quick
// succession into the first.
func (p *Pusher) TakeKept(key Key) map[string][]Kept {
	names := p.kept.members(key)
	taken := make(map[string][]Kept, len(names))
	for _, name := range names {
		if !p.isAtRest(key, name) {
			continue
		}
		if kept := p.kept.take(key, name); len(kept) > 0 {
			taken[name] = kept
		}
	}
	return taken
}

// isAtRest reports whether the last pass of a pair did everything, or the pair has no desired state any more.
func (p *Pusher) isAtRest(key Key, memberName string) bool {
	if p.desired.get(key, memberName) == nil {
		return true
	}
	result := p.Result(key, memberName)
	return result.IsHeld(p.deliveries.Record(key, memberName).Summary) || result.Outcome != nil && result.Outcome.Done
}
