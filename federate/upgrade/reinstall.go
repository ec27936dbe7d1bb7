// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"slices"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const (
	// AnnouncedFor is how long the status shows what a reinstall will remove before the manager removes the first object.
	AnnouncedFor = 30 * time.Second
	// announcementLasts is the age at which an announcement no longer permits a removal. The manager then announces again.
	announcementLasts = time.Minute
	// reinstallsApart is the shortest time between the beginnings of two reinstalls of the same operator.
	reinstallsApart = time.Hour
)

// Object identifies one object of the namespace of a Subscription.
type Object struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// Removal is what a reinstall removes: first the CSVs in this order, and then the Subscription.
type Removal struct {
	// CSVs has the earliest version first. The Subscription names the latest one, and names it also after that CSV is gone. So
	// as long as the Subscription exists, a manager finds out what is left to do.
	CSVs         []Object `json:"csvs"`
	Subscription Object   `json:"subscription"`
}

// Same reports whether two removals name the same objects.
func (r *Removal) Same(other *Removal) bool {
	return r.Subscription == other.Subscription && slices.Equal(r.CSVs, other.CSVs)
}

// Announcement is what the manager has announced, in its memory only. A restarted manager announces again.
type Announcement struct {
	Removal
	// Shown is when a status with the announcement was written; zero while there is none.
	Shown time.Time
}

// Operator is what the manager knows about one Subscription on a member when it decides about a reinstall.
type Operator struct {
	// Name is the name of the Subscription, and Wrapper the uid of its wrapper.
	Name    string
	Wrapper types.UID
	// Target is the target of the present desired state; "" if the Subscription has none any more.
	Target string
	// Desired is the spec of the Subscription that the manager would create; nil if the desired state has none.
	Desired *operators.SubscriptionSpec
	// IsPolicy is true if spec.upgrade.rollback is Reinstall, and the manager runs with --reinstall-operators.
	IsPolicy bool
	// IsApplied is true if the member has the desired state, and may be written to.
	IsApplied bool
	// Waits is why the member may not be reinstalled now, in words; "" if it is the member's turn.
	Waits string
	// IsAdopted is true if the manager did not create the Subscription, or if the Delivery does not tell.
	IsAdopted bool
	// SharesNamespace is spec.upgrade.sharedNamespace: Allow.
	SharesNamespace bool
	// IsCollected is true if the member has a ready collector.
	IsCollected bool
	// IsHealthy is true if the collector reports no trouble of the Subscription with the present desired state.
	IsHealthy bool
	// Subscriptions and CSVs are all of those of the namespace.
	Subscriptions []operators.Subscription
	CSVs          []CSV
	// Begun is the record of the last reinstall of this Subscription; nil if there was none.
	Begun *Begun
	// Announced is the present announcement; nil if there is none.
	Announced *Announcement
	// Facts are needed only to announce a reinstall and to begin it. The function NeedsFacts tells whether that is so.
	Facts *Facts
}

// CSV has the fields of a ClusterServiceVersion that matter for a reinstall.
type CSV struct {
	Object
	ResourceVersion string
	// IsDeleted is true if the CSV has a deletionTimestamp. Finalizers are then what it waits for.
	IsDeleted  bool
	Finalizers []string
	// IsCopy is true for a copy of a CSV of another namespace.
	IsCopy   bool
	Replaces string
	// CleansUp is true if OLM deletes the custom resources together with the CSV (spec.cleanup.enabled).
	CleansUp bool
	// HasWebhooks is true if the operator serves webhooks.
	HasWebhooks bool
	// Owned and Required are the APIs that the operator provides and needs, as apiOf writes them. OwnedCRDs are the names of
	// the CRDs among the provided ones.
	Owned, Required []string
	OwnedCRDs       []string
}

// Step is what the manager does next about one Subscription.
type Step int

// The steps. None is the zero value: there is nothing to reinstall.
const (
	None Step = iota
	// Keep keeps the operator, which stays ahead of its target. The message says why, and names the way out.
	Keep
	// WaitForTurn keeps the operator until it is the member's turn.
	WaitForTurn
	// Announce announces Removal. It also stands for an announcement that no status shows yet.
	Announce
	// AwaitAnnounced waits until the announcement has been visible for AnnouncedFor.
	AwaitAnnounced
	// Begin records Removal as begun. The next decision then has the first Remove.
	Begin
	// Remove removes the object in Next.
	Remove
	// AwaitRemoval waits until the member has deleted an object.
	AwaitRemoval
	// Create creates the Subscription again.
	Create
	// End records that a reinstall has ended. It removes nothing. The manager decides again after it.
	End
)

// Reinstall is the decision about one Subscription.
type Reinstall struct {
	Step Step
	// Removal is what Announce announces and what Begin records.
	Removal Removal
	// Next is the object that Remove removes. NextIsCSV tells its kind.
	Next      Object
	NextIsCSV bool
	// ResourceVersion is that of Next. The API server refuses the removal if the object has changed since the decision.
	ResourceVersion string
	// Settles is true for an End after which nothing is to be waited for.
	Settles bool
	// Forbids is true for a Keep beside which the manager must not create the Subscription.
	Forbids bool
	// Message explains the step to a person.
	Message string
	// Again is when the manager has to decide again; zero if that has no fixed time.
	Again time.Time
}

// DecideReinstall decides what the manager does next about one Subscription. It is pure.
//
// A reinstall has two phases. Before Begin, any doubt keeps the operator. After Begin, the record in the Delivery names
// what the manager removes, until the record ends (finish).
func DecideReinstall(o *Operator, now time.Time) Reinstall {
	sub := o.subscription()
	if is, _ := o.finish(sub, now); is.Step != None {
		return is
	}
	if is, isSettled := o.settles(sub); isSettled {
		return is
	}
	if !o.mayBegin(sub) {
		return Reinstall{}
	}
	if o.Waits != "" {
		return Reinstall{Step: WaitForTurn, Message: o.aheadWords(sub) + "the reinstall waits: " + o.Waits}
	}
	removal, problem := o.removal(sub)
	if problem == "" {
		problem = o.keeps(sub, &removal, now)
	}
	if problem != "" {
		return Reinstall{Step: Keep, Message: o.aheadWords(sub) + "the manager keeps the operator: " + problem}
	}
	return o.announce(&removal, now)
}

// NeedsFacts reports whether DecideReinstall needs Operator.Facts, and for which CSVs. Without it, the manager would read the
// catalog and the CRDs also while nothing is to be reinstalled.
func NeedsFacts(o *Operator, now time.Time) (of []CSV, needed bool) {
	sub := o.subscription()
	if is, _ := o.finish(sub, now); is.Step != None || !o.mayBegin(sub) || o.Waits != "" {
		return nil, false
	}
	removal, problem := o.removal(sub)
	if problem != "" {
		return nil, false
	}
	for _, one := range removal.CSVs {
		of = append(of, *o.csv(one.Name))
	}
	return of, true
}

// IsUnderWay reports whether a reinstall has begun and has not ended. The manager then approves no InstallPlan for the
// Subscription.
func IsUnderWay(o *Operator, now time.Time) bool {
	_, underWay := o.finish(o.subscription(), now)
	return underWay
}

// IsForbidden reports whether the manager must not create the Subscription of a reinstall again, because another one has its package.
func IsForbidden(o *Operator, now time.Time) bool {
	is, _ := o.finish(o.subscription(), now)
	return is.Forbids
}

// mayBegin reports whether a reinstall can begin at all.
func (o *Operator) mayBegin(sub *operators.Subscription) bool {
	return o.IsPolicy && o.IsApplied && o.isAhead(sub)
}

// isAhead reports whether a later version than the target is certainly installed.
func (o *Operator) isAhead(sub *operators.Subscription) bool {
	return sub != nil && sub.Status.InstalledCSV != "" && o.isBeyond(sub.Status.InstalledCSV)
}

// isBeyond reports whether a CSV is certainly later than the target.
func (o *Operator) isBeyond(csv string) bool {
	return o.Target != "" && o.Target != v1alpha1.TargetLatest && IsLater(csv, o.Target)
}

func (o *Operator) aheadWords(sub *operators.Subscription) string {
	return sub.Status.InstalledCSV + " is installed, later than target " + o.Target + "; "
}

// announce decides about a reinstall to which no rule objects.
func (o *Operator) announce(removal *Removal, now time.Time) Reinstall {
	is := Reinstall{Step: Announce, Removal: *removal, Message: o.announcement(removal)}
	a := o.Announced
	switch {
	case a == nil || !a.Removal.Same(removal), a.Shown.IsZero():
		return is
	case now.Sub(a.Shown) >= announcementLasts || now.Before(a.Shown):
		return is // too old: the member may have been away, and a person may no longer remember it
	case now.Sub(a.Shown) < AnnouncedFor:
		is.Step, is.Again = AwaitAnnounced, a.Shown.Add(AnnouncedFor)
		return is
	}
	is.Step, is.Message = Begin, "reinstalling: the manager records what it removes"
	return is
}

func (o *Operator) subscription() *operators.Subscription {
	for i := range o.Subscriptions {
		if o.Subscriptions[i].Name == o.Name {
			return &o.Subscriptions[i]
		}
	}
	return nil
}

// csv returns the CSV of the namespace with this name; nil if there is none.
func (o *Operator) csv(name string) *CSV {
	for i := range o.CSVs {
		if name != "" && o.CSVs[i].Name == name {
			return &o.CSVs[i]
		}
	}
	return nil
}
