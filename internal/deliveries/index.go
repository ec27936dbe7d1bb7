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

// Change is one change of a member's Deliveries, as a listener gets it.
type Change struct {
	// Name is the name of the Delivery.
	Name string
	// Was is the summary before the change; nil for a new Delivery.
	Was *Summary
	// Is is the present summary; nil for a deleted Delivery. It equals Was if a list has the Delivery as the index knows
	// it.
	Is *Summary
	// IsNews is true if Was and Is differ. A change of the evidence alone is no news.
	IsNews bool
	// Evidence is the evidence in the Delivery.
	Evidence Evidence
}

// Evidence is what the collector saw on the member about the objects of a Delivery: those that are not healthy, and those about which a
// person asked. Its texts are clean, and
// fit the schema of a MemberReport.
type Evidence struct {
	Objects []v1alpha1.ObjectEvidence
	// Requests are the requests for evidence in the Delivery, and Answers the collector's answers to them.
	Requests []v1alpha1.EvidenceRequest
	Answers  []v1alpha1.EvidenceAnswer
	// Omitted is true if the Delivery may have evidence that the host did not keep, because the list had too much.
	Omitted bool
}

// Listener gets the changes of the members' Deliveries. For one member, the calls come one at a time, after the index
// has the new state. A call must not block, because the next event of the member waits for its end.
type Listener interface {
	// Changed reports one event of the watch, or one Delivery of a list.
	Changed(x *Index, change Change)
	// Listed reports a complete list, as the generation of each Delivery by name. Changed was called for each of them.
	Listed(x *Index, generations map[string]int64)
	// Readable reports that the host can read the member's Deliveries. first is true after the first complete list; it is
	// false if Unreadable was called before.
	Readable(x *Index, first bool)
	// Unreadable reports that the host cannot read the member's Deliveries. It is called again when the reason changes.
	Unreadable(x *Index)
}

// Index has the summaries of one member's Deliveries and keeps them current. Each connection to the member has an Index
// of its own.
type Index struct {
	conn *member.Conn
	// notify makes a call to each listener. Its caller must not hold mu.
	notify   func(func(Listener))
	liveness liveness
	orphans  orphanNames
	// reconnect gets a signal when Follow has to list and watch again.
	reconnect chan struct{}

	mu sync.Mutex
	// listed is true after the first complete list. Before that, a Delivery without a summary here may still exist.
	listed    bool
	summaries map[string]*Summary
	// recalled has the names of the Deliveries for whose present summary Recall was called already.
	recalled sets.Set[string]
	// recorded has, for each Delivery whose last pass recorded in it all that the pass did, the generation after that
	// pass.
	recorded map[string]int64
	// weight is the weight of all summaries, in bytes.
	weight int
	// unreadable is why the host cannot read the Deliveries; "" when it can.
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

// Member returns the member's name.
func (x *Index) Member() string { return x.conn.Name() }

// Get returns the summary of a wrapper's Delivery; nil if the member has no such Delivery, or the index has not read it
// yet.
func (x *Index) Get(key Key) *Summary { return x.get(key.Delivery()) }

func (x *Index) get(name string) *Summary {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.summaries[name]
}

// Recall returns the summary of a wrapper's Delivery to a pass, so that the pass can write the Delivery without reading
// it. It returns nil if the pass has to read the Delivery first, in these cases:
//
//   - The Deliveries are not listed yet, or the host cannot read them.
//   - The host has written the Delivery, and the watch has not brought that write yet.
//   - Recall was called before for this summary.
//
// Why Recall returns a summary only once: the write of the pass tests only the uid and the generation of the Delivery.
// A member that was restored from a backup can reach the same generation again, with another inventory, by the write of
// another pass. A second pass with the same summary could then overwrite an inventory that it does not know.
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

// Recorded notes that a pass recorded in the Delivery all that it did. generation is that of the Delivery after the
// pass.
func (x *Index) Recorded(key Key, generation int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.recorded[key.Delivery()] = generation
}

// TakeRecorded reports whether the last pass recorded in the Delivery all that it did, and the summary still has the
// generation of that record. It also forgets that record, so the next call returns false unless Recorded was called
// again. So the answer is false after a pass that failed, and before the first pass of a connection.
func (x *Index) TakeRecorded(key Key, is *Summary) bool {
	name := key.Delivery()
	x.mu.Lock()
	defer x.mu.Unlock()
	generation, ok := x.recorded[name]
	delete(x.recorded, name)
	return ok && is != nil && is.Generation == generation
}

// Record is what the index of one member has about one wrapper.
type Record struct {
	// Listed is true after the first complete list of the member's Deliveries.
	Listed bool
	// Unreadable is why the host cannot read the Deliveries, for example because they are too large; "" if there is no
	// such reason. An outage of the member is none.
	Unreadable string
	// Summary is the summary of the wrapper's Delivery; nil if the member has no such Delivery, or the index has not read
	// it yet.
	Summary *Summary
}

func (x *Index) record(key Key) Record {
	name := key.Delivery()
	x.mu.Lock()
	defer x.mu.Unlock()
	return Record{Listed: x.listed, Unreadable: x.unreadable, Summary: x.summaries[name]}
}

// IsListed reports whether the index has read a complete list of the member's Deliveries.
func (x *Index) IsListed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.listed
}

// names returns the names of all Deliveries.
func (x *Index) names() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	names := make([]string, 0, len(x.summaries))
	for name := range x.summaries {
		names = append(names, name)
	}
	return names
}

// Put stores the present state of a Delivery. Only tests call Put, Remove and Replace: they take the place of a watch.
func (x *Index) Put(d *v1alpha1.Delivery) {
	x.put(newDecoded(d))
}

// Remove removes a Delivery.
func (x *Index) Remove(name string) { x.remove(name) }

// Replace stores a complete list of Deliveries.
func (x *Index) Replace(all ...*v1alpha1.Delivery) {
	listed := make([]*decoded, 0, len(all))
	for _, d := range all {
		listed = append(listed, newDecoded(d))
	}
	x.replace(listed)
}

// put stores the present summary of a Delivery, and passes its evidence to the listeners.
func (x *Index) put(e *decoded) {
	name, is := e.Name, e.summary
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
	change := Change{Name: name, Was: was, Is: is, Evidence: e.evidence}
	change.IsNews = !reflect.DeepEqual(was, is) // compared here once, so that the listeners need not
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

// replace stores a complete list, and removes every Delivery that is not in it.
func (x *Index) replace(listed []*decoded) {
	generations := make(map[string]int64, len(listed))
	for _, e := range listed {
		generations[e.Name] = e.summary.Generation
		x.put(e)
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

// hasRoomFor reports whether the summaries stay within maxWeight if the index stores this one.
func (x *Index) hasRoomFor(name string, is *Summary) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.weight-x.summaries[name].weight()+is.weight() <= maxWeight
}

// noteUnreadable records why the host cannot read the Deliveries, and calls the listeners if the reason is new.
func (x *Index) noteUnreadable(why string) {
	x.mu.Lock()
	news := x.unreadable != why
	x.unreadable = why
	x.mu.Unlock()
	if news {
		x.notify(func(l Listener) { l.Unreadable(x) })
	}
}
