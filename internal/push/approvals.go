// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/installplan"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// approvalInterval is the time between two attempts to approve the same pending InstallPlan if the collector reports
// nothing new. The manager has to try again, because a change of another owner's Subscription can allow the plan, and
// no event reports that change.
const approvalInterval = 30 * time.Second

// approvals has the last attempt to approve InstallPlans for each pair of one member. A pair without a pending
// InstallPlan has no attempt.
type approvals struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	all map[Key]*approval
}

// approval is the last attempt to approve the pending InstallPlans of one pair.
type approval struct {
	// desired is the pair's desired state at the time of the attempt.
	desired *plan.Desired
	// pending identifies the InstallPlans that the collector had reported as pending before the attempt.
	pending string
	// again is the time at which the next attempt is due if desired and pending stay the same.
	again time.Time
	// trouble is the reason why the manager did not approve a pending plan; nil if there is none.
	trouble *memberapi.Trouble
}

// begin reports whether an attempt to approve the pending InstallPlans of a pair is due now, and records that it
// begins. wait is the time until the next attempt; zero when no InstallPlan is pending.
func (a *approvals) begin(key Key, desired *plan.Desired, pending string) (due bool, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, last := a.clock.Now(), a.all[key]
	if pending == "" {
		delete(a.all, key)
		return false, 0
	}
	same := last != nil && last.pending == pending && (last.desired == desired || last.desired.Same(desired))
	if same && now.Before(last.again) {
		return false, last.again.Sub(now)
	}
	next := &approval{desired: desired, pending: pending, again: now.Add(approvalInterval)}
	if same {
		next.trouble = last.trouble // still the newest known reason until this attempt ends
	}
	if a.all == nil {
		a.all = make(map[Key]*approval)
	}
	a.all[key] = next
	return true, approvalInterval
}

// end records the result of an attempt. trouble is the reason why the manager did not approve a pending plan; nil if
// there is none.
func (a *approvals) end(key Key, desired *plan.Desired, trouble *memberapi.Trouble) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if is := a.all[key]; is != nil && is.desired == desired {
		is.trouble = trouble
	}
}

// forget drops the attempt of a pair.
func (a *approvals) forget(key Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.all, key)
}

// approvals.of returns why the last attempt did not approve a pending plan. It returns nil if there is no such reason,
// or if the attempt was for another desired state.
func (a *approvals) of(key Key, desired *plan.Desired) *memberapi.Trouble {
	a.mu.Lock()
	defer a.mu.Unlock()
	if is := a.all[key]; is != nil && (is.desired == desired || is.desired.Same(desired)) {
		return is.trouble
	}
	return nil
}

// approve approves the pending InstallPlans of a pair that needs no pass. The targets come from the desired state.
// While the member waits for its wave, the desired state has an earlier revision. So approve does not go beyond the
// targets of that revision.
func (q *memberQueue) approve(ctx context.Context, key Key, desired *plan.Desired) {
	pending := ""
	if seen := q.deliveries.Get(key); desired != nil && !desired.Suspended && desired.IsHeldBy(seen) {
		pending = pendingPlans(seen)
	}
	due, wait := q.approvals.begin(key, desired, pending)
	q.wakeAfter(key, wait)
	if !due {
		return
	}
	rendering, err := desired.Rendering.Render()
	if err != nil {
		return // the wrapper's status reports the error
	}
	targets, err := installplan.TargetsOf(rendering)
	if err != nil {
		return
	}
	trouble, err := installplan.Approve(ctx, q.conn, desired.Wrapper.UID, targets)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		log.FromContext(ctx).Info("could not approve an InstallPlan on a member", "member", q.conn.Name(), "wrapper", key.String(), "error", err.Error())
		q.suspect(err)
		return
	}
	q.approvals.end(key, desired, trouble)
	q.pusher.wake(key)
}

// pendingPlans returns a text that identifies the InstallPlans that the collector has reported as pending; "" if there
// are none.
func pendingPlans(seen *deliveries.Summary) (pending string) {
	if seen == nil || seen.Status == nil {
		return ""
	}
	for i := range seen.Status.Objects {
		if o := &seen.Status.Objects[i]; o.Reason == v1alpha1.ReasonInstallPlanPending {
			pending += o.Name + ": " + o.Message + "\n" // the message names the plan
		}
	}
	return pending
}
