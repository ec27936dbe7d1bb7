// SPDX-License-Identifier: Apache-2.0

package push

import (
	"maps"
	"slices"
	"sync"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/push/reinstall"
)

// reinstallInterval is the time between two attempts where nothing changes: the manager keeps the operator, it is not the
// member's turn, or no status shows the announcement yet.
const reinstallInterval = 30 * time.Second

// leavesWithin is the longest time for which a wrapper stays on a member so that a reinstall there ends.
const leavesWithin = 10 * time.Minute

// reinstalls has the reinstalls of one member, by pair. Only the announcements and the fields that save requests are lost with the
// manager: what a reinstall has begun is in the annotation of the Delivery (package reinstall).
type reinstalls struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	all map[Key]*reinstallState
}

// reinstallState is what the manager knows of the reinstalls of one pair.
type reinstallState struct {
	// desired is the pair's desired state at the time of the last attempt, and report the report of the collector.
	desired *plan.Desired
	report  string
	// again is the time at which the next attempt is due if desired and report stay the same.
	again time.Time
	// announced has the announcements by the names of Subscriptions.
	announced map[string]upgrade.Announcement
	// isUnderWay is true while a reinstall has begun and has not ended. Then attempts follow whatever the collector reports.
	isUnderWay bool
	// owed are the Subscriptions that the manager has removed and not yet created again.
	owed map[string]*owedSubscription
	// finishing is the desired state with which the manager finishes before the wrapper leaves the member, and leaves is when it
	// began that; nil if the wrapper does not leave.
	finishing *plan.Desired
	leaves    time.Time
	// forbidden are Subscriptions that the manager must not create, because another one has their package now.
	forbidden sets.Set[string]
	// trouble is the present step, for the status; nil if there is none.
	trouble *memberapi.Trouble
}

// owedSubscription is a Subscription that the manager has removed and not yet created again.
type owedSubscription struct {
	// removed is the uid that it had.
	removed types.UID
	// refused is why the last pass could not create it; nil before the end of the first such pass.
	refused *memberapi.Trouble
}

// begin reports whether an attempt is due now, and records that it begins. wait is the time until the next one; zero if no reason for one
// is known. announced are the present announcements.
//
// recorded is what the Delivery says. As long as a record is open or unsettled, attempts follow whatever the policy is and the collector
// reports: a restarted manager has to finish also beside a dead collector.
func (r *reinstalls) begin(key Key, desired *plan.Desired, report string, recorded upgrade.RecordState) (due bool, announced map[string]upgrade.Announcement, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, is := r.clock.Now(), r.all[key]
	if report == "" && recorded == upgrade.NothingRecorded && (is == nil || !is.isUnderWay) {
		if is != nil && len(is.owed) == 0 {
			delete(r.all, key)
		}
		return false, nil, 0
	}
	if is == nil {
		if r.all == nil {
			r.all = make(map[Key]*reinstallState)
		}
		is = &reinstallState{}
		r.all[key] = is
	}
	same := is.report == report && is.desired.Same(desired) && is.desired.SameTurn(desired)
	if same && now.Before(is.again) {
		return false, nil, is.again.Sub(now)
	}
	announced = maps.Clone(is.announced)
	is.desired, is.report, is.again = desired, report, now.Add(reinstallInterval)
	return true, announced, reinstallInterval
}

// end records the result of an attempt, and returns the time until the next one.
func (r *reinstalls) end(key Key, desired *plan.Desired, result *reinstall.Result) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is, now := r.all[key], r.clock.Now()
	if is == nil || is.desired != desired {
		return 0 // the pair was dropped, or another attempt follows
	}
	is.isUnderWay = result.IsUnderWay
	is.trouble = troubleOf(result)
	wait = reinstallInterval
	switch result.Step {
	case upgrade.Announce:
		is.announce(result)
	case upgrade.AwaitAnnounced:
		wait = result.Again.Sub(now)
	case upgrade.Remove, upgrade.AwaitRemoval, upgrade.Begin:
		is.announced, wait = nil, plan.RetrySoon
		if !result.Again.IsZero() {
			wait = result.Again.Sub(now)
		}
	case upgrade.Create:
		is.announced = nil
		if is.owe(result) {
			wait = time.Millisecond
		}
	case upgrade.End:
		is.announced, wait = nil, time.Millisecond // look again: another operator of the wrapper may be ahead, too
	case upgrade.None, upgrade.Keep, upgrade.WaitForTurn:
		is.announced = nil
	}
	if result.Step != upgrade.Create {
		delete(is.owed, result.Subscription) // it is there again, or another Subscription is
	}
	if result.IsJudged { // if not, what the attempt before has found still counts
		is.forbidden = sets.New(result.Forbidden...)
		maps.DeleteFunc(is.owed, func(name string, _ *owedSubscription) bool { return is.forbidden.Has(name) })
	}
	wait = max(wait, time.Millisecond)
	is.again = now.Add(wait)
	return wait
}

// owe remembers that the manager has to create a Subscription. isNew is false if a pass has tried that already: the history of the passes
// then tells when the next one is due.
func (is *reinstallState) owe(result *reinstall.Result) (isNew bool) {
	if known := is.owed[result.Subscription]; known != nil && known.removed == result.Removed {
		if known.refused != nil {
			is.trouble = known.refused
		}
		return known.refused == nil
	}
	if is.owed == nil {
		is.owed = make(map[string]*owedSubscription)
	}
	is.owed[result.Subscription] = &owedSubscription{removed: result.Removed}
	return true
}

// beforeLeaving returns the desired state of a pair for now. A wrapper that leaves a member with onDelete: KeepAll leaves the operator
// running. So where no operator runs because of a reinstall, the manager first creates it again: it uses the last desired state, with
// which it removes nothing that still runs. It tries that for a while, so that the wrapper can leave.
func (r *reinstalls) beforeLeaving(key Key, desired *plan.Desired) *plan.Desired {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.all[key]
	switch {
	case is == nil:
		return desired
	case desired == nil || !desired.Leaving():
		is.finishing = nil
		return desired
	case desired.OnDelete != v1alpha1.KeepAll || desired.Suspended || !is.isUnderWay || is.desired == nil || is.desired.Wrapper.UID != desired.Wrapper.UID:
		return desired
	}
	if is.finishing == nil {
		own := *is.desired
		own.Reinstalls, own.MayReinstall = false, false
		is.finishing, is.leaves = &own, r.clock.Now()
	}
	if r.clock.Since(is.leaves) >= leavesWithin {
		return desired
	}
	return is.finishing
}

// announce remembers an announcement. If the same one is there already and has become too old, it begins again.
func (is *reinstallState) announce(result *reinstall.Result) {
	known, ok := is.announced[result.Subscription]
	if ok && known.Removal.Same(&result.Removal) && known.Shown.IsZero() {
		return
	}
	is.announced = map[string]upgrade.Announcement{result.Subscription: {Removal: result.Removal}}
}

// failed records that an attempt has ended with an error, and returns the time until the next one. An announcement ends with it, so
// that the member does not hold a turn in which nothing happens.
func (r *reinstalls) failed(key Key, recorded upgrade.RecordState, err error) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.all[key]
	if is == nil {
		return 0
	}
	is.announced = nil
	is.trouble = &memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonReinstallRefused, Message: "the manager reinstalls nothing: " + plan.Quote(err.Error())}
	if is.isUnderWay || recorded == upgrade.RecordOpen {
		is.trouble.Reason, is.trouble.Message = v1alpha1.ReasonReinstalling, "reinstalling: "+plan.Quote(err.Error())
	}
	is.again = r.clock.Now().Add(reinstallInterval)
	return reinstallInterval
}

// hold records that nothing may be written to the member. The line then says why, and no step of a reinstall hides that.
func (r *reinstalls) hold(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if is := r.all[key]; is != nil {
		is.announced, is.trouble, is.again = nil, nil, time.Time{}
	}
}

// shown records that a status shows the announcement with this message. It returns the time until the next attempt; zero if that
// is no present announcement, or was shown before.
func (r *reinstalls) shown(key Key, message string) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.all[key]
	if is == nil || is.trouble == nil || is.trouble.Reason != v1alpha1.ReasonReinstallAnnounced || health.Clean(is.trouble.Message, upgrade.MaxAnnouncement) != message {
		return 0
	}
	for name, one := range is.announced {
		if one.Shown.IsZero() {
			one.Shown = r.clock.Now()
			is.announced[name] = one
			is.again = one.Shown.Add(upgrade.AnnouncedFor)
			wait = upgrade.AnnouncedFor
		}
	}
	return wait
}

// addOwed adds to the work of a pass the Subscriptions that the manager has removed and has to create again, and takes out those that it
// must not create. It reports whether the pass is due: isDue tells that without them. The manager does not wait for the collector to
// report them as gone: the collector may have died. last is the outcome of the last pass. After a refusal, it tells when to try again.
func (r *reinstalls) addOwed(key Key, desired *plan.Desired, todo *plan.Work, isDue bool, last *plan.Outcome) (due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.all[key]
	if is == nil || desired == nil || desired.Leaving() || desired.Suspended {
		return isDue
	}
	repairs := len(todo.Drifted)
	for name := range is.forbidden {
		id := subscriptionID(name)
		delete(todo.Drifted, id)
		delete(todo.Marks, id)
		delete(todo.Gone, id)
	}
	due = isDue && (repairs == 0 || len(todo.Drifted) > 0)
	waits := desired.Same(last.Desired) && (last.Again.IsZero() || r.clock.Now().Before(last.Again))
	for name, one := range is.owed {
		id := subscriptionID(name)
		switch {
		case !desired.Lists(id):
			delete(is.owed, name) // the wrapper does not have it any more
			continue
		case one.refused != nil && waits && !due:
			continue
		}
		if todo.Drifted == nil {
			todo.Drifted = make(map[plan.ObjectID]v1alpha1.DriftKind)
		}
		if todo.Gone == nil {
			todo.Gone = make(map[plan.ObjectID]types.UID)
		}
		todo.Drifted[id], todo.Gone[id] = v1alpha1.DriftGone, one.removed
		todo.Secrets, todo.IsNew = nil, false
		due = true
	}
	return due
}

// created records the end of a pass that was to create Subscriptions again. refusal is why the pass failed as a whole; "" if it did not.
// wait is the time until the next attempt; zero if no Subscription was created.
func (r *reinstalls) created(key Key, todo *plan.Work, outcome *plan.Outcome, refusal string) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.all[key]
	if is == nil {
		return 0
	}
	for name, one := range is.owed {
		id := subscriptionID(name)
		if _, tried := todo.Drifted[id]; !tried {
			continue
		}
		if refusal == "" && !slices.Contains(outcome.Unrepaired, id) {
			delete(is.owed, name)
			is.isUnderWay, is.trouble = false, nil
			is.again, wait = time.Time{}, time.Millisecond // the record ends, and another operator of the wrapper may be ahead, too
			continue
		}
		why := refusal
		if why == "" {
			why = outcome.Message
		}
		one.refused = &memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonReinstalling,
			Message: "no operator runs: the manager cannot create Subscription " + name + " again: " + why}
		if is.trouble = one.refused; refusal == "" && outcome.State == v1alpha1.StateHeld {
			is.trouble = nil // nothing may be written to the member, and the line says that
		}
	}
	return wait
}

// forget drops what is known of a pair.
func (r *reinstalls) forget(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, key)
}

// of returns the present step for the status; nil if there is none. A reinstall that is under way counts for every desired state.
func (r *reinstalls) of(key Key, desired *plan.Desired) *memberapi.Trouble {
	r.mu.Lock()
	defer r.mu.Unlock()
	if is := r.all[key]; is != nil && (is.isUnderWay || is.desired.Same(desired)) {
		return is.trouble
	}
	return nil
}

func subscriptionID(name string) plan.ObjectID {
	return plan.ObjectID{Group: operators.GroupName, Kind: operators.SubscriptionKind, Name: name}
}

// troubleOf returns what the line of the member says about a decision; nil if there is nothing to reinstall.
func troubleOf(result *reinstall.Result) *memberapi.Trouble {
	trouble := &memberapi.Trouble{State: v1alpha1.StateProgressing, Message: result.Message}
	switch result.Step {
	case upgrade.Keep:
		// Not Stalled: that would fail a rollout at once, and some causes pass by themselves.
		trouble.State, trouble.Reason = v1alpha1.StateDegraded, v1alpha1.ReasonReinstallRefused
	case upgrade.WaitForTurn:
		trouble.Reason = v1alpha1.ReasonReinstallWaits
	case upgrade.Announce, upgrade.AwaitAnnounced:
		trouble.Reason = v1alpha1.ReasonReinstallAnnounced
	case upgrade.Begin, upgrade.Remove, upgrade.AwaitRemoval, upgrade.Create:
		trouble.Reason = v1alpha1.ReasonReinstalling
	case upgrade.None, upgrade.End:
		return nil
	}
	return trouble
}
