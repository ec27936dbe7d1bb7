// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Kept is an object that a member keeps although its wrapper lets go of it.
type Kept struct {
	// Object is its kind and name, Why the reason as words that follow "because".
	Object, Why string
}

func (k Kept) String() string { return k.Object + ": " + k.Why }

// maxKept is how much of what was kept for one pair is remembered until somebody asks.
const maxKept = 64

// noteKept remembers what passes of a pair have left on a member, until it is told.
func (p *Pusher) noteKept(key Key, memberName string, kept []Kept) {
	if len(kept) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = make(map[Key]map[string][]Kept)
	}
	if p.kept[key] == nil {
		p.kept[key] = make(map[string][]Kept)
	}
	all := p.kept[key][memberName]
	for _, what := range kept {
		// A pass that could not write down that it kept something keeps it once more.
		if len(all) < maxKept && !slices.Contains(all, what) {
			all = append(all, what)
		}
	}
	p.kept[key][memberName] = all
}

// noteKept has what a pass kept told: before its end is known, after which nobody may ask any more.
func (l *lane) noteKept(ctx context.Context, key Key, p *pass) {
	for _, what := range p.kept {
		log.FromContext(ctx).Info("kept on a member", "member", l.conn.Name(), "wrapper", key.String(), "object", what.Object, "why", what.Why)
	}
	l.pusher.noteKept(key, l.conn.Name(), p.kept)
}

// TakeKept is what passes of a wrapper have left since this was last asked, by member. A member is among them once nothing
// more is under way there: the recorder of events folds what is told of one member in quick succession into the first.
func (p *Pusher) TakeKept(key Key) map[string][]Kept {
	p.mu.RLock()
	names := slices.Collect(maps.Keys(p.kept[key]))
	p.mu.RUnlock()
	taken := make(map[string][]Kept, len(names))
	for _, name := range names {
		if !p.isAtRest(key, name) {
			continue
		}
		p.mu.Lock()
		if kept := p.kept[key][name]; len(kept) > 0 {
			taken[name] = kept
		}
		delete(p.kept[key], name)
		if len(p.kept[key]) == 0 {
			delete(p.kept, key)
		}
		p.mu.Unlock()
	}
	return taken
}

// isAtRest says whether the last pass of a pair did all there was to do, or nothing is wanted of it any more.
func (p *Pusher) isAtRest(key Key, memberName string) bool {
	if p.want(key, memberName) == nil {
		return true
	}
	result := p.Result(key, memberName)
	return result.Want.IsHeldBy(p.deliveries.Record(key, memberName).Summary) || result.Outcome != nil && result.Outcome.Done
}
