// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/oldrevisions"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

const subscriptionA = `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"name":"a"},"spec":{"name":"a","installPlanApproval":"Manual"}}`

// latestVersion returns a wrapper with `approve: Latest` for Subscription a. Its rollout has a canary wave with east.
func latestVersion() *v1alpha1.Federated {
	w := rendered("u", subscriptionA, 1)
	w.ResourceVersion = ""
	w.Spec.Placement.Clusters.Names = []string{"east", "west"}
	w.Spec.Rollout.Waves = []v1alpha1.RolloutWave{build.Wave("canary", "east")}
	w.Spec.Upgrade.Subscriptions = []v1alpha1.SubscriptionUpgrade{{Name: "a", Approve: v1alpha1.ApproveLatest}}
	return w
}

// reporting returns a first wave in which east reports these versions of Subscription a.
func reporting(installed, offered string) *firstWave {
	return &firstWave{name: "canary", members: []memberVersions{{name: "east", versions: []v1alpha1.ObservedSubscription{
		{Name: "a", TargetCSV: v1alpha1.TargetLatest, InstalledCSV: installed, OfferedCSV: offered}}}}}
}

// take makes the step takeVersions with these reports of the first wave, and returns the stored wrapper. at is the present
// time.
func take(t *testing.T, r *Reconciler, c client.Client, first *firstWave, at time.Time, approvals ...v1alpha1.Approval) (*v1alpha1.Federated, *reconciliation, error) {
	t.Helper()
	w := &v1alpha1.Federated{}
	if err := c.Get(t.Context(), web.NamespacedName, w); err != nil {
		t.Fatal(err)
	}
	p := &reconciliation{Reconciler: r, key: web, wrapper: w, now: at, approvals: approvals}
	if err := p.takeVersions(t.Context()); err != nil { // the manager has not read the members, so this call takes no version
		t.Fatal(err)
	}
	err := p.takeFrom(t.Context(), first)
	stored := &v1alpha1.Federated{}
	if err := c.Get(t.Context(), web.NamespacedName, stored); err != nil {
		t.Fatal(err)
	}
	return stored, p, err
}

func TestAVersionIsWrittenBeforeItIsARevision(t *testing.T) {
	west := east()
	west.Name = "west"
	r, c := host(t, nil, latestVersion(), east(), west)
	r.history = testKey(t, 1)
	r.old = oldrevisions.New(c, r.history)
	reconcile := func() (*v1alpha1.Federated, string) {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err != nil {
			t.Fatal(err)
		}
		w := &v1alpha1.Federated{}
		if err := c.Get(t.Context(), web.NamespacedName, w); err != nil {
			t.Fatal(err)
		}
		found := &appsv1.ControllerRevision{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: w.Status.Rollout.Revision}, found); err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(found.Data.Raw), `"upgrade":`)
		return w, text
	}
	before, text := reconcile()
	if want := `{"subscriptions":[{"approve":"Latest","name":"a"}]}}`; text != want {
		t.Errorf("before a version is taken the revision has %s", text)
	}
	before.Status.ObservedGeneration, before.Status.UpdateRevision = 1, before.Status.Rollout.Revision
	if err := c.Status().Update(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the same report must not make the manager take the version twice
		if _, _, err := take(t, r, c, reporting("", "a.v1.0.0"), now); err != nil {
			t.Fatal(err)
		}
	}
	r.writes, r.renderers = writeCache{}, renderers{} // the manager is started again
	after, text := reconcile()
	if want := `{"subscriptions":[{"approve":"Latest","name":"a","targetCSV":"a.v1.0.0"}]}}`; text != want {
		t.Errorf("the revision has %s", text)
	}
	if b, a := before.Status.Rollout, after.Status.Rollout; a.Revision == b.Revision || a.ID == b.ID || a.Wave != "canary" {
		t.Errorf("no rollout of it begins: %+v after %+v", a, b)
	}
	if taken := after.Status.Upgrade.Subscriptions; len(taken) != 1 || taken[0].CSV != "a.v1.0.0" || !taken[0].Since.Time.Equal(now) {
		t.Errorf("the status has %+v", taken)
	}
}

func TestAVersionThatCannotBeWrittenIsNotTaken(t *testing.T) {
	refused := errors.New("etcd is away")
	w := latestVersion()
	w.Spec.Rollout = v1alpha1.Rollout{}
	r, c := host(t, func() error { return refused }, w, east())
	stored, _, err := take(t, r, c, reporting("", "a.v1.0.0"), now)
	if !errors.Is(err, refused) || len(stored.Status.Upgrade.Subscriptions) > 0 {
		t.Errorf("%v, and the status has %+v", err, stored.Status.Upgrade)
	}
}

// Each new version makes a new revision. Taking a version must neither end the pause after a failed rollout, nor
// restart the rollout so often that later waves never change.
func TestWhenANewVersionIsTaken(t *testing.T) {
	const was, next = "a.v1.0.0", "a.v1.1.0"
	progressing := func(wave string, begun v1alpha1.YesMark) v1alpha1.RolloutStatus {
		return v1alpha1.RolloutStatus{ID: "x", Revision: "r1", State: v1alpha1.RolloutProgressing, Wave: wave, Begun: begun}
	}
	failed := v1alpha1.RolloutStatus{ID: "x", Revision: "r1", State: v1alpha1.RolloutPaused, Wave: "rest",
		Failure: v1alpha1.RolloutFailure{Revision: "r1", Cluster: "west"}}
	retry := v1alpha1.Approval{Spec: v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowRetry, Rollout: "x", Revision: "r1"}}
	retry.CreationTimestamp = metav1.NewTime(now)
	approved := v1alpha1.Approval{Spec: v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowWave, Rollout: "x", Revision: "r1", Wave: "rest"}}
	for name, test := range map[string]struct {
		rollout   v1alpha1.RolloutStatus
		change    func(*v1alpha1.Federated)
		approvals []v1alpha1.Approval
		since     time.Duration
		first     bool // whether it is the first version
		taken     bool
		reason    string
		words     string
		again     time.Duration
	}{
		"after the rollout of the one before":          {rollout: v1alpha1.RolloutStatus{ID: "x", Revision: "r1", State: v1alpha1.RolloutComplete}, taken: true},
		"while the first wave changes":                 {rollout: progressing("canary", v1alpha1.Yes), taken: true},
		"while a later wave waits for an Approval":     {rollout: progressing("rest", ""), taken: true},
		"not while an approved wave is about to begin": {rollout: progressing("rest", ""), approvals: []v1alpha1.Approval{approved}, reason: v1alpha1.ReasonWaveHeld, words: "wave rest has begun"},
		"not while a later wave changes":               {rollout: progressing("rest", v1alpha1.Yes), reason: v1alpha1.ReasonWaveHeld, words: next + " is not taken before all waves have passed, because wave rest"},
		"the first one even then":                      {rollout: progressing("rest", v1alpha1.Yes), first: true, taken: true},
		"not after a failure":                          {rollout: failed, reason: v1alpha1.ReasonRolloutStopped, words: "hostctl approve web -n shop --retry"},
		"after a failure and a Retry":                  {rollout: failed, approvals: []v1alpha1.Approval{retry}, taken: true},
		"not while the rollout is suspended": {rollout: progressing("canary", ""), reason: v1alpha1.ReasonSuspended, words: "spec.suspend is Rollout",
			change: func(w *v1alpha1.Federated) { w.Spec.Suspend = v1alpha1.SuspendRollout }},
		"not before the rollout is about the present spec": {rollout: progressing("canary", ""), again: time.Second,
			change: func(w *v1alpha1.Federated) { w.Status.ObservedGeneration = 0 }},
		"not within half a minute":       {rollout: progressing("canary", ""), since: 10 * time.Second, again: 20 * time.Second},
		"at once without a rollout":      {change: func(w *v1alpha1.Federated) { w.Spec.Rollout = v1alpha1.Rollout{} }, taken: true},
		"not when suspended without one": {change: func(w *v1alpha1.Federated) { w.Spec.Rollout, w.Spec.Suspend = v1alpha1.Rollout{}, v1alpha1.SuspendAll }, reason: v1alpha1.ReasonSuspended},
	} {
		t.Run(name, func(t *testing.T) {
			w := latestVersion()
			w.Status.ObservedGeneration, w.Status.UpdateRevision, w.Status.Rollout = 1, "r1", test.rollout
			if test.since == 0 {
				test.since = time.Hour
			}
			if !test.first {
				w.Status.Upgrade.Subscriptions = []v1alpha1.SubscriptionVersion{{Name: "a", CSV: was, Since: metav1.NewTime(now.Add(-test.since))}}
			}
			if test.change != nil {
				test.change(w)
			}
			before := w.Status.Upgrade
			r, c := host(t, nil, w)
			stored, p, err := take(t, r, c, reporting(was, next), now, test.approvals...)
			if err != nil {
				t.Fatal(err)
			}
			if !test.taken {
				if diff := cmp.Diff(before, stored.Status.Upgrade); diff != "" {
					t.Errorf("it is written: %s", diff)
				}
			}
			is := p.upgrade.Subscriptions[0]
			if taken := is.CSV == next; taken != test.taken || is.Reason != test.reason || !strings.Contains(is.Message, test.words) {
				t.Errorf("%+v", is)
			}
			if again := p.versionsAgain; again.IsZero() != (test.again == 0) || test.again != 0 && !again.Equal(now.Add(test.again)) {
				t.Errorf("the manager looks again at %s", again)
			}
		})
	}
}

// While the first wave is empty, no member would try a later version before the others. So the manager takes only a
// first version.
func TestNoLaterVersionIsTakenWhileTheFirstWaveIsEmpty(t *testing.T) {
	for _, was := range []string{"", "a.v1.0.0"} {
		w := latestVersion()
		w.Status.ObservedGeneration, w.Status.UpdateRevision = 1, "r1"
		w.Status.Rollout = v1alpha1.RolloutStatus{ID: "x", Revision: "r1", State: v1alpha1.RolloutComplete}
		if was != "" {
			w.Status.Upgrade.Subscriptions = []v1alpha1.SubscriptionVersion{{Name: "a", CSV: was}}
		}
		r, c := host(t, nil, w)
		first := reporting(was, "a.v1.1.0")
		first.empty = "canary"
		_, p, err := take(t, r, c, first, now)
		if is := p.upgrade.Subscriptions[0]; err != nil || (is.CSV == "a.v1.1.0") != (was == "") || was != "" && is.Reason != v1alpha1.ReasonWaveHeld {
			t.Errorf("after %q: %+v, %v", was, is, err)
		}
	}
}

// The manager must not take a version before it has read all members of the first wave.
func TestWhoseReportsCount(t *testing.T) {
	away := func(name string) *v1alpha1.MemberCluster {
		mc := east()
		mc.Name = name
		mc.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnreachable}}
		return mc
	}
	unread := east()
	for name, test := range map[string]struct {
		placed []string
		east   *v1alpha1.MemberCluster
		waves  []v1alpha1.RolloutWave
		name   string
		unread bool
		absent []string
	}{
		"none while a member of the first wave is not read":       {[]string{"east", "west"}, unread, []v1alpha1.RolloutWave{build.Wave("canary", "east")}, "canary", true, nil},
		"a member of a later wave is not waited for":              {[]string{"east", "west"}, unread, []v1alpha1.RolloutWave{build.Wave("canary", "west")}, "canary", false, []string{"west (the manager cannot reach it)"}},
		"a member that is away is not waited for":                 {[]string{"east", "west"}, away("east"), []v1alpha1.RolloutWave{build.Wave("canary", "east")}, "canary", false, []string{"east (the manager cannot reach it)"}},
		"the first wave with members is the first":                {[]string{"east"}, unread, []v1alpha1.RolloutWave{build.Wave("canary", "west"), build.Wave("second", "east")}, "second", true, nil},
		"all members where the wrapper has no waves":              {[]string{"east", "west"}, unread, nil, "", true, []string{"west (the manager cannot reach it)"}},
		"a member that is not placed any more has nothing to say": {[]string{"west"}, unread, nil, "", false, []string{"west (the manager cannot reach it)"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := latestVersion()
			w.Spec.Rollout.Waves, w.Status.Placement.Clusters = test.waves, test.placed
			r, _ := host(t, nil)
			plan, err := rollout.Compile(rollout.StrategyOf(&w.Spec.Rollout))
			if len(test.waves) == 0 {
				plan = nil
			}
			got := firstWaveOf(plan, nil, r.observer(web, w, map[string]*v1alpha1.MemberCluster{"east": test.east, "west": away("west")}))
			if err != nil || got.name != test.name || got.unread != test.unread || len(got.members) > 0 || !slices.Equal(got.absent, test.absent) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// Without a report of the first wave the manager takes no version. The status has to tell that, and who has to be brought back.
func TestAFirstWaveWithoutAReportIsNamed(t *testing.T) {
	const was = "a.v1.0.0"
	reach := report.Reachability{Known: true, Usable: true}
	has := &deliveries.Summary{Wrapper: v1alpha1.WrapperIdentity{UID: "u"}, Rendering: "d"}
	first := &firstWave{name: "canary", absent: []string{"skipped (an Approval skips it)"}}
	first.add("dumb", has, reach, "u", true)
	first.add("away", has, report.Reachability{Known: true}, "u", false)
	first.add("fresh", nil, reach, "u", false)
	first.add("odd", has, reach, "u", false)
	want := []string{"skipped (an Approval skips it)", "dumb (its collector is silent)", "away (the manager cannot reach it)", "fresh (it does not have the wrapper yet)"}
	if diff := cmp.Diff(want, first.absent); diff != "" {
		t.Error(diff)
	}
	w := latestVersion()
	w.Status.ObservedGeneration, w.Status.UpdateRevision = 1, "r1"
	w.Status.Rollout = v1alpha1.RolloutStatus{ID: "x", Revision: "r1", State: v1alpha1.RolloutComplete}
	w.Status.Upgrade.Subscriptions = []v1alpha1.SubscriptionVersion{{Name: "a", CSV: was, Since: metav1.NewTime(now)}}
	r, c := host(t, nil, w)
	_, p, err := take(t, r, c, first, now)
	is := p.upgrade.Subscriptions[0]
	words := "no cluster of the first wave reports a version: skipped (an Approval skips it), dumb (its collector is silent), away (the manager cannot reach it) and 2 more"
	if err != nil || is.CSV != was || is.Reason != v1alpha1.ReasonVersionPending || is.Message != words {
		t.Errorf("%+v, %v", is, err)
	}
}

func TestOnWhichMembersASubscriptionIs(t *testing.T) {
	first := &firstWave{members: []memberVersions{
		{name: "without", versions: []v1alpha1.ObservedSubscription{{Name: "b", InstalledCSV: "b.v1.0.0"}}},
		{name: "fresh", unjudged: true},
		{name: "with", versions: []v1alpha1.ObservedSubscription{{Name: "a", InstalledCSV: "a.v1.0.0"}}},
	}}
	var names []string
	reports, absent := first.reportsOn("a", false)
	if diff := cmp.Diff([]string{"without (its collector reports nothing about the Subscription)"}, absent); diff != "" {
		t.Error(diff)
	}
	for _, r := range reports {
		names = append(names, r.Member+" "+r.Installed)
	}
	if diff := cmp.Diff([]string{"fresh ", "with a.v1.0.0"}, names); diff != "" {
		t.Error(diff)
	}
	reports, _ = first.reportsOn("a", true)
	for _, r := range reports {
		if r.Installed != "" {
			t.Errorf("a report about an earlier target decides on the first version: %+v", r)
		}
	}
}
