// SPDX-License-Identifier: Apache-2.0

package push

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// mayRepair asks whether a drift may be repaired now, and has the pair come up again when not. l.mu is
// held.
func (l *lane) mayRepair(key Key, id identity, o *v1alpha1.ObjectStatus, now time.Time) bool {
	fought := l.contests[key][id]
	if fought == nil {
		return true
	}
	wait := fought.drifted(o, now)
	if wait > 0 {
		l.queue.AddAfter(key, wait)
	}
	return wait == 0
}

// noteRepair takes in that a drift was repaired. l.mu is held.
func (l *lane) noteRepair(key Key, id identity, now time.Time) {
	if l.contests[key] == nil {
		l.contests[key] = make(map[identity]*contest)
	}
	fought := l.contests[key][id]
	if fought == nil {
		fought = &contest{}
		l.contests[key][id] = fought
	}
	fought.repaired(now)
	l.queue.AddAfter(key, fought.endsIn(now))
}

// settle forgets the objects of a pair that have stayed as they were left for long enough.
func (l *lane) settle(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fought := l.contests[key]
	if len(fought) == 0 {
		return
	}
	now, drifting := l.clock.Now(), make(map[identity]bool)
	for _, o := range l.deliveries.Get(key).Drifts() {
		drifting[identity{o.Group, o.Kind, o.Name}] = true
	}
	for id, c := range fought {
		if !drifting[id] {
			c.mended(now)
		}
		switch left := c.endsIn(now); {
		case left == 0:
			delete(fought, id)
		case c.undone.IsZero():
			l.queue.AddAfter(key, left)
		}
	}
	if len(fought) == 0 {
		delete(l.contests, key)
	}
}

// contested says what is fought over in a pair, "" when nothing is. l.mu is held.
func (l *lane) contested(key Key) string {
	var first identity
	n := 0
	for id, c := range l.contests[key] {
		if !c.isContested() {
			continue
		}
		if n++; n == 1 || compareIdentities(id, first) < 0 {
			first = id
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return l.contests[key][first].words
	}
	return fmt.Sprintf("%d objects, one of them %s", n, l.contests[key][first].words)
}

func compareIdentities(a, b identity) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name), cmp.Compare(a.group, b.group))
}

// mended are the drifts of a pass that it did repair.
func (w *work) mended(outcome *Outcome) []identity {
	var ids []identity
	for id := range w.marks {
		if !slices.Contains(outcome.unmended, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
