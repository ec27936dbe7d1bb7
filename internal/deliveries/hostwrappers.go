// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// hostWrappers has the names and uids of the host's wrappers. The zero value has none.
type hostWrappers struct {
	mu sync.RWMutex
	// complete is true after every wrapper of the host was added once. Before that, every Delivery would look like an
	// orphan.
	complete bool
	wrappers map[Key]types.UID
	// decided has the last decision about each wrapper, once the manager has set its desired state on every placed member.
	decided map[Key]decision
}

// decision has the facts about a wrapper's placement that the function Desired does not return.
type decision struct {
	uid types.UID
	// unrendered are the members on which the wrapper is placed, but for which the manager cannot render it.
	unrendered []string
}

// add adds a wrapper. It reports whether the wrapper is new: the name was missing, or had another uid.
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

// remove removes the wrapper with this uid. A newer wrapper of the same name stays.
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

// get returns the uid of the wrapper with this name, whether there is such a wrapper (there), and the last decision
// about it.
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

// setComplete records that all wrappers of the host were added.
func (w *hostWrappers) setComplete() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complete = true
}

// isComplete reports whether every wrapper of the host was added.
func (w *hostWrappers) isComplete() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.complete
}
