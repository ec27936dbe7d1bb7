// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// hostWrappers knows the wrappers of the host. The zero value has no wrappers.
type hostWrappers struct {
	mu sync.RWMutex
	// complete is true after all wrappers were added once. Before that, every Delivery would look like an orphan.
	complete bool
	wrappers map[Key]types.UID
	// decided has the wrappers whose desired state is complete.
	decided map[Key]decision
}

// decision is what Desired does not tell about a wrapper.
type decision struct {
	uid types.UID
	// unrendered are the members that the wrapper is placed on, but for which it cannot be rendered.
	unrendered []string
}

// add adds a wrapper, and reports whether that is a change.
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

// remove removes a wrapper, unless another one has its name already.
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

// get is the uid of the wrapper with this name, and the last decision about a wrapper of this name.
func (w *hostWrappers) get(key Key) (uid types.UID, there bool, decided decision) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	uid, there = w.wrappers[key]
	return uid, there, w.decided[key]
}

// decide stores the last decision about a wrapper.
func (w *hostWrappers) decide(key Key, d decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.decided == nil {
		w.decided = make(map[Key]decision)
	}
	w.decided[key] = d
}

// setComplete notes that all wrappers were added.
func (w *hostWrappers) setComplete() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complete = true
}

// isComplete reports whether all wrappers were added.
func (w *hostWrappers) isComplete() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.complete
}
