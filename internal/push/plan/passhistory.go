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

// History is the host's memory of the passes of one pair. It decides when the next one is due. It also has the
// backoff of a pair that fails (again). The zero value is a pair without any pass yet.
type History struct {
	last Outcome
	// repaired are the drifts that a pass has tried to repair.
	repaired sets.Set[string]
	// backoffs has the drift backoff of each object that the manager repaired recently.
	backoffs driftBackoffs
	failures int
}

// Work is what a pass does besides the change to the desired state.
type Work struct {
	// Drifted are the objects to repair, and Marks the IDs of these drifts. Gone has the recorded uid of each object
	// that the collector reported as gone, at the time of the report.
	Drifted map[ObjectID]v1alpha1.DriftKind
	Marks   map[ObjectID]string
	Gone    map[ObjectID]types.UID
	// Unfinished are drifted objects that the manager itself applied and did not record. The pass applies them again under every
	// spec.drift, and they do not count for the drift backoff.
	Unfinished sets.Set[ObjectID]
	// Secrets are the Secrets to check, of a pair that needs no other pass.
	Secrets []string
	// IsNew reports whether the host knows of no Delivery and of no earlier pass of the pair.
	IsNew bool
	// Recalled is the summary of the Delivery, for a pass that writes it without a read; nil when the pass has to read.
	Recalled *deliveries.Summary
	// IsRecorded reports whether the Delivery is as the last pass left it, and that pass recorded all that it did. IsObserved
	// reports whether a ready collector observes the member, and reports unrecorded objects as unfinished.
	IsRecorded, IsObserved bool
	// Unrecorded are the objects that earlier passes applied and could not record. The pass adds its own.
	Unrecorded UnrecordedOf
}

// repaired are the changes of other clients that the pass repaired.
func (w *Work) repaired(outcome *Outcome) []ObjectID {
	var ids []ObjectID
	for id := range w.Marks {
		if !w.Unfinished.Has(id) && !slices.Contains(outcome.Unrepaired, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Last is the outcome of the last pass; without a pass, it is an outcome without Desired.
func (h *History) Last() Outcome { return h.last }

// Contested returns the status message about objects that another client changes after every repair. It returns "" if
// there are none.
func (h *History) Contested() string { return h.backoffs.contested() }

// IsEmpty reports whether the history holds no information.
func (h *History) IsEmpty() bool {
	return h.last.Desired == nil && h.failures == 0 && len(h.repaired) == 0 && len(h.backoffs) == 0
}

// Settle forgets contested objects that have stayed unchanged for long enough. wake is the time until the next one can be
// forgotten; zero when there is none.
func (h *History) Settle(seen *deliveries.Summary, now time.Time) (wake time.Duration) {
	return h.backoffs.settle(seen.Drifts(), now)
}

// Due reports whether a pair needs a pass, and what that pass repairs. secrets are the Secrets whose turn it is.
// isListing reports whether a list of all Deliveries of the member is under way. wake is the time until a waiting
// repair becomes due; zero when none waits.
func (h *History) Due(desired *Desired, seen *deliveries.Summary, secrets []string, isListing bool, now time.Time) (todo Work, due bool, wake time.Duration) {
	last := h.last
	retry := h.retries(now)
	overtaken := last.isOvertakenBy(desired)
	unchanged, rests := desired.Same(last.Desired) && !overtaken, h.Rests(desired, seen, now)
	h.adoptLaterGeneration(desired)
	if desired.Leaving() || desired.Suspended {
		return Work{}, !unchanged || !last.Done && !rests, 0
	}
	todo, wake = h.repairs(desired, seen, retry || overtaken, now)
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

// NeedsRecord reports whether a pair needs a pass because of objects that an earlier pass applied and could not record. The
// Delivery may record the desired state all the same.
func (h *History) NeedsRecord(desired *Desired, seen *deliveries.Summary, now time.Time) bool {
	return desired != nil && !desired.Leaving() && !desired.Suspended && !h.Rests(desired, seen, now)
}

// retries reports whether the time has come for another try.
func (h *History) retries(now time.Time) bool {
	return !h.last.Again.IsZero() && !now.Before(h.last.Again)
}

// adoptLaterGeneration makes the last outcome refer to an equal desired state of a later generation. Otherwise all objects
// of the earlier generation's spec would stay in memory.
func (h *History) adoptLaterGeneration(desired *Desired) {
	if h.last.Desired != desired && desired.Same(h.last.Desired) && !h.last.isOvertakenBy(desired) {
		h.last.Desired = desired
	}
}

// Rests reports whether no pass is due. The last pass was for this desired state, its Delivery has not changed since,
// and the time for another try has not come.
func (h *History) Rests(desired *Desired, seen *deliveries.Summary, now time.Time) bool {
	last := &h.last
	return desired.Same(last.Desired) && !last.isOvertakenBy(desired) && !h.retries(now) && last.UID != "" &&
		(seen == nil || seen.UID == last.UID && seen.Generation <= last.Generation)
}

// repairs are the drifts that no pass has tried to repair. When it is time for another try, they include the drifts
// that the last pass could not repair. Under drift: Report only unfinished pushes are among them.
func (h *History) repairs(desired *Desired, seen *deliveries.Summary, retry bool, now time.Time) (todo Work, wake time.Duration) {
	todo = Work{Drifted: make(map[ObjectID]v1alpha1.DriftKind), Marks: make(map[ObjectID]string), Gone: make(map[ObjectID]types.UID)}
	if seen == nil || seen.Wrapper.UID != desired.Wrapper.UID {
		return todo, 0 // the Delivery of another wrapper reports that wrapper's objects, not this one's
	}
	for _, o := range seen.Drifts() {
		id, mark, unfinished := ObjectID{Group: o.Group, Kind: o.Kind, Name: o.Name}, deliveries.DriftID(&o), deliveries.IsUnfinished(&o)
		if desired.Drift != v1alpha1.DriftRepair && !unfinished {
			continue
		}
		if h.repaired.Has(mark) && (!retry || !slices.Contains(h.last.Unrepaired, id)) {
			continue
		}
		if unfinished {
			if todo.Unfinished == nil {
				todo.Unfinished = sets.New[ObjectID]()
			}
			todo.Unfinished.Insert(id)
		} else if wait := h.backoffs.drifted(id, &o, now); wait > 0 {
			wake = sooner(wake, wait)
			continue
		}
		todo.Drifted[id], todo.Marks[id] = o.Drift.Kind, mark
		if o.Drift.Kind == v1alpha1.DriftGone {
			todo.Gone[id] = types.UID(o.Drift.ResourceVersion)
		}
	}
	for _, id := range h.last.Unrepaired {
		if retry && id.IsSecret() && desired.Drift == v1alpha1.DriftRepair { // no collector reads Secrets, so no drift reports it
			todo.Drifted[id] = v1alpha1.DriftChanged
		}
	}
	return todo, wake
}

// Finished records a pass that ended without an error that concerns the whole member. wake is the time until the pair
// is judged again; zero when it waits for a change.
func (h *History) Finished(outcome Outcome, todo *Work, seen *deliveries.Summary, now time.Time) (wake time.Duration) {
	h.last = outcome.withUnrepaired(h.last, h.stillUnrepaired(outcome.Desired, todo, seen))
	for _, mark := range todo.Marks {
		if h.repaired == nil {
			h.repaired = sets.New[string]()
		}
		h.repaired.Insert(mark)
	}
	for _, id := range todo.repaired(&outcome) {
		if h.backoffs == nil {
			h.backoffs = make(driftBackoffs)
		}
		wake = sooner(wake, h.backoffs.repaired(id, now))
	}
	if outcome.Done {
		h.failures = 0
		return wake
	}
	if outcome.Retry > 0 {
		wake = sooner(wake, h.again(outcome.Retry, now))
	}
	return wake
}

// Failed records a pass that ended with an error that concerns the whole member. wake is the time until the next try.
func (h *History) Failed(desired *Desired, err error, now time.Time) (wake time.Duration) {
	h.last = Outcome{Desired: desired, State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Message: err.Error(), Unrepaired: h.last.Unrepaired}
	return h.again(time.Second, now)
}

// ForgetOutcome forgets the outcome of the last pass, because its Delivery is no longer on the member.
func (h *History) ForgetOutcome() { h.last = Outcome{} }

// ForgetRepairs forgets which drifts a pass has tried to repair: the collector reports none any more.
func (h *History) ForgetRepairs() { h.repaired = nil }

// stillUnrepaired are the drifts that an earlier pass could not repair, and that the pass which just ended did not have
// to repair. An object that is no longer desired does not count, even if the Delivery still reports it as drifted.
func (h *History) stillUnrepaired(desired *Desired, todo *Work, seen *deliveries.Summary) []ObjectID {
	drifting := make(map[ObjectID]bool)
	for _, o := range seen.Drifts() {
		drifting[ObjectID{Group: o.Group, Kind: o.Kind, Name: o.Name}] = true
	}
	var still []ObjectID
	for _, id := range h.last.Unrepaired {
		if _, tried := todo.Drifted[id]; !tried && desired.Lists(id) && (drifting[id] || id.IsSecret()) {
			still = append(still, id)
		}
	}
	return still
}

// again is the backoff of a pair: it schedules another try, after a longer time with each failure, up to RetryLater.
func (h *History) again(first time.Duration, now time.Time) (wait time.Duration) {
	wait = max(first, min(first<<min(h.failures, 10), RetryLater))
	h.failures++
	if at := now.Add(wait); !h.last.Again.After(now) || at.Before(h.last.Again) {
		h.last.Again = at
	}
	return wait
}
