// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// watchTimeout is how long the watch may take to bring what a pass wrote. After that it is taken for dead: something
// on the way holds it open and passes nothing on, which looks just like a member where nothing happens.
const watchTimeout = 10 * time.Second

// written is a Delivery as it was written, that the watch has not brought yet.
type written struct {
	uid        types.UID
	generation int64
	at         time.Time
}

// liveness is what tells a dead watch from a member where nothing happens.
type liveness struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// awaited are the Deliveries that were written and that the watch has not brought yet, by name.
	awaited map[string]written
	// listing is whether all Deliveries are being listed.
	listing bool
}

// Written takes in that a Delivery was written, for the watch to bring. Without a uid it was not.
func (x *Index) Written(key Key, uid types.UID, generation int64) {
	x.liveness.await(key.Delivery(), written{uid: uid, generation: generation}, func() *Summary { return x.Get(key) })
}

// Forget stops waiting for a wrapper's Delivery.
func (x *Index) Forget(key Key) { x.liveness.forget(key.Delivery()) }

// IsListing reports whether all Deliveries are being listed.
func (x *Index) IsListing() bool {
	x.liveness.mu.Lock()
	defer x.liveness.mu.Unlock()
	return x.liveness.listing
}

// await takes in what was written. seen is asked with the lock held, so that what the watch brings meanwhile is not missed.
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

// brought takes in what the watch brought.
func (l *liveness) brought(name string, is *Summary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w, waits := l.awaited[name]; waits && (is.UID != w.uid || is.Generation >= w.generation) {
		delete(l.awaited, name)
	}
}

// isDead says whether the watch has failed to bring something for too long. It is asked after each probe that got
// through.
func (l *liveness) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listing { // it has its own time
		return false
	}
	dead, now := false, l.clock.Now()
	for name, w := range l.awaited {
		if now.Sub(w.at) >= watchTimeout {
			dead = true
			l.awaited[name] = written{uid: w.uid, generation: w.generation, at: now} // the new one gets its time too
		}
	}
	return dead
}

// setListing notes that all Deliveries are being listed, or are no more.
func (l *liveness) setListing(is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listing = is
}

func (l *liveness) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.awaited, name)
}

// keepOnly stops waiting for Deliveries that a whole list does not have.
func (l *liveness) keepOnly(listed map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.awaited {
		if _, there := listed[name]; !there {
			delete(l.awaited, name)
		}
	}
}
