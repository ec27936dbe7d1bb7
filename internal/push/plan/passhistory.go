// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// History is what the manager remembers of the passes of one pair. It decides when the next pass is due. If passes
// fail, it makes the time between them longer (method again). The zero value is a pair that has had no pass.
type History struct {
	last     Outcome
	repairs  driftRepairs
	failures int
}

// Work is what a pass does besides applying a new desired state.
type Work struct {
	// Drifted are the objects to repair, each with the kind of its drift.
	Drifted map[ObjectID]v1alpha1.DriftKind
	// Marks has the ID (deliveries.DriftID) of each drift that the collector reported and that the pass is to repair.
	Marks map[ObjectID]string
	// Gone has, for each object that the collector reported as gone, the uid that the Delivery recorded at that time.
	Gone map[ObjectID]types.UID
	// Unfinished are the objects in Drifted that no other client changed: the manager itself applied them and did not
	// record that in the Delivery. The pass applies them again even under drift: Report, and the drift backoff does not
	// count these repairs.
	Unfinished sets.Set[ObjectID]
	// Secrets are the names of the Secrets to check; set only when the pair needs no pass for another reason.
	Secrets []string
	// IsNew is true if the host knows of no Delivery of the pair, and has made no pass for the pair before.
	IsNew bool
	// Recalled is the summary of the Delivery that the host has in memory. With this summary, the pass can write the
	// Delivery without reading the Delivery first. It is nil when the pass has to read the Delivery.
	Recalled *deliveries.Summary
	// IsRecorded is true if the last pass recorded in the Delivery all that it did, and the Delivery has not changed
	// since.
	IsRecorded bool
	// IsObserved is true if the member has a ready collector that reports unrecorded objects as unfinished.
	IsObserved bool
	// Unrecorded are the objects of the pair that earlier passes applied and could not record. The pass adds the objects
	// that it applies without an intent.
	Unrecorded UnrecordedOf
}

// Repaired returns the objects that another client had changed and that the pass repaired.
func (w *Work) Repaired(outcome *Outcome) []ObjectID {
	var ids []ObjectID
	for id := range w.Marks {
		if !w.Unfinished.Has(id) && !slices.Contains(outcome.Unrepaired, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Last returns the outcome of the last pass; before the first pass, an outcome whose Desired is nil.
func (h *History) Last() Outcome { return h.last }

// Contested returns the status message about objects that another client changes back after every repair; "" if there
// are none.
func (h *History) Contested() string { return h.repairs.backoffs.contested() }

// IsEmpty reports whether the history holds no information.
func (h *History) IsEmpty() bool {
	return h.last.Desired == nil && h.failures == 0 && h.repairs.isEmpty()
}

// Settle forgets the drift backoffs of objects that have been without drift for long enough. wake is the time until the
// next backoff can be forgotten; zero when there is none.
func (h *History) Settle(seen *deliveries.Summary, now time.Time) (wake time.Duration) {
	return h.repairs.backoffs.settle(seen.Drifts(), now)
}

// Due reports whether a pair needs a pass, and what that pass repairs. seen is the summary of the pair's Delivery, nil
// if the host knows none. secrets are the Secrets to check now. isListing reports whether a list of all Deliveries of
// the member is under way. wake is the time until a drift backoff allows a further repair; zero when no repair waits.
func (h *History) Due(desired *Desired, seen *deliveries.Summary, secrets []string, isListing bool, now time.Time) (todo Work, due bool, wake time.Duration) {
	last := h.last
	retry := h.last.retries(now)
	overtaken := last.isOvertakenBy(desired)
	unchanged, rests := desired.Same(last.Desired) && !overtaken, h.Rests(desired, seen, now)
	h.adoptLaterGeneration(desired)
	if desired.Leaving() || desired.Suspended {
		return Work{}, !unchanged || !last.Done && !rests, 0
	}
	todo, wake = h.repairs.due(desired, seen, last.Unrepaired, retry || overtaken, now)
	if len(todo.Drifted) > 0 {
		return todo, true, wake
	}
	switch {
	case !rests && !desired.IsHeldBy(seen):
		return Work{IsNew: seen == nil && last.Desired == nil && h.failures == 0 && !isListing}, true, wake
	case !desired.IsHeldBy(seen) && seen.ServedNow() && !last.Done:
		return Work{}, true, wake
	case desired.IsRecordedBy(seen):
		return Work{Secrets: secrets, Drifted: make(map[ObjectID]v1alpha1.DriftKind)}, len(secrets) > 0, wake
	}
	return Work{}, false, wake
}

// NeedsRecord reports whether a pair that has unrecorded objects needs a pass that records them. This can be so
// although the Delivery has the desired state as its target.
func (h *History) NeedsRecord(desired *Desired, seen *deliveries.Summary, now time.Time) bool {
	return desired != nil && !desired.Leaving() && !desired.Suspended && !h.Rests(desired, seen, now)
}

// adoptLaterGeneration replaces the last outcome's Desired by an equal Desired of a later generation. Without this, the
// spec of the earlier generation would stay in memory.
func (h *History) adoptLaterGeneration(desired *Desired) {
	if h.last.Desired != desired && desired.Same(h.last.Desired) && !h.last.isOvertakenBy(desired) {
		h.last.Desired = desired
	}
}

// Rests reports whether no further pass has to follow the last one. Four things must be true:
//
//   - The last pass was for this desired state, and the wrapper has no later generation that could end a hold of the
//     pair.
//   - It left a Delivery on the member.
//   - The host has read neither another Delivery of the wrapper nor a later generation of that Delivery since.
//   - The time of the next try has not come.
func (h *History) Rests(desired *Desired, seen *deliveries.Summary, now time.Time) bool {
	last := &h.last
	return desired.Same(last.Desired) && !last.isOvertakenBy(desired) && !last.retries(now) && last.UID != "" &&
		(seen == nil || seen.UID == last.UID && seen.Generation <= last.Generation)
}

// Finished records a pass that ended without an error. wake is the time until the manager has to decide again whether
// the pair needs a pass; zero when only an event can make a pass due.
func (h *History) Finished(outcome Outcome, todo *Work, seen *deliveries.Summary, now time.Time) (wake time.Duration) {
	h.last = outcome.withUnrepaired(h.last, h.last.stillUnrepaired(outcome.Desired, todo, seen))
	wake = h.repairs.tried(todo, &outcome, now)
	if outcome.Done {
		h.failures = 0
		return wake
	}
	if outcome.Retry > 0 {
		wake = sooner(wake, h.again(outcome.Retry, now))
	}
	return wake
}

// Failed records a pass that ended with an error. wake is the time until the next try.
func (h *History) Failed(desired *Desired, err error, now time.Time) (wake time.Duration) {
	h.last = Outcome{Desired: desired, State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Message: Quote(err.Error()), Unrepaired: h.last.Unrepaired}
	return h.again(time.Second, now)
}

// ForgetOutcome forgets the outcome of the last pass, because the Delivery that the pass left is no longer on the
// member.
func (h *History) ForgetOutcome() { h.last = Outcome{} }

// ForgetRepairs forgets which drifts a pass has tried to repair, because the collector no longer reports any drift.
func (h *History) ForgetRepairs() { h.repairs.repaired = nil }

// again records that a pass did not succeed, and returns the wait until the next try. The argument first is the wait
// after the first such pass. The wait doubles with each further pass that does not succeed, up to RetryLater.
func (h *History) again(first time.Duration, now time.Time) (wait time.Duration) {
	wait = max(first, min(first<<min(h.failures, 10), RetryLater))
	h.failures++
	if at := now.Add(wait); !h.last.Again.After(now) || at.Before(h.last.Again) {
		h.last.Again = at
	}
	return wait
}
