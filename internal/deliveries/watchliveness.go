// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// watchTimeout bounds how long the watch may take to bring a Delivery that the host has written. After that time the
// manager treats the watch as dead: a proxy between host and member may keep the connection open and forward no events.
// Only a write of the host can show that. Without a write, a dead watch looks like the watch of a member where nothing
// changes.
const watchTimeout = 10 * time.Second

// written is a write of a Delivery that the watch has not brought yet.
type written struct {
	uid        types.UID
	generation int64
	at         time.Time
}

// liveness finds out whether a watch that brings no events is dead, or whether nothing changes on the member.
type liveness struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// awaited has the host's writes that the watch has not brought yet, by the name of the Delivery.
	awaited map[string]written
	// listing is true while a list of all Deliveries is under way.
	listing bool
}

// await begins the wait for a Delivery. It does not wait if the function seen shows that the watch has brought the
// awaited write already. It calls seen with the lock held. Otherwise the watch could bring the Delivery just after that
// call, and the wait would never end.
func (l *liveness) await(name string, w written, seen func() *Summary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if is := seen(); w.uid == "" || is != nil && is.UID == w.uid && is.Generation >= w.generation {
		delete(l.awaited, name)
		return
	}
	w.at = l.clock.Now()
	l.awaited[name] = w
}

// brought ends the wait for a Delivery, if the watch has brought the awaited write or a later one.
func (l *liveness) brought(name string, is *Summary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w, waits := l.awaited[name]; waits && (is.UID != w.uid || is.Generation >= w.generation) {
		delete(l.awaited, name)
	}
}

// isDead reports whether the watch has not brought some write within watchTimeout. Call it only after a successful
// probe, which shows that the member itself answers.
func (l *liveness) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listing { // a list has a timeout of its own
		return false
	}
	dead, now := false, l.clock.Now()
	for name, w := range l.awaited {
		if now.Sub(w.at) >= watchTimeout {
			dead = true
			l.awaited[name] = written{uid: w.uid, generation: w.generation, at: now} // so that the next watch gets the whole timeout
		}
	}
	return dead
}

// isCurrent reports whether the summary of a Delivery is current, as far as the host can tell: the watch has brought
// the host's last write, and no list is under way.
func (l *liveness) isCurrent(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, awaited := l.awaited[name]
	return !awaited && !l.listing
}

// isListing reports whether a list of all Deliveries is under way.
func (l *liveness) isListing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listing
}

// setListing records whether a list of all Deliveries is under way.
func (l *liveness) setListing(is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listing = is
}

// forget ends the wait for a Delivery.
func (l *liveness) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.awaited, name)
}

// keepOnly ends the wait for each Delivery that is not in a complete list.
func (l *liveness) keepOnly(listed map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.awaited {
		if _, there := listed[name]; !there {
			delete(l.awaited, name)
		}
	}
}
