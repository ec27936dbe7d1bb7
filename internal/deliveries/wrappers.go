// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// hostWrappers is which wrappers the host has. The zero value has none.
type hostWrappers struct {
	mu sync.RWMutex
	// complete is whether every wrapper was added once: before that any Delivery would look like an
	// orphan.
	complete bool
	wrappers map[Key]types.UID
	// decided are the wrappers of which it is known where they are wanted.
	decided map[Key]decision
}

// decision is what Desired does not say of a wrapper.
type decision struct {
	uid types.UID
	// unrendered are the members that it is placed on, and of which nothing is wanted for now.
	unrendered []string
}

// add notes a wrapper, and reports whether that is news.
func (w *hostWrappers) add(key Key, uid types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wrappers == nil {
		w.wrappers = make(map[Key]types.UID)
	}
	known := w.wrappers[key] == uid
	w.wrappers[key] = uid
	return !known
}

// remove notes that a wrapper is gone, unless another of its name is there already.
func (w *hostWrappers) remove(key Key, uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wrappers[key] == uid {
		delete(w.wrappers, key)
	}
	if w.decided[key].uid == uid {
		delete(w.decided, key)
	}
}

// get is the uid of a wrapper, and the last decision about one of that name.
func (w *hostWrappers) get(key Key) (uid types.UID, there bool, decided decision) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	uid, there = w.wrappers[key]
	return uid, there, w.decided[key]
}

func (w *hostWrappers) decide(key Key, d decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.decided == nil {
		w.decided = make(map[Key]decision)
	}
	w.decided[key] = d
}

func (w *hostWrappers) setComplete() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complete = true
}

func (w *hostWrappers) isComplete() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.complete
}
