// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Unrecorded remembers the objects that passes applied without an intent, or tried to apply, until a Delivery records their content.
// Until then their entries in the Delivery may be wrong. Unrecorded outlives connections and desired states. The zero value has no
// objects.
type Unrecorded struct {
	mu  sync.Mutex
	all map[Pair]sets.Set[ObjectID]
}

// Of returns the unrecorded objects of one pair.
func (u *Unrecorded) Of(pair Pair) UnrecordedOf { return UnrecordedOf{u, pair} }

// UnrecordedOf has the unrecorded objects of one pair. The zero value has none.
type UnrecordedOf struct {
	in   *Unrecorded
	pair Pair
}

// Any reports whether there are any.
func (u UnrecordedOf) Any() bool {
	if u.in == nil {
		return false
	}
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	return len(u.in.all[u.pair]) > 0
}

// Has reports whether an object is one of them.
func (u UnrecordedOf) Has(id ObjectID) bool {
	if u.in == nil {
		return false
	}
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	return u.in.all[u.pair].Has(id)
}

// Add notes that a pass is about to apply an object without an intent.
func (u UnrecordedOf) Add(id ObjectID) {
	if u.in == nil {
		return
	}
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	if u.in.all == nil {
		u.in.all = make(map[Pair]sets.Set[ObjectID])
	}
	if u.in.all[u.pair] == nil {
		u.in.all[u.pair] = sets.New[ObjectID]()
	}
	u.in.all[u.pair].Insert(id)
}

// KeepOnly forgets the objects that a Delivery records now: those for which stays is false.
func (u UnrecordedOf) KeepOnly(stays func(ObjectID) bool) {
	if u.in == nil {
		return
	}
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	for id := range u.in.all[u.pair] {
		if !stays(id) {
			u.in.all[u.pair].Delete(id)
		}
	}
	if len(u.in.all[u.pair]) == 0 {
		delete(u.in.all, u.pair)
	}
}
