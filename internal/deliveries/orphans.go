// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Orphans tells apart from all Deliveries those that no wrapper accounts for. Nothing follows from being one but that it is
// told.
type Orphans struct {
	store    *Store
	desired  Desired
	told     func(memberName string)
	wrappers hostWrappers
}

// Desired tells what the host wants of a wrapper on a member: whether anything, and whether that is to leave.
type Desired func(key Key, memberName string) (wanted, leaving bool)

// orphanNames are the Deliveries of one member that no wrapper accounts for.
type orphanNames struct {
	// accounting keeps what is known of a Delivery from being overtaken by what was known before.
	accounting sync.Mutex

	mu    sync.Mutex
	names map[string]bool
}

// NewOrphans makes the orphans of a store. told is told of a member whose orphans have changed. It must not block.
func NewOrphans(store *Store, desired Desired, told func(memberName string)) *Orphans {
	o := &Orphans{store: store, desired: desired, told: told}
	store.Subscribe(o)
	return o
}

// AddWrapper notes that the host has a wrapper.
func (o *Orphans) AddWrapper(key Key, uid types.UID) {
	if o.wrappers.add(key, uid) {
		o.accountAll(key)
	}
}

// RemoveWrapper notes that a wrapper is gone, unless another of its name is there already.
func (o *Orphans) RemoveWrapper(key Key, uid types.UID) {
	o.wrappers.remove(key, uid)
	o.accountAll(key)
}

// WrappersListed says that every wrapper which the host has was enrolled.
func (o *Orphans) WrappersListed() {
	o.wrappers.setComplete()
	for _, x := range o.store.all() {
		o.tell(x)
	}
}

// MarkDecided notes that all that is wanted for a wrapper has been said, here and now: its Delivery on any other
// member, and that of an earlier one of its name, is an orphan. unrendered are the members that it is
// placed on all the same, though there is nothing that could be pushed.
func (o *Orphans) MarkDecided(key Key, uid types.UID, unrendered ...string) {
	o.wrappers.decide(key, decision{uid: uid, unrendered: unrendered})
	o.accountAll(key)
}

// Of are the Deliveries on a member that no wrapper accounts for: how many, and the names of the
// first ones. known is false as long as not every wrapper, or not every Delivery there, is known.
func (o *Orphans) Of(memberName string, limit int) (count int, names []string, known bool) {
	x := o.store.Of(memberName)
	if x == nil || !o.wrappers.isComplete() || !x.IsListed() {
		return 0, nil, false
	}
	names = x.orphans.sorted()
	return len(names), names[:min(limit, len(names))], true
}

// accountAll looks for whose a wrapper's Delivery is, on every member.
func (o *Orphans) accountAll(key Key) {
	for _, x := range o.store.all() {
		o.account(x, key.Delivery())
	}
}

// account looks for whose a Delivery is, by what is known now.
func (o *Orphans) account(x *Index, name string) {
	x.orphans.accounting.Lock()
	changed := x.orphans.set(name, o.isOrphan(x, name))
	x.orphans.accounting.Unlock()
	if changed {
		o.tell(x)
	}
}

// isOrphan says whether no wrapper accounts for a Delivery: there is none of its name, or the one that there
// is is not wanted there: another one than it was written for, or one that the host restored to before its
// placement, or a person released from leaving the member.
func (o *Orphans) isOrphan(x *Index, name string) bool {
	seen := x.get(name)
	if seen == nil {
		return false
	}
	key := KeyOf(seen.Wrapper)
	uid, there, decided := o.wrappers.get(key)
	switch {
	case !there, key.Delivery() != name: // nobody would ever read what is called by another name
		return true
	case decided.uid != uid, slices.Contains(decided.unrendered, x.Member()):
		return false
	}
	wanted, leaving := o.desired(key, x.Member())
	return !wanted || leaving && uid != seen.Wrapper.UID
}

// tell says that a member's orphans are to be told anew, once they are known.
func (o *Orphans) tell(x *Index) {
	if _, _, known := o.Of(x.Member(), 0); known && o.told != nil {
		o.told(x.Member())
	}
}

var _ Listener = &Orphans{}

// Changed implements Listener.
func (o *Orphans) Changed(x *Index, c Change) {
	if c.Was == nil || c.Is == nil || c.Was.Wrapper.UID != c.Is.Wrapper.UID || KeyOf(c.Was.Wrapper) != KeyOf(c.Is.Wrapper) {
		o.account(x, c.Name)
	}
}

// Listed implements Listener.
func (o *Orphans) Listed(*Index, map[string]int64) {}

// Readable implements Listener.
func (o *Orphans) Readable(x *Index, first bool) {
	if first {
		o.tell(x)
	}
}

// Unreadable implements Listener.
func (o *Orphans) Unreadable(*Index) {}

// set notes whether a Delivery is an orphan, and says whether that is news.
func (o *orphanNames) set(name string, is bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.names[name] == is:
		return false
	case !is:
		delete(o.names, name)
	case o.names == nil:
		o.names = map[string]bool{name: true}
	default:
		o.names[name] = true
	}
	return true
}

func (o *orphanNames) sorted() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.names))
}
