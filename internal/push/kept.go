// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// maxKept is how much of what was kept for one pair is remembered until somebody asks.
const maxKept = 64

// noteKept remembers what passes of a pair have left on a member, until it is told.
func (p *Pusher) noteKept(key Key, memberName string, kept []string) {
	if len(kept) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = make(map[Key]map[string][]string)
	}
	if p.kept[key] == nil {
		p.kept[key] = make(map[string][]string)
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
		log.FromContext(ctx).Info("kept on a member", "member", l.conn.Name(), "wrapper", key.String(), "object", what)
	}
	l.pusher.noteKept(key, l.conn.Name(), p.kept)
}

// TakeKept is what passes of a wrapper have left on members since this was last asked, with the reasons, by
// member.
func (p *Pusher) TakeKept(key Key) map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.kept[key]
	delete(p.kept, key)
	return kept
}
