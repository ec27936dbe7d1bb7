// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Orphans finds the Deliveries that no wrapper accounts for. The host reports orphans and does nothing else about them.
type Orphans struct {
	store    *Store
	desired  Desired
	notify   func(memberName string)
	wrappers hostWrappers
}

// Desired tells whether the host has a desired state for a wrapper on a member, and whether that state is to be removed there.
type Desired func(key Key, memberName string) (desired, leaving bool)

// orphanNames are the Deliveries of one member that no wrapper accounts for.
type orphanNames struct {
	// deciding is held from the decision about a Delivery until it is stored. Otherwise an older decision could overwrite a newer
	// one.
	deciding sync.Mutex

	mu    sync.Mutex
	names map[string]bool
}

// NewOrphans finds the orphans in a store. It calls notify with each member whose orphans have changed. notify must not block.
func NewOrphans(store *Store, desired Desired, notify func(memberName string)) *Orphans {
	o := &Orphans{store: store, desired: desired, notify: notify}
	store.Subscribe(o)
	return o
}

// AddWrapper notes that the host has this wrapper.
func (o *Orphans) AddWrapper(key Key, uid types.UID) {
	if o.wrappers.add(key, uid) {
		o.classifyAll(key)
	}
}

// RemoveWrapper notes that a wrapper is gone, unless the host already has another one of this name.
func (o *Orphans) RemoveWrapper(key Key, uid types.UID) {
	o.wrappers.remove(key, uid)
	o.classifyAll(key)
}

// WrappersListed notes that all wrappers of the host were added. Before that no Delivery counts as an orphan.
func (o *Orphans) WrappersListed() {
	o.wrappers.setComplete()
	for _, x := range o.store.all() {
		o.report(x)
	}
}

// MarkDecided notes that the desired state of a wrapper is complete: Desired knows it for each member. From now on the wrapper's
// Delivery on any other member is an orphan, and so is that of an earlier wrapper of this name. unrendered are the members that
// the wrapper is placed on, but for which it cannot be rendered.
func (o *Orphans) MarkDecided(key Key, uid types.UID, unrendered ...string) {
	o.wrappers.decide(key, decision{uid: uid, unrendered: unrendered})
	o.classifyAll(key)
}

// Of returns how many Deliveries on a member are orphans, and the names of the first ones. known is false until all wrappers of
// the host and all Deliveries of the member are listed.
func (o *Orphans) Of(memberName string, limit int) (count int, names []string, known bool) {
	x := o.store.Of(memberName)
	if x == nil || !o.wrappers.isComplete() || !x.IsListed() {
		return 0, nil, false
	}
	names = x.orphans.sorted()
	return len(names), names[:min(limit, len(names))], true
}

// classifyAll decides on each member whether the Delivery of a wrapper is an orphan.
func (o *Orphans) classifyAll(key Key) {
	for _, x := range o.store.all() {
		o.classify(x, key.Delivery())
	}
}

// classify decides whether a Delivery is an orphan, and notifies of a change.
func (o *Orphans) classify(x *Index, name string) {
	x.orphans.deciding.Lock()
	changed := x.orphans.set(name, o.isOrphan(x, name))
	x.orphans.deciding.Unlock()
	if changed {
		o.report(x)
	}
}

// isOrphan reports whether no wrapper accounts for a Delivery. Either the host has no wrapper of this name, as after a
// takeover from another host. Or the wrapper is not placed on this member. The second happens in three cases: the
// Delivery belongs to an earlier wrapper of the same name; the host was restored to a time before the placement; or an
// Approval ended the wait for the removal.
func (o *Orphans) isOrphan(x *Index, name string) bool {
	seen := x.get(name)
	if seen == nil {
		return false
	}
	key := KeyOf(seen.Wrapper)
	uid, there, decided := o.wrappers.get(key)
	switch {
	case !there, key.Delivery() != name: // a Delivery is named after its wrapper; the manager reads no other
		return true
	case decided.uid != uid, slices.Contains(decided.unrendered, x.Member()):
		return false
	}
	desired, leaving := o.desired(key, x.Member())
	return !desired || leaving && uid != seen.Wrapper.UID
}

// report notifies of a member's orphans, if they are known.
func (o *Orphans) report(x *Index) {
	if _, _, known := o.Of(x.Member(), 0); known && o.notify != nil {
		o.notify(x.Member())
	}
}

var _ Listener = &Orphans{}

// Changed implements Listener.
func (o *Orphans) Changed(x *Index, c Change) {
	if c.Was == nil || c.Is == nil || c.Was.Wrapper.UID != c.Is.Wrapper.UID || KeyOf(c.Was.Wrapper) != KeyOf(c.Is.Wrapper) {
		o.classify(x, c.Name)
	}
}

// Listed implements Listener.
func (o *Orphans) Listed(*Index, map[string]int64) {}

// Readable implements Listener.
func (o *Orphans) Readable(x *Index, first bool) {
	if first {
		o.report(x)
	}
}

// Unreadable implements Listener.
func (o *Orphans) Unreadable(*Index) {}

// set stores whether a Delivery is an orphan, and reports whether that is a change.
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

// sorted are the names of all orphans.
func (o *orphanNames) sorted() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.names))
}
