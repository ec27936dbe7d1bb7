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

// approvalInterval is how long after an attempt the manager looks at a pending InstallPlan again, if the collector reports nothing new.
// The Subscriptions of other owners may have changed.
const approvalInterval = 30 * time.Second

// approvals are the last attempts to approve InstallPlans for the pairs of one member. Only pairs with a pending plan have one.
type approvals struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	all map[Key]*approval
}

// approval is the last attempt for one pair.
type approval struct {
	// desired and pending are the desired state and the collector's report for which it was made.
	desired *plan.Desired
	pending string
	// again is when another attempt is due without anything new.
	again time.Time
	// trouble tells why a plan was not approved; nil when it was, or when there was nothing to do.
	trouble *memberapi.Trouble
}

// begin reports whether an attempt is due, and notes that it begins. wait is the time until the next one is due; zero when no plan is
// pending.
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
		next.trouble = last.trouble // until this attempt has ended
	}
	if a.all == nil {
		a.all = make(map[Key]*approval)
	}
	a.all[key] = next
	return true, approvalInterval
}

// end notes what became of an attempt.
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

// of returns why the last attempt for a desired state approved no plan; nil when there is no such reason.
func (a *approvals) of(key Key, desired *plan.Desired) *memberapi.Trouble {
	a.mu.Lock()
	defer a.mu.Unlock()
	if is := a.all[key]; is != nil && (is.desired == desired || is.desired.Same(desired)) {
		return is.trouble
	}
	return nil
}

// approve approves the pending InstallPlans of a pair that needs no pass. A member that waits for its wave has the targets of its
// earlier revision, so no plan is pending there.
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
		return // the wrapper's line tells why
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
		log.FromContext(ctx).Info("an InstallPlan could not be approved", "member", q.conn.Name(), "wrapper", key.String(), "error", err.Error())
		q.suspect(err)
		return
	}
	q.approvals.end(key, desired, trouble)
	q.pusher.wake(key)
}

// pendingPlans identifies the InstallPlans that the collector has reported as pending; "" when there are none.
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
