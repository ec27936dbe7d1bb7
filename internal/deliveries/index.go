// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// Change is an event about one Delivery of a member.
type Change struct {
	// Name is the name of the Delivery.
	Name string
	// Was is the last known state, nil for a new Delivery. Is is the present state, nil for a deleted one. They are equal when a
	// list repeats a known Delivery.
	Was, Is *Summary
	// IsNews reports whether the present state differs from the last one.
	IsNews bool
}

// Listener receives changes to the Deliveries of members. The goroutine that follows a member makes the calls, one at a time,
// after the index has the new state. A call must not block.
type Listener interface {
	// Changed reports each event of the watch, and each Delivery of a list.
	Changed(x *Index, change Change)
	// Listed reports that the index has a complete list, with the generations of the Deliveries by name.
	Listed(x *Index, generations map[string]int64)
	// Readable reports that the host can read the member's Deliveries: for the first time, or again.
	Readable(x *Index, first bool)
	// Unreadable reports that the host cannot read the member's Deliveries, for a new reason.
	Unreadable(x *Index)
}

// Index holds what one member has on record, and follows it. It lives as long as the connection that it was opened with.
type Index struct {
	conn *member.Conn
	// notify makes a call to each listener. It may not be called with mu held.
	notify   func(func(Listener))
	liveness liveness
	orphans  orphanNames
	// reconnect makes Follow list and watch again.
	reconnect chan struct{}

	mu sync.Mutex
	// listed is true after the first complete list. Before that, a missing summary means nothing.
	listed    bool
	summaries map[string]*Summary
	// recalled are the names of the summaries that passes have used up.
	recalled sets.Set[string]
	// recorded has the generation that the last pass of a pair left, by name, if the pass recorded all that it did.
	recorded map[string]int64
	// weight is the weight of all summaries.
	weight int
	// unreadable is why the host cannot read the Deliveries, "" when it can.
	unreadable string
}

func newIndex(conn *member.Conn, clk clock.PassiveClock, notify func(func(Listener))) *Index {
	return &Index{
		conn:      conn,
		notify:    notify,
		liveness:  liveness{clock: clk, awaited: make(map[string]written)},
		reconnect: make(chan struct{}, 1),
		summaries: make(map[string]*Summary),
		recalled:  sets.New[string](),
		recorded:  make(map[string]int64),
	}
}

// Member is the member's name.
func (x *Index) Member() string { return x.conn.Name() }

// Get returns the summary of a wrapper's Delivery. It is nil if the member has no such Delivery, or the index does not know it.
func (x *Index) Get(key Key) *Summary { return x.get(key.Delivery()) }

func (x *Index) get(name string) *Summary {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.summaries[name]
}

// Recall is the summary of a wrapper's Delivery, for a pass that writes the Delivery without reading it. It is nil when the pass
// has to read: there is no live watch, or the host has written the Delivery and the watch has not brought it yet.
//
// Every pass uses a summary up, also a pass that gets nil. A pass names the uid and the generation of the summary in its write,
// and a member that was restored from a backup can come to the same generation again with another inventory. That takes
// a write of the host, and so a pass.
func (x *Index) Recall(key Key) *Summary {
	name := key.Delivery()
	isCurrent := x.liveness.isCurrent(name)
	x.mu.Lock()
	defer x.mu.Unlock()
	is := x.summaries[name]
	if is == nil || x.recalled.Has(name) {
		return nil
	}
	x.recalled.Insert(name)
	if !isCurrent || !x.listed || x.unreadable != "" {
		return nil
	}
	return is
}

// Recorded notes that a pass recorded all that it did, and left the Delivery at this generation.
func (x *Index) Recorded(key Key, generation int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.recorded[key.Delivery()] = generation
}

// TakeRecorded reports whether the last pass of a pair recorded all that it did, and left the Delivery as this summary has it. It
// is false before the first pass through this connection. Every pass uses this up, so that it stays false after a pass that failed.
func (x *Index) TakeRecorded(key Key, is *Summary) bool {
	name := key.Delivery()
	x.mu.Lock()
	defer x.mu.Unlock()
	generation, ok := x.recorded[name]
	delete(x.recorded, name)
	return ok && is != nil && is.Generation == generation
}

// Record is what a member has on record of one wrapper.
type Record struct {
	// Listed is true after the first complete list of the member's Deliveries.
	Listed bool
	// Unreadable is why the host cannot read the Deliveries, when the reason lies in the Deliveries. Otherwise it is "".
	Unreadable string
	// Summary is the summary of the wrapper's Delivery. It is nil if the member has no such Delivery, or the index does not know it.
	Summary *Summary
}

func (x *Index) record(key Key) Record {
	name := key.Delivery()
	x.mu.Lock()
	defer x.mu.Unlock()
	return Record{Listed: x.listed, Unreadable: x.unreadable, Summary: x.summaries[name]}
}

// IsListed reports whether the index has had a complete list of the member's Deliveries.
func (x *Index) IsListed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.listed
}

// names are the names of all Deliveries.
func (x *Index) names() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	names := make([]string, 0, len(x.summaries))
	for name := range x.summaries {
		names = append(names, name)
	}
	return names
}

// Put sets the present state of a Delivery. Tests call Put, Remove and Replace in place of a watch.
func (x *Index) Put(d *v1alpha1.Delivery) {
	e := newDecoded(d)
	x.put(e.Name, e.summary)
}

// Remove removes a Delivery.
func (x *Index) Remove(name string) { x.remove(name) }

// Replace sets all Deliveries.
func (x *Index) Replace(all ...*v1alpha1.Delivery) {
	listed := make([]*decoded, 0, len(all))
	for _, d := range all {
		listed = append(listed, newDecoded(d))
	}
	x.replace(listed)
}

// put sets the present state of a Delivery.
func (x *Index) put(name string, is *Summary) {
	x.mu.Lock()
	was := x.summaries[name]
	x.summaries[name] = is
	x.recalled.Delete(name)
	if was != nil && was.UID != is.UID {
		delete(x.recorded, name)
	}
	x.weight += is.weight() - was.weight()
	x.mu.Unlock()
	x.liveness.brought(name, is)
	change := Change{Name: name, Was: was, Is: is, IsNews: !reflect.DeepEqual(was, is)} // compared once for all listeners
	x.notify(func(l Listener) { l.Changed(x, change) })
}

// remove removes a Delivery that is gone.
func (x *Index) remove(name string) {
	x.mu.Lock()
	was := x.summaries[name]
	delete(x.summaries, name)
	x.recalled.Delete(name)
	delete(x.recorded, name)
	x.weight -= was.weight()
	x.mu.Unlock()
	x.liveness.forget(name)
	if was != nil {
		x.notify(func(l Listener) { l.Changed(x, Change{Name: name, Was: was, IsNews: true}) })
	}
}

// replace takes a complete list: a Delivery that the list does not have is gone.
func (x *Index) replace(listed []*decoded) {
	generations := make(map[string]int64, len(listed))
	for _, e := range listed {
		generations[e.Name] = e.summary.Generation
		x.put(e.Name, e.summary)
	}
	for _, name := range x.names() {
		if _, there := generations[name]; !there {
			x.remove(name)
		}
	}
	x.liveness.keepOnly(generations)
	x.notify(func(l Listener) { l.Listed(x, generations) })
	x.mu.Lock()
	first, again := !x.listed, x.unreadable != ""
	x.listed, x.unreadable = true, ""
	x.mu.Unlock()
	if first || again {
		x.notify(func(l Listener) { l.Readable(x, first) })
	}
}

// hasRoomFor reports whether the index may keep this Delivery within maxWeight.
func (x *Index) hasRoomFor(name string, is *Summary) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.weight-x.summaries[name].weight()+is.weight() <= maxWeight
}

// noteUnreadable notes why the host cannot read the Deliveries.
func (x *Index) noteUnreadable(why string) {
	x.mu.Lock()
	news := x.unreadable != why
	x.unreadable = why
	x.mu.Unlock()
	if news {
		x.notify(func(l Listener) { l.Unreadable(x) })
	}
}
