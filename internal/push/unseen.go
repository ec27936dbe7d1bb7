// SPDX-License-Identifier: Apache-2.0

package push

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// unseenFor is how long the watch may take to bring what a pass wrote. After that it is taken for dead: something
// on the way holds it open and passes nothing on, which looks just like a member where nothing happens.
const unseenFor = 10 * time.Second

// written is a Delivery as a pass left it, that the watch has not brought yet.
type written struct {
	uid        types.UID
	generation int64
	at         time.Time
}

// noteWritten takes in what a pass wrote. l.mu is held.
func (l *lane) noteWritten(key Key, out *Outcome) {
	name := key.Delivery()
	if seen := l.seen[name]; out.uid == "" || seen != nil && seen.UID == out.uid && seen.Generation >= out.generation {
		delete(l.unseen, name)
		return
	}
	l.unseen[name] = written{uid: out.uid, generation: out.generation, at: l.clock.Now()}
}

// noteSeen takes in what the watch brought. l.mu is held.
func (l *lane) noteSeen(s *sighting) {
	if w, waits := l.unseen[s.Name]; waits && (s.seen.UID != w.uid || s.seen.Generation >= w.generation) {
		delete(l.unseen, s.Name)
	}
}

// watchIsDead says whether the watch has failed to bring something for too long. It is asked after each probe that got
// through. l.mu is held.
func (l *lane) watchIsDead() bool {
	if l.listing { // it has its own time
		return false
	}
	dead, now := false, l.clock.Now()
	for name, w := range l.unseen {
		if now.Sub(w.at) >= unseenFor {
			dead = true
			l.unseen[name] = written{uid: w.uid, generation: w.generation, at: now} // the new one gets its time too
		}
	}
	return dead
}

// isListing notes that all Deliveries are being listed, or are no more.
func (l *lane) isListing(is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listing = is
}

// forgetUnseen stops waiting for Deliveries that a whole list does not have.
func (l *lane) forgetUnseen(listed map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.unseen {
		if _, there := listed[name]; !there {
			delete(l.unseen, name)
		}
	}
}
