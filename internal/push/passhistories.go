// SPDX-License-Identifier: Apache-2.0

package push

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// histories are the pass histories (plan.History) of the pairs of one member. A history decides when its pair needs a
// pass.
type histories struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	all map[Key]*plan.History
}

// change calls the function do with the history of a pair and the present time. This function may change the history.
// If the history is empty after that, change drops it.
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

// changeKnown does the same as the method change if the pair has a history. For any other pair it does nothing.
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

// forget drops the history of a pair, because the pair has a new desired state. Otherwise the outcome of an equal
// earlier state would count: a wrapper that leaves a member for the second time would count as having left already.
func (h *histories) forget(key Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, key)
}

// of returns the outcome of the last pass of a pair, and the status message about its contested objects.
func (h *histories) of(key Key) (last plan.Outcome, contested string) {
	h.changeKnown(key, func(is *plan.History, _ time.Time) { last, contested = is.Last(), is.Contested() })
	return last, contested
}

// rests reports whether no further pass has to follow the last pass of a pair (plan.History.Rests). It returns false
// for a pair without a history.
func (h *histories) rests(key Key, desired *plan.Desired, seen *deliveries.Summary) (rests bool) {
	h.changeKnown(key, func(is *plan.History, now time.Time) { rests = is.Rests(desired, seen, now) })
	return rests
}

// forgetContradicted gets a complete list of the member's Deliveries: generations has the generation of each, by its
// name. It drops the outcome of each pass whose Delivery is missing or older in the list, and returns the pairs of
// these passes. Either the member was restored from a backup that is older than the pass, or the list is older than the
// pass. In the second case, the next pass finds nothing to write.
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
