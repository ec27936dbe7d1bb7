// SPDX-License-Identifier: Apache-2.0

package reinstall

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/namespaces"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/push/prune"
)

// stuckInterval is the time until the next attempt where a reinstall that has begun cannot go on.
const stuckInterval = 30 * time.Second

// Attempt is one attempt to bring the operators of one wrapper on one member back to their targets.
type Attempt struct {
	Conn    *member.Conn
	Desired *plan.Desired
	// Delivery is the name of the wrapper's Delivery, and DeliveryUID its uid.
	Delivery    string
	DeliveryUID types.UID
	// Subscriptions are all Subscriptions that the desired state has, by their names.
	Subscriptions map[string]Subscription
	// IsApplied is true if the member has the desired state.
	IsApplied bool
	// IsCollected is true if the member has a ready collector.
	IsCollected bool
	// IsHealthy reports whether the collector reports no trouble of a Subscription with the present desired state.
	IsHealthy func(subscription string) bool
	// Announced are the present announcements, by the names of Subscriptions.
	Announced map[string]upgrade.Announcement
	// Namespaces checks that the namespace is open to the host.
	Namespaces *namespaces.Namespaces
	// IsDesired reports whether Desired is still the present desired state. It is asked once more before the first removal.
	IsDesired func() bool
	Now       time.Time
}

// Result is what an attempt did.
type Result struct {
	upgrade.Reinstall
	// Subscription is the name of the Subscription that the decision is about; "" if there is nothing to reinstall.
	Subscription string
	// IsUnderWay is true if the reinstall has begun and has not ended. No InstallPlan may be approved meanwhile.
	IsUnderWay bool
	// IsJudged is true if the attempt knows which Subscriptions of the wrapper the manager must not create, because another one has their
	// package: it has read the namespace, or no reinstall has begun and none may. Forbidden are the names of these Subscriptions.
	IsJudged  bool
	Forbidden []string
	// Removed is the Subscription that this reinstall removed, for the step Create.
	Removed types.UID
}

// Run makes the next step. It reinstalls one operator at a time: first one whose reinstall has begun. An error concerns the member
// as a whole.
func (a *Attempt) Run(ctx context.Context) (Result, error) {
	record, unreadable, err := readRecord(ctx, a.Conn, a.Delivery)
	if memberapi.IsAbsent(err) {
		return Result{}, nil // a pass writes the Delivery first
	}
	if err != nil {
		return Result{}, err
	}
	if unreadable != "" {
		return a.kept("annotation %s of Delivery %s/%s: %s, so it is not known what was begun; correct it or remove it on the member",
			v1alpha1.AnnotationReinstalls, v1alpha1.SystemNamespace, a.Delivery, unreadable), nil
	}
	if w := &record.delivery.Spec.Wrapper; w.UID != a.Desired.Wrapper.UID || w.Generation > a.Desired.Wrapper.Generation {
		// The host was restored from a backup, or has another wrapper of the name. Its next pass is held, and would not create the
		// Subscription again.
		return Result{}, nil
	}
	switch {
	case record.delivery.UID != a.DeliveryUID:
		return Result{}, nil
	case len(record.begun) == 0 && !a.Desired.Reinstalls:
		return Result{IsJudged: true}, nil
	}
	read := &reader{conn: a.Conn, namespace: a.Desired.Wrapper.Namespace}
	subscriptions, err := read.subscriptions(ctx)
	if err != nil {
		return Result{}, err
	}
	csvs, err := read.csvs(ctx)
	if err != nil {
		return Result{}, err
	}
	if read.unread != "" {
		return a.unread(record, read.unread), nil
	}
	if refused, err := a.forget(ctx, record); refused != "" || err != nil {
		return a.kept("%s", refused), err
	}
	all := a.operators(record, subscriptions, csvs)
	// A begun one comes first: until it has ended, no other operator of the wrapper is removed.
	slices.SortStableFunc(all, func(x, y *upgrade.Operator) int { return a.rank(x) - a.rank(y) })
	forbidden := a.forbidden(all)
	is, err := a.first(ctx, read, record, all)
	is.IsJudged, is.Forbidden = true, forbidden
	return is, err
}

// operators returns what the manager knows about each Subscription of the wrapper.
func (a *Attempt) operators(record *record, subscriptions []operators.Subscription, csvs []upgrade.CSV) []*upgrade.Operator {
	all := make([]*upgrade.Operator, 0, len(a.Subscriptions))
	for _, name := range slices.Sorted(maps.Keys(a.Subscriptions)) {
		desired := a.Subscriptions[name]
		o := &upgrade.Operator{
			Name: name, Wrapper: a.Desired.Wrapper.UID, Target: desired.Target, Desired: desired.Spec, IsAdopted: record.isAdopted(name), IsPolicy: a.Desired.Reinstalls, IsApplied: a.IsApplied,
			Waits: a.waits(record, name), SharesNamespace: a.Desired.SharesNamespace, IsCollected: a.IsCollected, IsHealthy: a.IsCollected && a.IsHealthy(name),
			Subscriptions: subscriptions, CSVs: csvs, Begun: record.of(name),
		}
		if announced, ok := a.Announced[name]; ok {
			o.Announced = &announced
		}
		all = append(all, o)
	}
	return all
}

// first makes the next step of the first operator that needs one. An operator that is kept does not hold the others of the wrapper.
func (a *Attempt) first(ctx context.Context, read *reader, record *record, all []*upgrade.Operator) (kept Result, err error) {
	for _, o := range all {
		is, err := a.one(ctx, read, record, o)
		switch {
		case err != nil:
			return is, err
		case is.Step == upgrade.Keep && kept.Step == upgrade.None:
			kept = is
		case is.Step != upgrade.Keep && is.Step != upgrade.None:
			return is, nil
		}
	}
	return kept, nil
}

// forbidden returns the names of the Subscriptions that the manager must not create. It judges all of them: a pass can create each one,
// also while another operator of the wrapper is reinstalled.
func (a *Attempt) forbidden(all []*upgrade.Operator) (names []string) {
	for _, o := range all {
		if upgrade.IsForbidden(o, a.Now) {
			names = append(names, o.Name)
		}
	}
	return names
}

// waits returns why no reinstall of a Subscription may begin on the member now; "" if one may.
func (a *Attempt) waits(record *record, subscription string) string {
	for _, other := range slices.Sorted(maps.Keys(record.begun)) {
		if other != subscription && !record.begun[other].Settled {
			return "Subscription " + other + " of this wrapper was reinstalled and is not Healthy yet"
		}
	}
	switch {
	case a.Desired.MayReinstall:
		return ""
	case a.Desired.ReinstallWaits == "":
		return "it is not the member's turn"
	}
	return a.Desired.ReinstallWaits
}

// forget ends the records of Subscriptions that the wrapper does not have any more: their operators are not waited for. refused is why
// the API server did not accept that.
func (a *Attempt) forget(ctx context.Context, record *record) (refused string, err error) {
	dropped := make(upgrade.Records)
	for name, begun := range record.begun {
		if _, has := a.Subscriptions[name]; !has && !begun.Settled {
			begun.Ended, begun.Settled = &metav1.Time{Time: a.Now}, true
			dropped[name] = begun
		}
	}
	if len(dropped) == 0 {
		return "", nil
	}
	return record.write(ctx, a.Conn, dropped, a.Now)
}

func (a *Attempt) rank(o *upgrade.Operator) int {
	if upgrade.IsUnderWay(o, a.Now) {
		return 0
	}
	return 1
}

// one makes the next step of one operator.
func (a *Attempt) one(ctx context.Context, read *reader, record *record, o *upgrade.Operator) (Result, error) {
	if csvs, needed := upgrade.NeedsFacts(o, a.Now); needed {
		sub := &o.Subscriptions[slices.IndexFunc(o.Subscriptions, func(s operators.Subscription) bool { return s.Name == o.Name })]
		facts := &reader{conn: read.conn, namespace: read.namespace}
		var err error
		if o.Facts, err = facts.facts(ctx, o.Desired, csvs); err != nil {
			return Result{}, err
		}
		if o.Facts.Unread == "" {
			if o.Facts.Unread, err = a.claimLost(ctx, sub, csvs); err != nil {
				return Result{}, err
			}
		}
	}
	is := Result{Reinstall: upgrade.DecideReinstall(o, a.Now), Subscription: o.Name, IsUnderWay: upgrade.IsUnderWay(o, a.Now)}
	if is.Step == upgrade.Begin {
		kept, err := a.begin(ctx, record, o, &is.Removal)
		if err != nil || kept != "" {
			is.Step, is.Message = upgrade.Keep, "the manager keeps the operator: "+kept
			return is, err
		}
		is = Result{Reinstall: upgrade.DecideReinstall(o, a.Now), Subscription: o.Name, IsUnderWay: true}
	}
	if o.Begun != nil {
		is.Removed = o.Begun.Subscription.UID
	}
	switch is.Step {
	case upgrade.Remove:
		return a.remove(ctx, is)
	case upgrade.End:
		return a.end(ctx, record, o, is)
	default:
		return is, nil
	}
}

// end records that a reinstall has ended.
func (a *Attempt) end(ctx context.Context, record *record, o *upgrade.Operator, is Result) (Result, error) {
	ended := *o.Begun
	if ended.Ended == nil {
		ended.Ended = &metav1.Time{Time: a.Now}
	}
	ended.Settled = ended.Settled || is.Settles
	refused, err := record.write(ctx, a.Conn, upgrade.Records{o.Name: ended}, a.Now)
	if refused != "" {
		is.Step, is.Message = upgrade.AwaitRemoval, is.Message+", but the manager could not record that: "+refused
	}
	return is, err
}

// claimLost returns why the removal would, or could, delete a claim; "" if it would not. The garbage collector deletes what the CSVs own:
// their Deployments, and everything that names one of these as its owner.
func (a *Attempt) claimLost(ctx context.Context, sub *operators.Subscription, csvs []upgrade.CSV) (why string, err error) {
	uids := []types.UID{sub.UID}
	for i := range csvs {
		uids = append(uids, csvs[i].UID)
	}
	why, err = prune.LostWith(ctx, a.Conn, a.Desired.Wrapper.Namespace, uids...)
	if boundedread.IsTooLarge(err) {
		return tooLarge("the owners of the claims"), nil
	}
	return why, err
}

// begin records that the reinstall begins, after a dry run of each deletion. kept is why it must not begin, in words.
func (a *Attempt) begin(ctx context.Context, record *record, o *upgrade.Operator, removal *upgrade.Removal) (kept string, err error) {
	namespace := a.Desired.Wrapper.Namespace
	closed, err := a.Namespaces.Open(ctx, namespace, true)
	switch {
	case err != nil:
		return "", err
	case closed != nil:
		return closed.Message, nil
	}
	for _, csv := range removal.CSVs {
		if kept, err = a.tryDelete(ctx, memberapi.ClusterServiceVersions, operators.ClusterServiceVersionKind, csv); kept != "" || err != nil {
			return kept, err
		}
	}
	if kept, err = a.tryDelete(ctx, memberapi.Subscriptions, operators.SubscriptionKind, removal.Subscription); kept != "" || err != nil {
		return kept, err
	}
	if kept, err = a.tryCreate(ctx, o.Name); kept != "" || err != nil {
		return kept, err
	}
	if !a.IsDesired() {
		return "the desired state has just changed", nil
	}
	begun := &upgrade.Begun{Removal: *removal, At: metav1.NewTime(a.Now)}
	ended := *begun
	ended.Ended, ended.Settled = &begun.At, true
	if _, err := record.begun.With(upgrade.Records{o.Name: ended}, a.Now).Text(); err != nil {
		return err.Error(), nil //nolint:nilerr // its end could not be recorded
	}
	if kept, err = record.write(ctx, a.Conn, upgrade.Records{o.Name: *begun}, a.Now); kept == "" && err == nil {
		o.Begun = begun
	}
	return kept, err
}

// tryDelete makes a dry run of a deletion. kept is why the API server would refuse it.
func (a *Attempt) tryDelete(ctx context.Context, gvr schema.GroupVersionResource, kind string, what upgrade.Object) (kept string, err error) {
	err = memberapi.TryDelete(ctx, a.Conn, member.Path(gvr, a.Desired.Wrapper.Namespace, what.Name), metav1.Preconditions{UID: &what.UID})
	switch {
	case err == nil:
		return "", nil
	case memberapi.AnsweredAbout(gvr.Group, err):
		return memberapi.ExplainWithout("get, list, delete", "deleting", memberapi.Ref(kind, what.Name), err).Message, nil
	}
	return "", fmt.Errorf("trying to delete %s %s on member %s: %w", kind, what.Name, a.Conn.Name(), err)
}

// remove removes the object that the decision names.
func (a *Attempt) remove(ctx context.Context, is Result) (Result, error) {
	gvr, kind := memberapi.Subscriptions, operators.SubscriptionKind
	if is.NextIsCSV {
		gvr, kind = memberapi.ClusterServiceVersions, operators.ClusterServiceVersionKind
	}
	path := member.Path(gvr, a.Desired.Wrapper.Namespace, is.Next.Name)
	err := memberapi.DeleteExactly(ctx, a.Conn, path, metav1.Preconditions{UID: &is.Next.UID, ResourceVersion: &is.ResourceVersion})
	switch {
	case err == nil:
	case apierrors.IsConflict(err), memberapi.IsAbsent(err):
		// It has changed since it was read, or another client has deleted it. The next attempt reads it again.
	case memberapi.AnsweredAbout(gvr.Group, err):
		is.Message = "reinstalling: " + memberapi.ExplainWithout("get, list, delete", "deleting", memberapi.Ref(kind, is.Next.Name), err).Message
	default:
		return is, fmt.Errorf("deleting %s %s on member %s: %w", kind, is.Next.Name, a.Conn.Name(), err)
	}
	return is, nil
}

// unread is the result where the manager cannot read the namespace. If a reinstall has begun, it is still under way.
func (a *Attempt) unread(record *record, why string) Result {
	for _, name := range slices.Sorted(maps.Keys(record.begun)) {
		if record.begun[name].Ended == nil {
			return Result{Subscription: name, IsUnderWay: true, Reinstall: upgrade.Reinstall{Step: upgrade.AwaitRemoval, Again: a.Now.Add(stuckInterval),
				Message: "reinstalling: the manager cannot go on with Subscription " + name + ": " + why}}
		}
	}
	return a.kept("%s", why)
}

// kept is the result where the manager cannot decide about any operator of the wrapper, and keeps all.
func (a *Attempt) kept(format string, args ...any) Result {
	return Result{Reinstall: upgrade.Reinstall{Step: upgrade.Keep, Message: "the manager reinstalls nothing: " + fmt.Sprintf(format, args...)}}
}
