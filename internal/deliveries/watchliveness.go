// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// watchTimeout is how long the watch may take to bring a Delivery that the host wrote. After that the watch counts as dead:
// something between host and member holds the connection open and forwards nothing. Without a write of the host, a dead watch
// looks just like the watch of a member where nothing changes.
const watchTimeout = 10 * time.Second

// written is a Delivery that the host wrote and that the watch has not brought yet.
type written struct {
	uid        types.UID
	generation int64
	at         time.Time
}

// liveness tells a dead watch from the watch of a member where nothing changes.
type liveness struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// awaited has the Deliveries that the host wrote and that the watch has not brought yet, by name.
	awaited map[string]written
	// listing is true while a list of all Deliveries is under way.
	listing bool
}

// Written notes that the host wrote a wrapper's Delivery, so that the watch has to bring it. An empty uid means that there is no
// Delivery to wait for.
func (x *Index) Written(key Key, uid types.UID, generation int64) {
	x.liveness.await(key.Delivery(), written{uid: uid, generation: generation}, func() *Summary { return x.Get(key) })
}

// Forget stops the wait for a wrapper's Delivery.
func (x *Index) Forget(key Key) { x.liveness.forget(key.Delivery()) }

// IsListing reports whether a list of all Deliveries is under way.
func (x *Index) IsListing() bool {
	x.liveness.mu.Lock()
	defer x.liveness.mu.Unlock()
	return x.liveness.listing
}

// await begins the wait for a Delivery. It calls seen with the lock held: otherwise the watch could bring the Delivery between
// the two, and the wait would never end.
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

// brought ends the wait for a Delivery that the watch has brought.
func (l *liveness) brought(name string, is *Summary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w, waits := l.awaited[name]; waits && (is.UID != w.uid || is.Generation >= w.generation) {
		delete(l.awaited, name)
	}
}

// isDead reports whether the watch has not brought a Delivery in time. Index.Probed calls it after each successful probe.
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
			l.awaited[name] = written{uid: w.uid, generation: w.generation, at: now} // the next watch gets the same time
		}
	}
	return dead
}

// isCurrent reports whether a Delivery is as the watch brought it last, as far as the host knows.
func (l *liveness) isCurrent(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, awaited := l.awaited[name]
	return !awaited && !l.listing
}

// setListing notes that a list of all Deliveries begins or ends.
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

// keepOnly ends the wait for all Deliveries that a complete list does not have.
func (l *liveness) keepOnly(listed map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.awaited {
		if _, there := listed[name]; !there {
			delete(l.awaited, name)
		}
	}
}
