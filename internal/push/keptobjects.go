// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"maps"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// maxKept is the largest number of kept objects of one pair that the pusher remembers. It forgets them when the method
// TakeKept returns them.
const maxKept = 64

// keptObjects are the objects that passes kept on members. The method TakeKept returns them for an event, and thereby
// removes them. The zero value has none.
type keptObjects struct {
	mu  sync.Mutex
	all map[Key]map[string][]Kept // by wrapper and member
}

// note logs and stores objects that a pass kept on a member, until the method take returns them. The caller must call
// note before it records the outcome of the pass. As soon as the outcome is Done, the controller may let the wrapper be
// deleted. The controller then never calls TakeKept for the wrapper again.
func (k *keptObjects) note(ctx context.Context, key Key, memberName string, kept []Kept) {
	if len(kept) == 0 {
		return
	}
	for _, one := range kept {
		log.FromContext(ctx).Info("kept an object of a wrapper on a member", "member", memberName, "wrapper", key.String(), "object", one.Object, "why", one.Why)
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
		// A pass that could not record that it kept an object is repeated, and then reports the object again.
		if len(all) < maxKept && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	k.all[key][memberName] = all
}

// members returns the members for which there are kept objects of a wrapper.
func (k *keptObjects) members(key Key) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Keys(k.all[key]))
}

// take returns the kept objects of a pair, and forgets them.
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

// TakeKept returns, by member, the objects that passes of a wrapper kept since the last call. It leaves out a member
// until that member has the whole desired state, so that one event can list all kept objects. The event recorder would
// merge several events about one member in quick succession into the first.
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

// isAtRest reports whether no further pass of a pair can keep an object: the member has the whole desired state, or the
// pair has no desired state.
func (p *Pusher) isAtRest(key Key, memberName string) bool {
	if p.desired.get(key, memberName) == nil {
		return true
	}
	result := p.Result(key, memberName)
	return result.IsHeld(p.deliveries.Record(key, memberName).Summary) || result.Outcome != nil && result.Outcome.Done
}
