// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Unrecorded remembers the unrecorded objects of all pairs. A pass applied such an object, or tried to apply it,
// without an intent, and no Delivery records its content yet. The entries of these objects in the Delivery may be
// wrong. Unrecorded remembers the objects even if the connection to the member ends or the pair loses its desired state.
// The zero value has no objects.
type Unrecorded struct {
	mu  sync.Mutex
	all map[Pair]sets.Set[ObjectID]
}

// Of returns the unrecorded objects of one pair.
func (u *Unrecorded) Of(pair Pair) UnrecordedOf { return UnrecordedOf{u, pair} }

// UnrecordedOf gives access to the unrecorded objects of one pair. The zero value has none.
type UnrecordedOf struct {
	in   *Unrecorded
	pair Pair
}

// Any reports whether the pair has unrecorded objects.
func (u UnrecordedOf) Any() bool {
	if u.in == nil {
		return false
	}
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	return len(u.in.all[u.pair]) > 0
}

// Has reports whether an object of the pair is unrecorded.
func (u UnrecordedOf) Has(id ObjectID) bool {
	if u.in == nil {
		return false
	}
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	return u.in.all[u.pair].Has(id)
}

// Add makes an object unrecorded, because a pass is about to apply it without an intent.
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

// KeepOnly drops the objects for which stays returns false, because a Delivery now records their content.
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
