// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"reflect"
	"sync"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// Change is news of one Delivery of a member.
type Change struct {
	// Name is the Delivery's.
	Name string
	// Was is the last known state, nil of a Delivery that is new. Is is the present one, nil of a Delivery that is gone. A
	// list repeats what is known already: then both say the same.
	Was, Is *Summary
}

// IsNews reports whether the present state differs from the last one.
func (c Change) IsNews() bool {
	return (c.Was == nil) != (c.Is == nil) || !reflect.DeepEqual(c.Was, c.Is)
}

// Listener learns what the members have on record. The watch of a member calls it, one call after the other, once Store and
// Index tell the new state. A call must not block.
type Listener interface {
	// Changed tells of each event of the watch, and of each Delivery of a list.
	Changed(x *Index, change Change)
	// Listed tells that a whole list of a member was taken in, with the generations of the Deliveries by name.
	Listed(x *Index, generations map[string]int64)
	// Readable tells that a member's Deliveries can be read now: for the first time, or again.
	Readable(x *Index, first bool)
	// Unreadable tells that there is another reason why a member's Deliveries cannot be read.
	Unreadable(x *Index)
}

// Index is what one member has on record. It lives as long as the connection that it was opened with.
type Index struct {
	conn     *member.Conn
	tell     func(func(Listener))
	liveness liveness
	orphans  orphanNames
	// reconnect has the watch begin anew.
	reconnect chan struct{}

	mu sync.Mutex
	// listed is whether the Deliveries were listed since the index was opened: before that nothing is known.
	listed    bool
	summaries map[string]*Summary
	// weight is what the summaries weigh.
	weight int
	// unreadable is why the Deliveries cannot be read, "" when they can.
	unreadable string
}

func newIndex(conn *member.Conn, clk clock.PassiveClock, tell func(func(Listener))) *Index {
	return &Index{
		conn:      conn,
		tell:      tell,
		liveness:  liveness{clock: clk, awaited: make(map[string]written)},
		reconnect: make(chan struct{}, 1),
		summaries: make(map[string]*Summary),
	}
}

// Member is the member's name.
func (x *Index) Member() string { return x.conn.Name() }

// Get is the summary of a wrapper's Delivery, nil when there is none, or not known.
func (x *Index) Get(key Key) *Summary { return x.get(key.Delivery()) }

func (x *Index) get(name string) *Summary {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.summaries[name]
}

// Record is what a member has on record of one wrapper.
type Record struct {
	// Listed is whether the member's Deliveries are known.
	Listed bool
	// Unreadable is why they cannot be read, where that is for what they are; "" when nothing is known to be in the way.
	Unreadable string
	// Summary is that of the Delivery, nil when there is none, or not known.
	Summary *Summary
}

func (x *Index) record(key Key) Record {
	name := key.Delivery()
	x.mu.Lock()
	defer x.mu.Unlock()
	return Record{Listed: x.listed, Unreadable: x.unreadable, Summary: x.summaries[name]}
}

// IsListed reports whether the member's Deliveries are known.
func (x *Index) IsListed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.listed
}

// names are those of all Deliveries.
func (x *Index) names() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	names := make([]string, 0, len(x.summaries))
	for name := range x.summaries {
		names = append(names, name)
	}
	return names
}

// Put takes in a Delivery as it is on the member now. Put, Remove and Replace are for tests, in place of a watch.
func (x *Index) Put(d *v1alpha1.Delivery) {
	e := newDecoded(d)
	x.put(e.Name, e.summary)
}

// Remove takes in that a Delivery is gone.
func (x *Index) Remove(name string) { x.remove(name) }

// Replace takes in a whole list.
func (x *Index) Replace(all ...*v1alpha1.Delivery) {
	listed := make([]*decoded, 0, len(all))
	for _, d := range all {
		listed = append(listed, newDecoded(d))
	}
	x.replace(listed)
}

// put takes in a Delivery as it is on the member now.
func (x *Index) put(name string, is *Summary) {
	x.mu.Lock()
	was := x.summaries[name]
	x.summaries[name] = is
	x.weight += is.weight() - was.weight()
	x.mu.Unlock()
	x.liveness.brought(name, is)
	x.tell(func(l Listener) { l.Changed(x, Change{Name: name, Was: was, Is: is}) })
}

// remove takes in that a Delivery is gone.
func (x *Index) remove(name string) {
	x.mu.Lock()
	was := x.summaries[name]
	delete(x.summaries, name)
	x.weight -= was.weight()
	x.mu.Unlock()
	x.liveness.forget(name)
	if was != nil {
		x.tell(func(l Listener) { l.Changed(x, Change{Name: name, Was: was}) })
	}
}

// replace takes in a whole list: what is not in it is gone.
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
	x.tell(func(l Listener) { l.Listed(x, generations) })
	x.mu.Lock()
	first, again := !x.listed, x.unreadable != ""
	x.listed, x.unreadable = true, ""
	x.mu.Unlock()
	if first || again {
		x.tell(func(l Listener) { l.Readable(x, first) })
	}
}

// hasRoomFor reports whether one more Delivery, or another state of one, may be kept.
func (x *Index) hasRoomFor(name string, is *Summary) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.weight-x.summaries[name].weight()+is.weight() <= maxWeight
}

// noteUnreadable takes in why the Deliveries cannot be read.
func (x *Index) noteUnreadable(why string) {
	x.mu.Lock()
	news := x.unreadable != why
	x.unreadable = why
	x.mu.Unlock()
	if news {
		x.tell(func(l Listener) { l.Unreadable(x) })
	}
}
