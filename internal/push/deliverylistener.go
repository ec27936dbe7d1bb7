// SPDX-License-Identifier: Apache-2.0

package push

import (
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// observer gets each change of the member's Deliveries from package deliveries, and queues the pair of the Delivery.
type observer struct{ *memberQueue }

var _ deliveries.Listener = observer{}

// Changed implements deliveries.Listener.
func (o observer) Changed(_ *deliveries.Index, c deliveries.Change) {
	if c.Is == nil {
		o.vanished(c.Was)
		return
	}
	key := KeyOf(c.Is.Wrapper)
	if len(c.Is.Drifts()) == 0 {
		o.histories.changeKnown(key, func(h *plan.History, _ time.Time) { h.ForgetRepairs() })
	}
	if c.Was == nil && len(c.Is.Secrets) > 0 || c.Was != nil && !slices.Equal(c.Was.Secrets, c.Is.Secrets) {
		o.pusher.secrets.enlist(key, o.conn.Name())
	}
	o.requests.compare(key, &c)
	if c.IsNews {
		o.queue.Add(key)
	}
}

// vanished acts on a Delivery that is not on the member any more. The argument was has the last summary of that Delivery.
func (o observer) vanished(was *deliveries.Summary) {
	key := KeyOf(was.Wrapper)
	o.histories.changeKnown(key, func(h *plan.History, _ time.Time) {
		if h.Last().UID == was.UID {
			// The last pass left this Delivery on the member. Without the Delivery, the outcome of that pass is not true any
			// more.
			h.ForgetOutcome()
		}
	})
	o.requests.forget(key)
	o.pusher.secrets.enlist(key, o.conn.Name())
	o.queue.Add(key)
}

// Listed implements deliveries.Listener.
func (o observer) Listed(_ *deliveries.Index, generations map[string]int64) {
	for _, key := range o.histories.forgetContradicted(generations) {
		o.queue.Add(key)
	}
}

// Readable implements deliveries.Listener. The manager decides about a pair only when it has read the member's
// Deliveries, so the first list queues all pairs.
func (o observer) Readable(_ *deliveries.Index, first bool) {
	if first {
		o.pusher.opened(o.memberQueue)
		return
	}
	o.pusher.wakeAllOf(o.conn.Name()) // most pairs get no other event that reports that their Deliveries can be read again
}

// Unreadable implements deliveries.Listener.
func (o observer) Unreadable(*deliveries.Index) { o.pusher.wakeAllOf(o.conn.Name()) }
