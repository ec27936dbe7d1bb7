// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/namespaces"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/push/reinstall"
)

// reinstall makes the next step of the reinstalls of a pair. It reports whether one is under way: the manager then approves no
// InstallPlan.
func (q *memberQueue) reinstall(ctx context.Context, key Key, desired *plan.Desired) (underWay bool) {
	if desired == nil || desired.Leaving() || desired.Suspended {
		return false
	}
	seen := q.deliveries.Get(key)
	if last, _ := q.histories.of(key); isHeldBack(seen, desired, &last) {
		q.reinstalls.hold(key)
		return q.isReinstalling(key, seen, desired)
	}
	var report string
	if q.pusher.host.ReinstallsOperators { // without the flag only a record lets attempts follow
		report = aheadReports(seen, desired)
	}
	due, announced, wait := q.reinstalls.begin(key, desired, report, recordOf(seen, desired))
	q.wakeAfter(key, wait)
	if !due || seen == nil {
		return q.isReinstalling(key, seen, desired)
	}
	rendering, err := desired.Rendering.Render()
	if err != nil {
		return q.isReinstalling(key, seen, desired) // the wrapper's status reports the error
	}
	subscriptions, err := reinstall.SubscriptionsOf(rendering)
	if err != nil {
		return q.isReinstalling(key, seen, desired)
	}
	attempt := reinstall.Attempt{
		Conn: q.conn, Desired: desired, Delivery: key.Delivery(), DeliveryUID: seen.UID, Subscriptions: subscriptions,
		IsApplied:   desired.IsHeldBy(seen),
		IsCollected: q.pusher.host.observes(q.conn.Name()), Announced: announced, Now: q.pusher.clock.Now(),
		Namespaces: namespaces.New(q.conn, desired.Namespaces, q.pusher.host.Labels, nil),
		IsHealthy:  func(subscription string) bool { return isReportedHealthy(seen, desired, subscription) },
		IsDesired: func() bool {
			now := q.pusher.desired.get(key, q.conn.Name())
			return now == desired || now.Same(desired) && now.SameTurn(desired)
		},
	}
	result, err := attempt.Run(ctx)
	if ctx.Err() != nil {
		return true
	}
	if err != nil {
		log.FromContext(ctx).Info("could not reinstall an operator on a member", "member", q.conn.Name(), "wrapper", key.String(), "error", err.Error())
		q.wakeAfter(key, q.reinstalls.failed(key, seen.Reinstall, err))
		q.suspect(err)
		q.pusher.wake(key)
		return true // it is not known whether one is under way
	}
	if result.Step != upgrade.None && result.Step != upgrade.Keep && result.Step != upgrade.WaitForTurn {
		log.FromContext(ctx).Info("reinstalling an operator", "member", q.conn.Name(), "wrapper", key.String(), "subscription", result.Subscription, "step", result.Message)
	}
	q.wakeAfter(key, q.reinstalls.end(key, desired, &result))
	q.pusher.wake(key)
	return result.IsUnderWay || recordOf(seen, desired) == upgrade.RecordOpen
}

// isReinstalling reports whether an operator of the pair is or may be removed. After a restart only the record in the Delivery tells that.
func (q *memberQueue) isReinstalling(key Key, seen *deliveries.Summary, desired *plan.Desired) bool {
	return recordOf(seen, desired) == upgrade.RecordOpen || q.reinstalls.isUnderWay(key)
}

func (r *reinstalls) isUnderWay(key Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.all[key]
	return is != nil && is.isUnderWay
}

// isHeldBack reports whether a pass could not create the Subscription again, because a person has to decide first whether the host may
// write: the member has a later generation of the wrapper, for example after the host was restored from a backup.
func isHeldBack(seen *deliveries.Summary, desired *plan.Desired, last *plan.Outcome) bool {
	if seen == nil || seen.Wrapper.UID != desired.Wrapper.UID {
		return false // nothing is recorded for this wrapper, so no attempt is due
	}
	return seen.Wrapper.Generation > desired.Wrapper.Generation || last.State == v1alpha1.StateHeld && desired.Same(last.Desired)
}

// aheadReports returns a text that identifies the collector's reports about Subscriptions that may have to be reinstalled; "" if
// there are none. With rollback: Reinstall these are all Subscriptions that are not Healthy: after a restart, a reinstall that
// was cut off may look like anything. Otherwise only a missing CSV counts, because the author may have set Never in the middle.
func aheadReports(seen *deliveries.Summary, desired *plan.Desired) (report string) {
	if seen == nil || seen.Status == nil || seen.Wrapper.UID != desired.Wrapper.UID {
		return ""
	}
	for i := range seen.Status.Objects {
		o := &seen.Status.Objects[i]
		if o.Group == operators.GroupName && o.Kind == operators.SubscriptionKind && (desired.Reinstalls || o.Reason == v1alpha1.ReasonCSVMissing) {
			report += o.Name + ": " + o.Reason + "\n"
		}
	}
	return report
}

// recordOf returns how far the reinstalls of the wrapper's operators are, according to the Delivery.
func recordOf(seen *deliveries.Summary, desired *plan.Desired) upgrade.RecordState {
	if seen == nil || seen.Wrapper.UID != desired.Wrapper.UID {
		return upgrade.NothingRecorded
	}
	return seen.Reinstall
}

// isReportedHealthy reports whether the collector has judged the desired state and reports nothing about a Subscription. It reports only
// objects that are not healthy.
func isReportedHealthy(seen *deliveries.Summary, desired *plan.Desired, subscription string) bool {
	if seen.Status == nil || seen.Status.ObservedRendering != desired.Digest() {
		return false
	}
	for i := range seen.Status.Objects {
		if o := &seen.Status.Objects[i]; o.Group == operators.GroupName && o.Kind == operators.SubscriptionKind && o.Name == subscription {
			return false
		}
	}
	return true
}
