// SPDX-License-Identifier: Apache-2.0

package push

import (
	"slices"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

var _ deliveries.Listener = &lane{}

// Changed implements deliveries.Listener.
func (l *lane) Changed(_ *deliveries.Index, c deliveries.Change) {
	if c.Is == nil {
		l.vanished(c.Was)
		return
	}
	key := KeyOf(c.Is.Wrapper)
	if len(c.Is.Drifts()) == 0 {
		l.mu.Lock()
		delete(l.repaired, key)
		l.mu.Unlock()
	}
	if c.Was == nil && len(c.Is.Secrets) > 0 || c.Was != nil && !slices.Equal(c.Was.Secrets, c.Is.Secrets) {
		l.pusher.enlist(key, l.conn.Name())
	}
	if c.IsNews() {
		l.queue.Add(key)
	}
}

// vanished takes in that a Delivery is gone.
func (l *lane) vanished(was *deliveries.Summary) {
	key := KeyOf(was.Wrapper)
	l.mu.Lock()
	if out := l.outcomes[key]; out.uid == was.UID {
		// It went although the last pass left it there: that pass no longer says how things stand.
		delete(l.outcomes, key)
	}
	l.mu.Unlock()
	l.pusher.enlist(key, l.conn.Name())
	l.queue.Add(key)
}

// Listed implements deliveries.Listener. It takes back what passes found that a whole list contradicts: a member that was restored from a
// backup is older than they are. The list may also be older than the pass; the next one then finds
// nothing to do.
func (l *lane) Listed(_ *deliveries.Index, generations map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, out := range l.outcomes {
		if generation, there := generations[key.Delivery()]; out.uid != "" && (!there || generation < out.generation) {
			delete(l.outcomes, key)
			l.queue.Add(key)
		}
	}
}

// Readable implements deliveries.Listener. It opens the lane for pushes: from now on it is known what the member holds.
func (l *lane) Readable(_ *deliveries.Index, first bool) {
	if first {
		l.pusher.opened(l)
		return
	}
	l.pusher.wakeAllOf(l.conn.Name()) // of most pairs nothing else will tell
}

// Unreadable implements deliveries.Listener.
func (l *lane) Unreadable(*deliveries.Index) { l.pusher.wakeAllOf(l.conn.Name()) }

// seals are those for the lane's member.
func (l *lane) seals() deliveries.Seals {
	l.mu.Lock()
	defer l.mu.Unlock()
	return deliveries.NewSeals(l.pusher.sealKey, l.pusher.sealHost, l.memberUID)
}
