// SPDX-License-Identifier: Apache-2.0

package push

import (
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// observer informs a queue of the Deliveries that its member has.
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
	if c.IsNews {
		o.queue.Add(key)
	}
}

// vanished handles a Delivery that is no longer on the member.
func (o observer) vanished(was *deliveries.Summary) {
	key := KeyOf(was.Wrapper)
	o.histories.changeKnown(key, func(h *plan.History, _ time.Time) {
		if h.Last().UID == was.UID {
			// The Delivery disappeared although the last pass left it there: the outcome of that pass is no longer
			// true.
			h.ForgetOutcome()
		}
	})
	o.pusher.secrets.enlist(key, o.conn.Name())
	o.queue.Add(key)
}

// Listed implements deliveries.Listener.
func (o observer) Listed(_ *deliveries.Index, generations map[string]int64) {
	for _, key := range o.histories.forgetContradicted(generations) {
		o.queue.Add(key)
	}
}

// Readable implements deliveries.Listener. It opens the queue for pushes: from now on the manager knows the member's
// Deliveries.
func (o observer) Readable(_ *deliveries.Index, first bool) {
	if first {
		o.pusher.opened(o.memberQueue)
		return
	}
	o.pusher.wakeAllOf(o.conn.Name()) // no other event wakes most pairs
}

// Unreadable implements deliveries.Listener.
func (o observer) Unreadable(*deliveries.Index) { o.pusher.wakeAllOf(o.conn.Name()) }
