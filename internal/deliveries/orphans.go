// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Orphans finds the orphans among the members' Deliveries. The host only reports orphans, and changes nothing about
// them.
type Orphans struct {
	store    *Store
	desired  Desired
	notify   func(memberName string)
	wrappers hostWrappers
}

// Desired reports whether a wrapper has a desired state on a member (desired), and whether by that state the wrapper is
// to leave the member (leaving).
type Desired func(key Key, memberName string) (desired, leaving bool)

// orphanNames are the names of the orphans on one member.
type orphanNames struct {
	// deciding is locked while the manager decides whether a Delivery is an orphan and stores the result. Without the
	// lock, an older result could overwrite a newer one.
	deciding sync.Mutex

	mu    sync.Mutex
	names map[string]bool
}

// NewOrphans makes the finder of orphans for a store. It calls notify with the name of each member whose orphans have
// changed. notify must not block.
func NewOrphans(store *Store, desired Desired, notify func(memberName string)) *Orphans {
	o := &Orphans{store: store, desired: desired, notify: notify}
	store.Subscribe(o)
	return o
}

// AddWrapper records that the host has this wrapper.
func (o *Orphans) AddWrapper(key Key, uid types.UID) {
	if o.wrappers.add(key, uid) {
		o.classifyAll(key)
	}
}

// RemoveWrapper records that the wrapper with this uid is gone. A newer wrapper of the same name stays.
func (o *Orphans) RemoveWrapper(key Key, uid types.UID) {
	o.wrappers.remove(key, uid)
	o.classifyAll(key)
}

// WrappersListed records that AddWrapper was called for every wrapper of the host. Before that, the method Of reports
// no orphans.
func (o *Orphans) WrappersListed() {
	o.wrappers.setComplete()
	for _, x := range o.store.all() {
		o.report(x)
	}
}

// MarkDecided records that the placement of a wrapper is decided, so that the function Desired knows the desired state
// on each placed member. From now on, a Delivery of this wrapper's name is an orphan in two cases:
//
//   - The wrapper has no desired state on the member.
//   - The wrapper is to leave the member, and the Delivery belongs to an earlier wrapper of the same name.
//
// unrendered are members on which the wrapper is placed, but for which the manager cannot render it. A Delivery of this
// name is no orphan there.
func (o *Orphans) MarkDecided(key Key, uid types.UID, unrendered ...string) {
	o.wrappers.decide(key, decision{uid: uid, unrendered: unrendered})
	o.classifyAll(key)
}

// Of returns the number of orphans on a member, and the names of at most limit of them. known is false until all
// wrappers of the host and all Deliveries of the member were listed.
func (o *Orphans) Of(memberName string, limit int) (count int, names []string, known bool) {
	x := o.store.Of(memberName)
	if x == nil || !o.wrappers.isComplete() || !x.IsListed() {
		return 0, nil, false
	}
	names = x.orphans.sorted()
	return len(names), names[:min(limit, len(names))], true
}

// classifyAll decides for each member whether the wrapper's Delivery there is an orphan.
func (o *Orphans) classifyAll(key Key) {
	for _, x := range o.store.all() {
		o.classify(x, key.Delivery())
	}
}

// classify decides whether a Delivery is an orphan, and calls the method report if the answer has changed.
func (o *Orphans) classify(x *Index, name string) {
	x.orphans.deciding.Lock()
	changed := x.orphans.set(name, o.isOrphan(x, name))
	x.orphans.deciding.Unlock()
	if changed {
		o.report(x)
	}
}

// isOrphan reports whether a Delivery is an orphan, for one of these reasons:
//
//   - The host has no wrapper of the name in the Delivery, for example because the member was taken over from another
//     host.
//   - The wrapper is not placed on this member. Either the Delivery belongs to an earlier wrapper of the same name, or
//     the host was restored to a time before the placement, or an Approval released the wrapper from the member.
//   - The Delivery does not have the name that a Delivery of its wrapper must have, so no pass reads it.
func (o *Orphans) isOrphan(x *Index, name string) bool {
	seen := x.summaries.get(name)
	if seen == nil {
		return false
	}
	key := KeyOf(seen.Wrapper)
	uid, there, decided := o.wrappers.get(key)
	switch {
	case !there, key.Delivery() != name:
		return true
	case decided.uid != uid, slices.Contains(decided.unrendered, x.Member()):
		return false
	}
	desired, leaving := o.desired(key, x.Member())
	return !desired || leaving && uid != seen.Wrapper.UID
}

// report calls notify for a member if the orphans on that member are known.
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

// set stores whether a Delivery is an orphan, and reports whether that has changed.
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

// sorted returns the names of all orphans, sorted.
func (o *orphanNames) sorted() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.names))
}

// hostWrappers has the names and uids of the host's wrappers. The zero value has none.
type hostWrappers struct {
	mu sync.RWMutex
	// complete is true after every wrapper of the host was added once. Before that, every Delivery would look like an
	// orphan.
	complete bool
	wrappers map[Key]types.UID
	// decided has the last decision about each wrapper. MarkDecided adds a wrapper after the manager has set the wrapper's desired state
	// on every placed member.
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
