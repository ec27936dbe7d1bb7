// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
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
	// Is is the present summary; nil for a deleted Delivery. It equals Was if a list has brought a Delivery that has
	// not changed.
	Is *Summary
	// IsNews is true if Was and Is differ. A change of the evidence alone is no news.
	IsNews bool
	// Evidence is the evidence in the Delivery.
	Evidence Evidence
}

// Evidence is what the collector saw on the member about the objects of a Delivery: those that are not healthy, and those about which a
// person asked. Objects and Answers fit the schema of a MemberReport, and have clean texts (see boundEvidence).
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
	// Listed reports a complete list: generations has the generation of each Delivery in it, by name. Changed was
	// called for each of them before.
	Listed(x *Index, generations map[string]int64)
	// Readable reports that the host can read the member's Deliveries. The index calls it after its first complete list, and then first is
	// true. It also calls it after a later complete list if Unreadable was called before, and then first is false.
	Readable(x *Index, first bool)
	// Unreadable reports that the host cannot read the member's Deliveries. It is called again when the reason changes.
	Unreadable(x *Index)
}

// Index has the summaries of one member's Deliveries and keeps them current. Each connection to the member has an Index
// of its own.
type Index struct {
	conn      *member.Conn
	summaries *summaries
	liveness  *liveness
	orphans   orphanNames
	sink      *sink
	follower  *follower
}

// SharedIntents gets what the host reads of a member's list of shared intents (package push/intents). That list is no Delivery of a wrapper,
// so the index has no summary of it.
type SharedIntents interface {
	// Recover is called when a list of all Deliveries has the list of shared intents, before the index takes that list. It writes the
	// Deliveries that are missing because a manager was interrupted, and calls made with each. After an error the index does not take the
	// list, and lists again later: without these Deliveries it would report that wrappers have left the member.
	Recover(ctx context.Context, version v1alpha1.DeliveryVersion, made func(*v1alpha1.Delivery) error) error
	// Seen is called when the watch brings the list of shared intents. Generation 0 means that the list is gone: the one with this uid, or, if
	// the uid is "", a list of all Deliveries does not have it. It must not block.
	Seen(version v1alpha1.DeliveryVersion)
}

// newIndex makes an empty index. notify makes a call to each listener. shared may be nil.
func newIndex(conn *member.Conn, clk clock.PassiveClock, shared SharedIntents, notify func(func(Listener))) *Index {
	x := &Index{conn: conn, summaries: newSummaries(), liveness: &liveness{clock: clk, awaited: make(map[string]written)}}
	x.sink = &sink{index: x, summaries: x.summaries, liveness: x.liveness, notify: notify, shared: shared}
	x.follower = &follower{conn: conn, liveness: x.liveness, sink: x.sink, reconnect: make(chan struct{}, 1)}
	return x
}

// Member returns the member's name.
func (x *Index) Member() string { return x.conn.Name() }

// Get returns the summary of a wrapper's Delivery; nil if the member has no such Delivery, or the index has not read it
// yet.
func (x *Index) Get(key Key) *Summary { return x.summaries.get(key.Delivery()) }

// Recall returns the summary of a wrapper's Delivery to a pass, so that the pass can write the Delivery without reading
// it. It returns nil if the pass has to read the Delivery first, in these cases:
//
//   - The Deliveries are not listed yet, or the host cannot read them.
//   - The host has written the Delivery, and the watch has not brought that write yet.
//   - Recall was called before for this summary.
//
// Why Recall returns a summary only once: the write of the pass tests only the uid and the generation of the Delivery. After a member was
// restored from a backup, the write of another pass can give the Delivery the same generation again, with another inventory. A second pass
// with the same summary could then overwrite this unknown inventory.
func (x *Index) Recall(key Key) *Summary {
	name := key.Delivery()
	return x.summaries.recall(name, x.liveness.isCurrent(name))
}

// Recorded notes that a pass recorded in the Delivery all that it did. generation is that of the Delivery after the
// pass.
func (x *Index) Recorded(key Key, generation int64) {
	x.summaries.noteRecorded(key.Delivery(), generation)
}

// TakeRecorded reports whether Recorded was called for the Delivery since the last call of TakeRecorded, and the summary still has the
// generation given there. So it returns false after a pass that failed, and before the first pass of a connection.
func (x *Index) TakeRecorded(key Key, is *Summary) bool {
	return x.summaries.takeRecorded(key.Delivery(), is)
}

// Record is what the index of one member has about one wrapper.
type Record struct {
	// Listed is true after the first complete list of the member's Deliveries.
	Listed bool
	// Unreadable is the reason why the host cannot read the Deliveries, for example that they are too large; "" if
	// there is none. An outage of the member is no such reason.
	Unreadable string
	// Summary is the summary of the wrapper's Delivery; nil if the member has no such Delivery, or the index has not read
	// it yet.
	Summary *Summary
}

// IsListed reports whether the index has read a complete list of the member's Deliveries.
func (x *Index) IsListed() bool { return x.summaries.isListed() }

// IsListing reports whether a list of all Deliveries is under way.
func (x *Index) IsListing() bool { return x.liveness.isListing() }

// Written records that the host has written a wrapper's Delivery. From then on, the index waits until the watch brings this uid and
// generation. An empty uid means that the member has no Delivery after the pass, so there is nothing to wait for.
func (x *Index) Written(key Key, uid types.UID, generation int64) {
	x.liveness.await(key.Delivery(), written{uid: uid, generation: generation}, func() *Summary { return x.Get(key) })
}

// Forget ends the wait for the watch to bring a wrapper's Delivery.
func (x *Index) Forget(key Key) { x.liveness.forget(key.Delivery()) }

// Follow lists and watches the member's Deliveries until ctx ends. After an outage of the member, or when the watch brings no more events,
// a call of Probed makes Follow list again at once. Otherwise the reflector would first wait for its backoff.
func (x *Index) Follow(ctx context.Context) { x.follower.follow(ctx) }

// Probed gets the results of the last two probes of the member. After an outage, and also when the member answers but
// the watch is dead, it restarts the list and the watch of the method Follow.
func (x *Index) Probed(was, is member.ProbeResult) { x.follower.probed(was, is) }

// Put stores the present state of a Delivery. Only tests call the methods Put, Remove and Replace, in place of a watch.
func (x *Index) Put(d *v1alpha1.Delivery) {
	x.sink.put(newDecoded(d))
}

// Remove removes a Delivery.
func (x *Index) Remove(name string) { x.sink.remove(name) }

// Replace stores a complete list of Deliveries.
func (x *Index) Replace(all ...*v1alpha1.Delivery) {
	listed := make([]*decoded, 0, len(all))
	for _, d := range all {
		listed = append(listed, newDecoded(d))
	}
	x.sink.replace(listed)
}
