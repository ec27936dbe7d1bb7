// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"strings"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/fairlead-dev/fairlead/federate/marks"
)

// finishWithin is the age at which a record no longer permits to remove a CSV that is still there. Without this bound, a record
// whose removal was cut off could remove an operator weeks later, unannounced.
const finishWithin = 10 * time.Minute

// notPolicy is why the manager stops a reinstall, or waits for none, where Operator.IsPolicy is false.
const notPolicy = "rollback is Never, or the manager runs without --reinstall-operators"

// finish decides the next step of a reinstall that has begun and has not ended. underWay is true if its operator is or may be removed.
//
// As long as a recorded CSV is still there, an operator may still run. The manager then removes only what it would still announce.
// Once the CSVs are gone, the manager always finishes: OLM does not upgrade a Subscription whose installed CSV is gone.
func (o *Operator) finish(sub *operators.Subscription, now time.Time) (is Reinstall, underWay bool) {
	if o.Begun == nil || o.Begun.Ended != nil {
		return Reinstall{}, false
	}
	present := o.recorded()
	for _, csv := range present {
		if csv.IsDeleted {
			continue
		}
		if why, accepted := o.stops(csv, sub, now); why != "" {
			return Reinstall{Step: End, Settles: accepted, Message: "the manager stops the reinstall: " + why}, false
		}
	}
	if len(present) > 0 {
		csv := present[0]
		if csv.IsDeleted {
			return Reinstall{Step: AwaitRemoval, Message: "reinstalling: ClusterServiceVersion " + csv.Name + " is being deleted" + heldBy(csv.Finalizers)}, true
		}
		return Reinstall{Step: Remove, Next: csv.Object, NextIsCSV: true, ResourceVersion: csv.ResourceVersion,
			Message: "reinstalling: the manager removes ClusterServiceVersion " + csv.Name}, true
	}
	if sub == nil {
		return o.create()
	}
	return o.finishSubscription(sub)
}

// recorded returns the recorded CSVs that are still there, the earliest first. It leaves out those that another Subscription names.
func (o *Operator) recorded() (present []*CSV) {
	for _, recorded := range o.Begun.CSVs {
		csv := o.csv(recorded.Name)
		if csv != nil && csv.UID == recorded.UID && len(o.namedByOthers(csv.Name)) == 0 {
			present = append(present, csv)
		}
	}
	return present
}

// stops returns why the manager removes no further CSV, although this recorded one is still there; "" if it goes on. A user of the member
// can edit the record and the CSV, so what matters most is checked again. accepted is true if the author accepts what the member has: only
// then may the next member have its turn.
func (o *Operator) stops(csv *CSV, sub *operators.Subscription, now time.Time) (why string, accepted bool) {
	installed := o.Begun.CSVs[len(o.Begun.CSVs)-1].Name
	if sub != nil && sub.Status.InstalledCSV != "" {
		installed = sub.Status.InstalledCSV
	}
	age := now.Sub(o.Begun.At.Time)
	switch {
	case csv.IsCopy:
		return csv.Name + " is a copy of a ClusterServiceVersion of another namespace", false
	case csv.CleansUp:
		return csv.Name + " has spec.cleanup.enabled now, so OLM would delete the custom resources with it", false
	case !o.IsPolicy:
		return notPolicy, true
	case sub != nil && sub.UID != o.Begun.Subscription.UID:
		return "Subscription " + sub.Name + " is another one than that which was announced", false
	case !o.isBeyond(installed):
		return "the target is " + orNothing(o.Target) + ", and " + installed + " is not later than that", true
	case age >= finishWithin || age <= -finishWithin:
		return "it began more than " + finishWithin.String() + " ago, and " + installed + " is still there", false
	}
	return "", false
}

// create decides about a Subscription that is gone, with all recorded CSVs.
func (o *Operator) create() (is Reinstall, underWay bool) {
	for i := range o.Subscriptions {
		if s := &o.Subscriptions[i]; o.Desired != nil && s.Spec != nil && s.Spec.Package == o.Desired.Package {
			return Reinstall{Step: Keep, Forbids: true, Message: "Subscription " + s.Name + " installs package " + s.Spec.Package + " now, so the manager does not create Subscription " + o.Name +
				" again; delete " + s.Name + " on the member, or take " + o.Name + " out of the wrapper"}, false
		}
	}
	return Reinstall{Step: Create, Message: "reinstalling: the manager creates Subscription " + o.Name + " again"}, true
}

// finishSubscription decides about a Subscription whose recorded CSVs are gone.
func (o *Operator) finishSubscription(sub *operators.Subscription) (is Reinstall, underWay bool) {
	switch {
	case sub.UID != o.Begun.Subscription.UID && !o.isOurs(sub):
		return Reinstall{Step: Keep, Message: "another client has created Subscription " + sub.Name + ", so the manager does not create its own again; delete that one on the member, " +
			"or take " + sub.Name + " out of the wrapper"}, false
	case sub.UID != o.Begun.Subscription.UID:
		return Reinstall{Step: End, Message: "reinstalled: Subscription " + sub.Name + " is there again"}, false
	case o.isRepaired(sub):
		return Reinstall{Step: End, Settles: true, Message: "the manager stops the reinstall: Subscription " + sub.Name + " has another ClusterServiceVersion now"}, false
	case sub.DeletionTimestamp != nil:
		return Reinstall{Step: AwaitRemoval, Message: "reinstalling: Subscription " + o.Name + " is being deleted" + heldBy(sub.Finalizers)}, true
	}
	return Reinstall{Step: Remove, Next: Object{Name: sub.Name, UID: sub.UID}, ResourceVersion: sub.ResourceVersion,
		Message: "reinstalling: the manager removes Subscription " + o.Name}, true
}

// settles decides whether an ended reinstall is waited for any longer: until its operator was Healthy, or it is not the policy
// any more.
func (o *Operator) settles(sub *operators.Subscription) (is Reinstall, isSettled bool) {
	switch {
	case o.Begun == nil || o.Begun.Ended == nil || o.Begun.Settled:
	case !o.IsPolicy:
		return Reinstall{Step: End, Settles: true, Message: "reinstalled: " + notPolicy + ", so no other member waits for it"}, true
	case o.IsHealthy && sub != nil && o.csv(sub.Status.InstalledCSV) != nil:
		return Reinstall{Step: End, Settles: true, Message: "reinstalled: " + sub.Status.InstalledCSV + " is Healthy"}, true
	}
	return Reinstall{}, false
}

// isRepaired reports whether the Subscription has a CSV again that is not part of the recorded removal. Then another client
// installed one, or OLM upgraded after all. The removal of the Subscription alone would leave that CSV, and OLM resolves
// nothing in a namespace with a CSV that no Subscription names.
func (o *Operator) isRepaired(sub *operators.Subscription) bool {
	return o.csv(sub.Status.InstalledCSV) != nil || o.csv(sub.Status.CurrentCSV) != nil
}

// isOurs reports whether a Subscription is an object of this wrapper.
func (o *Operator) isOurs(sub *operators.Subscription) bool {
	return marks.IsOurs(sub, o.Wrapper, marks.ObjectPath("subscriptions", operators.GroupName, sub.Namespace, sub.Name))
}

func heldBy(finalizers []string) string {
	if len(finalizers) == 0 {
		return ""
	}
	return "; it waits for finalizers: " + strings.Join(finalizers, ", ")
}
