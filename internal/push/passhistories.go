// SPDX-License-Identifier: Apache-2.0

package push

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// histories are the pass histories of the pairs of one member. Package plan judges them.
type histories struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	all map[Key]*plan.History
}

// change lets do read and change the history of a pair, at the present time. It drops a history that is empty after
// that.
func (h *histories) change(key Key, do func(*plan.History, time.Time)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.all[key]
	if of == nil {
		of = &plan.History{}
	}
	do(of, h.clock.Now())
	if of.IsEmpty() {
		delete(h.all, key)
		return
	}
	if h.all == nil {
		h.all = make(map[Key]*plan.History)
	}
	h.all[key] = of
}

// changeKnown is change for a pair that has a history. For all other pairs it does nothing.
func (h *histories) changeKnown(key Key, do func(*plan.History, time.Time)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.all[key]
	if of == nil {
		return
	}
	if do(of, h.clock.Now()); of.IsEmpty() {
		delete(h.all, key)
	}
}

// forget drops the history of a pair. Otherwise a later, equal desired state would take an earlier outcome for its own.
// A member that was left, placed again and left once more would count as left already.
func (h *histories) forget(key Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, key)
}

// of returns the last outcome of a pair, and the message about its contested objects.
func (h *histories) of(key Key) (last plan.Outcome, contested string) {
	h.changeKnown(key, func(is *plan.History, _ time.Time) { last, contested = is.Last(), is.Contested() })
	return last, contested
}

// rests reports whether the last pass brought a pair to its desired state, see plan.History.
func (h *histories) rests(key Key, desired *plan.Desired, seen *deliveries.Summary) (rests bool) {
	h.changeKnown(key, func(is *plan.History, now time.Time) { rests = is.Rests(desired, seen, now) })
	return rests
}

// forgetContradicted drops the outcomes of passes that a complete list contradicts, and returns their pairs. A
// member that was restored from a backup is older than these passes. The list may also be older than the pass; the
// next pass then finds nothing to do.
func (h *histories) forgetContradicted(generations map[string]int64) (keys []Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, of := range h.all {
		last := of.Last()
		if generation, there := generations[key.Delivery()]; last.UID != "" && (!there || generation < last.Generation) {
			if of.ForgetOutcome(); of.IsEmpty() {
				delete(h.all, key)
			}
			keys = append(keys, key)
		}
	}
	return keys
}
