// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// ahead returns Subscription db, whose target is db.v1.2.0. OLM has installed db.v1.3.0 and still keeps db.v1.2.0, because
// db.v1.3.0 has not succeeded. No rule objects to a reinstall.
func ahead() *upgrade.Operator {
	db := sub("db", "db.v1.3.0", "db.v1.3.0", func(s *operators.Subscription) {
		s.UID, s.ResourceVersion, s.Labels = "sub-1", "9", map[string]string{v1alpha1.LabelUID: "u"}
		s.Annotations = map[string]string{v1alpha1.AnnotationTargetCSV: "db.v1.2.0", v1alpha1.AnnotationObject: marks.ObjectPath("subscriptions", operators.GroupName, "", "db")}
		s.Spec.StartingCSV, s.Spec.Channel, s.Spec.CatalogSource, s.Spec.CatalogSourceNamespace = "db.v1.2.0", "stable", "operators", "olm"
	})
	spec := *db.Spec
	return &upgrade.Operator{
		Name: "db", Wrapper: "u", Target: "db.v1.2.0", Desired: &spec, IsPolicy: true, IsApplied: true, IsCollected: true,
		Subscriptions: []operators.Subscription{db}, CSVs: []upgrade.CSV{csvOf("db.v1.3.0", "db.v1.2.0"), csvOf("db.v1.2.0", "db.v1.1.0")},
		Facts: &upgrade.Facts{OperatorGroups: 1, Catalog: upgrade.Catalog{IsHealthy: true},
			CRDs: []upgrade.CRD{{Name: "dbs.example.org", Group: "example.org", Kind: "DB", Stored: []string{"v1"}}}},
	}
}

// csvOf returns a CSV that owns CRD dbs.example.org in version v1.
func csvOf(name, replaces string) upgrade.CSV {
	crd := upgrade.OwnedCRD{Name: "dbs.example.org", Version: "v1", Kind: "DB"}
	return upgrade.CSV{Object: upgrade.Object{Name: name, UID: types.UID("uid-of-" + name)}, ResourceVersion: "5", Replaces: replaces, OwnedCRDs: []string{crd.Name}, Owned: []string{crd.APIOf()}}
}

// removal is what a reinstall of the Subscription in ahead removes.
func removal() upgrade.Removal {
	return upgrade.Removal{Subscription: upgrade.Object{Name: "db", UID: "sub-1"}, CSVs: []upgrade.Object{{Name: "db.v1.2.0", UID: "uid-of-db.v1.2.0"}, {Name: "db.v1.3.0", UID: "uid-of-db.v1.3.0"}}}
}

func announced(ago time.Duration) *upgrade.Announcement {
	return &upgrade.Announcement{Removal: removal(), Shown: now.Add(-ago)}
}

func begun(ago time.Duration) *upgrade.Begun {
	return &upgrade.Begun{Removal: removal(), At: metav1.NewTime(now.Add(-ago))}
}

// packages returns the catalog of the Subscription. Its channel stable has these CSVs; the first one is the head.
func packages(csvs ...string) upgrade.Catalog {
	return upgrade.Catalog{IsHealthy: true, ServesPackages: true, Package: &upgrade.Package{CatalogSource: "operators", CatalogNamespace: "olm",
		Channels: []upgrade.Channel{{Name: "stable", Head: csvs[0], CSVs: csvs, HeadAPIs: []string{upgrade.OwnedCRD{Name: "dbs.example.org", Version: "v1", Kind: "DB"}.APIOf()}}}}}
}

func TestTheOperatorIsKept(t *testing.T) {
	without := func(o *upgrade.Operator, csv string) {
		var left []upgrade.CSV
		for _, c := range o.CSVs {
			if c.Name != csv {
				left = append(left, c)
			}
		}
		o.CSVs = left
	}
	for name, tc := range map[string]struct {
		change func(*upgrade.Operator, *operators.Subscription)
		want   string
	}{
		"OLM would delete custom resources": {func(o *upgrade.Operator, _ *operators.Subscription) { o.CSVs[0].CleansUp = true }, "spec.cleanup.enabled"},
		"so would it with the earlier CSV":  {func(o *upgrade.Operator, _ *operators.Subscription) { o.CSVs[1].CleansUp = true }, "spec.cleanup.enabled"},
		"a CSV is a copy":                   {func(o *upgrade.Operator, _ *operators.Subscription) { o.CSVs[1].IsCopy = true }, "db.v1.2.0 is a copy"},
		"another Subscription names the CSV": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.Subscriptions = append(o.Subscriptions, sub("db2", "db.v1.3.0", "db.v1.3.0"))
		}, "Subscription db2 names db.v1.3.0"},
		"another one is to install the CSV": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.Subscriptions = append(o.Subscriptions, sub("db2", "", "db.v1.2.0"))
		}, "Subscription db2 names db.v1.2.0"},
		"a replaced CSV has another name": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.CSVs[0].Replaces, o.CSVs[1] = "old-db.v1.2.0", csvOf("old-db.v1.2.0", "")
		}, "does not show an earlier version"},
		"a CSV is later than the installed one": {func(o *upgrade.Operator, _ *operators.Subscription) { o.CSVs[1] = csvOf("db.v1.4.0", "") }, "does not show an earlier version"},
		"there are too many CSVs": {func(o *upgrade.Operator, _ *operators.Subscription) {
			for i := range 9 {
				o.CSVs = append(o.CSVs, csvOf("db.v0."+string(rune('0'+i))+".0", ""))
			}
		}, "more than 8"},
		"another client deletes a CSV":          {func(o *upgrade.Operator, _ *operators.Subscription) { o.CSVs[1].IsDeleted = true }, "another client is deleting db.v1.2.0"},
		"OLM offers the target as the next one": {func(_ *upgrade.Operator, s *operators.Subscription) { s.Status.CurrentCSV = "db.v1.2.0" }, "in spite of its name"},
		"another CSV requires the API": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.CSVs = append(o.CSVs, upgrade.CSV{Object: upgrade.Object{Name: "app.v1.0.0"}, Required: []string{upgrade.OwnedCRD{Name: "dbs.example.org", Version: "v1beta1", Kind: "DB"}.APIOf()}})
		}, "app.v1.0.0 requires"},
		"another CSV requires the package": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.CSVs = append(o.CSVs, upgrade.CSV{Object: upgrade.Object{Name: "app.v1.0.0"}, Required: []string{"package db"}})
		}, "app.v1.0.0 requires package db"},
		"another CSV provides the API too": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.CSVs = append(o.CSVs, csvOf("fork.v1.0.0", ""))
		}, "fork.v1.0.0 provides"},
		"the Subscription has another start":     {func(_ *upgrade.Operator, s *operators.Subscription) { s.Spec.StartingCSV = "db.v1.0.0" }, "has changed startingCSV of Subscription db"},
		"another client has changed the channel": {func(_ *upgrade.Operator, s *operators.Subscription) { s.Spec.Channel = "beta" }, "has changed channel of Subscription db"},
		"another client has changed the source": {func(_ *upgrade.Operator, s *operators.Subscription) {
			s.Spec.CatalogSource, s.Spec.CatalogSourceNamespace = "mine", "shop"
		}, "has changed source, sourceNamespace of Subscription db"},
		"the wrapper has another start":  {func(o *upgrade.Operator, _ *operators.Subscription) { o.Desired.StartingCSV = "db.v1.0.0" }, "startingCSV of Subscription db is \"db.v1.0.0\""},
		"the wrapper has no start":       {func(o *upgrade.Operator, _ *operators.Subscription) { o.Desired.StartingCSV = "" }, "startingCSV of Subscription db"},
		"the wrapper is not Manual":      {func(o *upgrade.Operator, _ *operators.Subscription) { o.Desired.InstallPlanApproval = "Automatic" }, "is not Manual"},
		"the Subscription is not Manual": {func(_ *upgrade.Operator, s *operators.Subscription) { s.Spec.InstallPlanApproval = "Automatic" }, "has changed installPlanApproval"},
		"the desired channel lacks the target": {func(o *upgrade.Operator, s *operators.Subscription) {
			o.Facts.Catalog = packages("db.v1.2.0")
			o.Desired.Channel, s.Spec.Channel = "beta", "beta"
		}, "channel beta of package db"},
		"the Delivery says adopted":             {func(o *upgrade.Operator, _ *operators.Subscription) { o.IsAdopted = true }, "was adopted"},
		"the Subscription is another wrapper's": {func(_ *upgrade.Operator, s *operators.Subscription) { s.Labels[v1alpha1.LabelUID] = "other" }, "another client has changed or replaced"},
		"the Subscription lacks our mark":       {func(_ *upgrade.Operator, s *operators.Subscription) { delete(s.Annotations, v1alpha1.AnnotationObject) }, "another client has changed or replaced"},
		"the Subscription has another target": {func(_ *upgrade.Operator, s *operators.Subscription) {
			s.Annotations[v1alpha1.AnnotationTargetCSV] = "db.v1.1.0"
		}, "another client has changed or replaced"},
		"the Subscription was adopted":            {func(_ *upgrade.Operator, s *operators.Subscription) { s.Annotations[v1alpha1.AnnotationAdopted] = "x" }, "was adopted"},
		"the Subscription says keep":              {func(_ *upgrade.Operator, s *operators.Subscription) { s.Annotations[v1alpha1.AnnotationKeep] = "true" }, "has the annotation"},
		"the Subscription has finalizers":         {func(_ *upgrade.Operator, s *operators.Subscription) { s.Finalizers = []string{"a/b"} }, "has finalizers"},
		"another client deletes the Subscription": {func(_ *upgrade.Operator, s *operators.Subscription) { s.DeletionTimestamp = &metav1.Time{Time: now} }, "another client is deleting Subscription db"},
		"another owner is in the namespace": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.Subscriptions = append(o.Subscriptions, sub("cache", "", ""))
		}, "Subscription cache of another owner"},
		"another Subscription waits for an upgrade": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.SharesNamespace, o.Subscriptions = true, append(o.Subscriptions, sub("cache", "cache.v1.0.0", "cache.v2.0.0"))
		}, "Subscription cache waits for cache.v2.0.0, and OLM would put that and db.v1.2.0 into one InstallPlan"},
		"another Subscription of the wrapper does": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.Subscriptions = append(o.Subscriptions, sub("cache", "cache.v1.0.0", "cache.v2.0.0", func(s *operators.Subscription) { s.Labels = map[string]string{v1alpha1.LabelUID: "u"} }))
		}, "approve the InstallPlan of cache, or remove that Subscription, first"},
		"another Subscription has no version yet": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.SharesNamespace, o.Subscriptions = true, append(o.Subscriptions, sub("cache", "", ""))
		}, "Subscription cache waits for its first version"},
		"a pending InstallPlan would upgrade another Subscription": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.SharesNamespace, o.Subscriptions = true, append(o.Subscriptions, sub("cache", "cache.v1.0.0", "cache.v1.0.0"))
			o.Facts.Plans = []operators.InstallPlan{*planOfReplacing("cache.v2.0.0", "cache.v1.0.0")}
		}, "Subscription cache waits for cache.v2.0.0 of InstallPlan install-abcde"},
		"OLM cannot resolve another Subscription": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.SharesNamespace, o.Subscriptions = true, append(o.Subscriptions, sub("cache", "cache.v1.0.0", "cache.v1.0.0"))
			o.Subscriptions[1].Status.Conditions = []operators.SubscriptionCondition{{Type: operators.SubscriptionResolutionFailed, Status: corev1.ConditionTrue}}
		}, "ResolutionFailed for Subscription cache"},
		"the CatalogSource is not ready": {func(o *upgrade.Operator, _ *operators.Subscription) { o.Facts.Catalog.IsHealthy = false }, "CatalogSource olm/operators is missing or not READY"},
		"OLM reports an unhealthy CatalogSource": {func(_ *upgrade.Operator, s *operators.Subscription) {
			s.Status.Conditions = []operators.SubscriptionCondition{{Type: operators.SubscriptionCatalogSourcesUnhealthy, Status: corev1.ConditionTrue}}
		}, "CatalogSourcesUnhealthy"},
		"the package is not in the catalog": {func(o *upgrade.Operator, _ *operators.Subscription) { o.Facts.Catalog.ServesPackages = true }, "has no package db"},
		"the package is that of another catalog": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.Facts.Catalog = packages("db.v1.2.0")
			o.Facts.Catalog.Package.CatalogSource = "other"
		}, "of another catalog"},
		"the channel lacks the target": {func(o *upgrade.Operator, _ *operators.Subscription) { o.Facts.Catalog = packages("db.v1.3.0") }, "lacks db.v1.2.0"},
		"only another channel has the target": {func(o *upgrade.Operator, _ *operators.Subscription) {
			o.Facts.Catalog = packages("db.v1.2.0")
			o.Facts.Catalog.Package.Channels[0].Name = "beta"
		}, "lacks db.v1.2.0"},
		"a CRD has a version that the target lacks": {func(o *upgrade.Operator, _ *operators.Subscription) { o.Facts.CRDs[0].Stored = []string{"v1", "v2"} }, "stored in version v2"},
		"nothing tells the target's CRDs":           {func(o *upgrade.Operator, _ *operators.Subscription) { without(o, "db.v1.2.0") }, "nothing on the member tells which versions"},
		"the head of the channel is another CSV": {func(o *upgrade.Operator, _ *operators.Subscription) {
			without(o, "db.v1.2.0")
			o.Facts.Catalog = packages("db.v1.3.0", "db.v1.2.0")
		}, "nothing on the member tells which versions"},
		"it was reinstalled half an hour ago": {func(o *upgrade.Operator, _ *operators.Subscription) { o.Begun = earlier(30 * time.Minute) }, "a reinstall of it began at 2026-11-26T11:30:00Z already"},
		"it was reinstalled in the future":    {func(o *upgrade.Operator, _ *operators.Subscription) { o.Begun = earlier(-time.Hour) }, "a reinstall of it began at"},
		"an InstallPlan is executed":          {func(o *upgrade.Operator, _ *operators.Subscription) { o.Facts.Plans = executed(time.Minute) }, "the manager waits until that has ended"},
		"it is executed for ten minutes":      {func(o *upgrade.Operator, _ *operators.Subscription) { o.Facts.Plans = executed(10 * time.Minute) }, "delete that InstallPlan on the member"},
		"there are two OperatorGroups":        {func(o *upgrade.Operator, _ *operators.Subscription) { o.Facts.OperatorGroups = 2 }, "exactly one OperatorGroup"},
		"something could not be read":         {func(o *upgrade.Operator, _ *operators.Subscription) { o.Facts.Unread = "no right to read CRD dbs" }, "no right to read CRD dbs"},
		"nothing was read":                    {func(o *upgrade.Operator, _ *operators.Subscription) { o.Facts = nil }, "has not read"},
		"the collector is not ready":          {func(o *upgrade.Operator, _ *operators.Subscription) { o.IsCollected = false }, "the collector of the member is not ready"},
	} {
		t.Run(name, func(t *testing.T) {
			o := ahead()
			o.Announced = announced(40 * time.Second) // without the problem, the reinstall would begin
			tc.change(o, &o.Subscriptions[0])
			is := upgrade.DecideReinstall(o, now)
			if is.Step != upgrade.Keep || !strings.Contains(is.Message, tc.want) {
				t.Errorf("step %d: %s", is.Step, is.Message)
			}
			if !strings.HasPrefix(is.Message, "db.v1.3.0 is installed, later than target db.v1.2.0; the manager keeps the operator: ") {
				t.Errorf("the message does not begin with what is installed: %s", is.Message)
			}
		})
	}
}

// earlier is the record of a reinstall of this operator that has ended.
func earlier(ago time.Duration) *upgrade.Begun {
	return &upgrade.Begun{At: metav1.NewTime(now.Add(-ago)), Ended: &metav1.Time{Time: now.Add(-ago)}, Settled: true, Removal: upgrade.Removal{Subscription: upgrade.Object{Name: "db", UID: "sub-0"}, CSVs: []upgrade.Object{{Name: "db.v1.3.0", UID: "earlier"}}}}
}

func executed(since time.Duration) []operators.InstallPlan {
	plan := planOf("db.v1.3.0")
	plan.Spec.Approved, plan.Status.Phase, plan.Status.StartTime = true, operators.InstallPlanPhaseInstalling, &metav1.Time{Time: now.Add(-since)}
	return []operators.InstallPlan{*plan}
}

// ended is the record of a reinstall whose Subscription is there again.
func ended(ago time.Duration, settled bool) *upgrade.Begun {
	b := begun(ago)
	b.Ended, b.Settled = &b.At, settled
	return b
}

// installed lets OLM install the target with a new Subscription.
func installed(o *upgrade.Operator) {
	o.CSVs = []upgrade.CSV{csvOf("db.v1.2.0", "")}
	o.Subscriptions[0].UID, o.Subscriptions[0].Status.InstalledCSV, o.Subscriptions[0].Status.CurrentCSV = "sub-2", "db.v1.2.0", "db.v1.2.0"
}

func TestTheStepsOfAReinstall(t *testing.T) {
	stopped := upgrade.Reinstall{Step: upgrade.End, Settles: true}
	// unsettled is a stop that the author has not asked for, so the next member waits.
	unsettled := upgrade.Reinstall{Step: upgrade.End}
	remove := func(name, uid, version string, isCSV bool) upgrade.Reinstall {
		return upgrade.Reinstall{Step: upgrade.Remove, Next: upgrade.Object{Name: name, UID: types.UID(uid)}, NextIsCSV: isCSV, ResourceVersion: version}
	}
	gone := func(o *upgrade.Operator, names ...string) {
		for _, name := range names {
			for i := range o.CSVs {
				if o.CSVs[i].Name == name {
					o.CSVs = append(o.CSVs[:i:i], o.CSVs[i+1:]...)
					break
				}
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(*upgrade.Operator)
		want   upgrade.Reinstall
	}{
		"it is announced":                {func(*upgrade.Operator) {}, upgrade.Reinstall{Step: upgrade.Announce, Removal: removal()}},
		"no status shows that yet":       {func(o *upgrade.Operator) { o.Announced = &upgrade.Announcement{Removal: removal()} }, upgrade.Reinstall{Step: upgrade.Announce, Removal: removal()}},
		"it is visible":                  {func(o *upgrade.Operator) { o.Announced = announced(29 * time.Second) }, upgrade.Reinstall{Step: upgrade.AwaitAnnounced, Removal: removal(), Again: now.Add(time.Second)}},
		"it was visible for long enough": {func(o *upgrade.Operator) { o.Announced = announced(30 * time.Second) }, upgrade.Reinstall{Step: upgrade.Begin, Removal: removal()}},
		"it is too old":                  {func(o *upgrade.Operator) { o.Announced = announced(time.Minute) }, upgrade.Reinstall{Step: upgrade.Announce, Removal: removal()}},
		"the clock was set back":         {func(o *upgrade.Operator) { o.Announced = announced(-time.Second) }, upgrade.Reinstall{Step: upgrade.Announce, Removal: removal()}},
		"it named another CSV": {func(o *upgrade.Operator) {
			o.Announced = announced(40 * time.Second)
			o.Announced.Removal.CSVs[0].UID = "other"
		}, upgrade.Reinstall{Step: upgrade.Announce, Removal: removal()}},
		"it is not the member's turn":            {func(o *upgrade.Operator) { o.Announced, o.Waits = announced(40*time.Second), "WaveHeld" }, upgrade.Reinstall{Step: upgrade.WaitForTurn}},
		"the policy is Never":                    {func(o *upgrade.Operator) { o.IsPolicy = false }, upgrade.Reinstall{}},
		"the desired state is not applied":       {func(o *upgrade.Operator) { o.IsApplied = false }, upgrade.Reinstall{}},
		"the target is installed":                {func(o *upgrade.Operator) { o.Target = "db.v1.3.0" }, upgrade.Reinstall{}},
		"names give no order":                    {func(o *upgrade.Operator) { o.Target = "db-next" }, upgrade.Reinstall{}},
		"the manager has taken no version":       {func(o *upgrade.Operator) { o.Target = v1alpha1.TargetLatest }, upgrade.Reinstall{}},
		"the Subscription is gone":               {func(o *upgrade.Operator) { o.Subscriptions = nil }, upgrade.Reinstall{}},
		"the Subscription has nothing installed": {func(o *upgrade.Operator) { o.Subscriptions[0].Status.InstalledCSV = "" }, upgrade.Reinstall{}},
		"the namespace is shared by consent": {func(o *upgrade.Operator) {
			o.SharesNamespace = true
			o.Subscriptions = append(o.Subscriptions, sub("cache", "cache.v1.0.0", "cache.v1.0.0"), sub("web", "web.v1.0.0", "web.v1.1.0", automatic))
		},
			upgrade.Reinstall{Step: upgrade.Announce, Removal: removal()}},
		"an InstallPlan has ended": {func(o *upgrade.Operator) {
			o.Facts.Plans = executed(0)
			o.Facts.Plans[0].Status.Phase = operators.InstallPlanPhaseComplete
		},
			upgrade.Reinstall{Step: upgrade.Announce, Removal: removal()}},
		"the catalog has the target": {func(o *upgrade.Operator) { o.Facts.Catalog = packages("db.v1.3.0", "db.v1.2.0") }, upgrade.Reinstall{Step: upgrade.Announce, Removal: removal()}},
		"the package server tells the target's CRDs": {func(o *upgrade.Operator) { gone(o, "db.v1.2.0"); o.Facts.Catalog = packages("db.v1.2.0") },
			upgrade.Reinstall{Step: upgrade.Announce, Removal: upgrade.Removal{Subscription: removal().Subscription, CSVs: removal().CSVs[1:]}}},
		"an InstallPlan tells the target's CRDs": {func(o *upgrade.Operator) {
			gone(o, "db.v1.2.0")
			o.Facts.Plans = []operators.InstallPlan{{Status: operators.InstallPlanStatus{Phase: operators.InstallPlanPhaseComplete, BundleLookups: []operators.BundleLookup{{Identifier: "db.v1.2.0",
				Properties: `{"properties":[{"type":"olm.gvk","value":{"group":"example.org","version":"v1","kind":"DB"}}]}`}}}}}
		}, upgrade.Reinstall{Step: upgrade.Announce, Removal: upgrade.Removal{Subscription: removal().Subscription, CSVs: removal().CSVs[1:]}}},
		"the installed CSV is gone already":      {func(o *upgrade.Operator) { o.CSVs = nil }, upgrade.Reinstall{Step: upgrade.Announce, Removal: upgrade.Removal{Subscription: removal().Subscription}}},
		"an earlier reinstall was two hours ago": {func(o *upgrade.Operator) { o.Begun = earlier(2 * time.Hour) }, upgrade.Reinstall{Step: upgrade.Announce, Removal: removal()}},

		"the earliest CSV goes first":                           {func(o *upgrade.Operator) { o.Begun = begun(0) }, remove("db.v1.2.0", "uid-of-db.v1.2.0", "5", true)},
		"it is being deleted":                                   {func(o *upgrade.Operator) { o.Begun = begun(0); o.CSVs[1].IsDeleted = true }, upgrade.Reinstall{Step: upgrade.AwaitRemoval}},
		"then the next one":                                     {func(o *upgrade.Operator) { o.Begun = begun(0); gone(o, "db.v1.2.0") }, remove("db.v1.3.0", "uid-of-db.v1.3.0", "5", true)},
		"the Subscription goes last":                            {func(o *upgrade.Operator) { o.Begun = begun(0); o.CSVs = nil }, remove("db", "sub-1", "9", false)},
		"then the manager creates it":                           {func(o *upgrade.Operator) { o.Begun = begun(0); o.CSVs, o.Subscriptions = nil, nil }, upgrade.Reinstall{Step: upgrade.Create}},
		"it is not the turn of a begun one":                     {func(o *upgrade.Operator) { o.Begun = begun(0); o.Waits = "WaveHeld" }, remove("db.v1.2.0", "uid-of-db.v1.2.0", "5", true)},
		"the target is the later version now":                   {func(o *upgrade.Operator) { o.Begun, o.Target = begun(0), "db.v1.3.0"; gone(o, "db.v1.2.0") }, stopped},
		"the target is unknown, and the later version is there": {func(o *upgrade.Operator) { o.Begun, o.Target = begun(0), "" }, stopped},
		"ten minutes are over, and the later version is there":  {func(o *upgrade.Operator) { o.Begun = begun(10 * time.Minute); gone(o, "db.v1.2.0") }, unsettled},
		"the clock was set back by far":                         {func(o *upgrade.Operator) { o.Begun = begun(-10 * time.Minute) }, unsettled},
		"ten minutes are over, and no operator is left":         {func(o *upgrade.Operator) { o.Begun = begun(240 * time.Hour); o.CSVs = nil }, remove("db", "sub-1", "9", false)},
		"a recorded CSV would clean up now":                     {func(o *upgrade.Operator) { o.Begun = begun(0); o.CSVs[0].CleansUp = true }, unsettled},
		"a recorded CSV is a copy":                              {func(o *upgrade.Operator) { o.Begun = begun(0); o.CSVs[1].IsCopy = true }, unsettled},
		"the record has ended":                                  {func(o *upgrade.Operator) { o.Begun = ended(2*time.Hour, false) }, upgrade.Reinstall{Step: upgrade.Announce, Removal: removal()}},
		"the record has ended, and the Subscription is gone":    {func(o *upgrade.Operator) { o.Begun = ended(0, false); o.CSVs, o.Subscriptions = nil, nil }, upgrade.Reinstall{}},
		"the Subscription is another one, and a CSV is there":   {func(o *upgrade.Operator) { o.Begun = begun(0); o.Subscriptions[0].UID = "sub-2" }, unsettled},
		"the Subscription is gone, and a CSV is there":          {func(o *upgrade.Operator) { o.Begun = begun(0); o.Subscriptions = nil }, remove("db.v1.2.0", "uid-of-db.v1.2.0", "5", true)},
		"another client has created the Subscription": {func(o *upgrade.Operator) {
			o.Begun, o.CSVs = begun(0), nil
			o.Subscriptions[0].UID, o.Subscriptions[0].Labels = "sub-2", nil
		}, upgrade.Reinstall{Step: upgrade.Keep}},
		"another Subscription has the package now": {func(o *upgrade.Operator) {
			o.Begun, o.CSVs = begun(0), nil
			o.Subscriptions[0].Name = "db-of-a-person"
		}, upgrade.Reinstall{Step: upgrade.Keep, Forbids: true}},
		"the operator is there again, and not Healthy": {func(o *upgrade.Operator) { o.Begun = ended(0, false); installed(o) }, upgrade.Reinstall{}},
		"the operator is Healthy again":                {func(o *upgrade.Operator) { o.Begun, o.IsHealthy = ended(0, false), true; installed(o) }, upgrade.Reinstall{Step: upgrade.End, Settles: true}},
		"it is not Healthy, and the policy is Never":   {func(o *upgrade.Operator) { o.Begun, o.IsPolicy = ended(0, false), false; installed(o) }, stopped},
		"nothing is reported of the new Subscription": {func(o *upgrade.Operator) {
			o.Begun, o.IsHealthy = ended(0, false), true
			installed(o)
			o.Subscriptions[0].Status.InstalledCSV = ""
		}, upgrade.Reinstall{}},
		"the target is a still later version":     {func(o *upgrade.Operator) { o.Begun, o.Target = begun(0), "db.v1.4.0"; o.CSVs = nil }, remove("db", "sub-1", "9", false)},
		"the Subscription has no target any more": {func(o *upgrade.Operator) { o.Begun, o.Target = begun(0), ""; o.CSVs = nil }, remove("db", "sub-1", "9", false)},
		"facts do not matter any more":            {func(o *upgrade.Operator) { o.Begun, o.Facts, o.IsCollected = begun(0), nil, false }, remove("db.v1.2.0", "uid-of-db.v1.2.0", "5", true)},
		"a CSV was created again":                 {func(o *upgrade.Operator) { o.Begun = begun(0); o.CSVs[1].UID = "new" }, remove("db.v1.3.0", "uid-of-db.v1.3.0", "5", true)},
		"Never, and the later version runs":       {func(o *upgrade.Operator) { o.Begun, o.IsPolicy = begun(0), false; gone(o, "db.v1.2.0") }, stopped},
		"Never, and both versions are there":      {func(o *upgrade.Operator) { o.Begun, o.IsPolicy = begun(0), false }, stopped},
		"Never, and no operator is left":          {func(o *upgrade.Operator) { o.Begun, o.IsPolicy = begun(0), false; o.CSVs = nil }, remove("db", "sub-1", "9", false)},
		"the Subscription was created again": {func(o *upgrade.Operator) {
			o.Begun = begun(2 * time.Hour)
			o.CSVs = nil
			o.Subscriptions[0].UID = "sub-2"
		}, upgrade.Reinstall{Step: upgrade.End}},
		"another Subscription has the CSV now": {func(o *upgrade.Operator) {
			o.Begun = begun(0)
			o.Subscriptions = []operators.Subscription{sub("db2", "db.v1.3.0", "db.v1.3.0")}
			gone(o, "db.v1.2.0")
		}, upgrade.Reinstall{Step: upgrade.Create}},
		"OLM has installed a still later version": {func(o *upgrade.Operator) {
			o.Begun, o.Target = begun(0), "db.v1.4.0"
			o.CSVs = []upgrade.CSV{csvOf("db.v1.4.0", "db.v1.3.0")}
			o.Subscriptions[0].Status.InstalledCSV, o.Subscriptions[0].Status.CurrentCSV = "db.v1.4.0", "db.v1.4.0"
		}, stopped},
	} {
		t.Run(name, func(t *testing.T) {
			o := ahead()
			tc.change(o)
			is := upgrade.DecideReinstall(o, now)
			if (is.Message == "") != (is.Step == upgrade.None) {
				t.Errorf("step %d has the message %q", is.Step, is.Message)
			}
			is.Message = ""
			if diff := cmp.Diff(tc.want, is); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAnnouncementSaysWhatGoesAndWhatStays(t *testing.T) {
	o := ahead()
	o.CSVs[0].HasWebhooks = true
	want := "in 30s the manager removes db.v1.2.0, db.v1.3.0 and Subscription db and installs db.v1.2.0; rollback: Never stops it; CRDs and custom resources stay; " +
		"until then no operator runs and its webhooks do not convert"
	if is := upgrade.DecideReinstall(o, now); is.Message != want {
		t.Errorf("%s", is.Message)
	}
}

// A line of the status has 256 bytes. What goes, and how to stop it, must not be cut.
func TestAnAnnouncementFitsIntoALine(t *testing.T) {
	for length := 1; length < 200; length += 7 {
		for _, earlier := range []int{0, 1, 2, 3, 6} {
			o, prefix := ahead(), strings.Repeat("x", length)
			o.Name, o.Target, o.Desired.StartingCSV = prefix, prefix+".v1.2.0", prefix+".v1.2.0"
			s := &o.Subscriptions[0]
			s.Name, s.Spec.StartingCSV, s.Status.InstalledCSV, s.Status.CurrentCSV = prefix, o.Target, prefix+".v1.20.0-rc.1", prefix+".v1.20.0-rc.1"
			s.Annotations = map[string]string{v1alpha1.AnnotationTargetCSV: o.Target, v1alpha1.AnnotationObject: marks.ObjectPath("subscriptions", operators.GroupName, "", prefix)}
			o.CSVs = []upgrade.CSV{csvOf(prefix+".v1.20.0-rc.1", "")}
			for i := range earlier {
				o.CSVs = append(o.CSVs, csvOf(prefix+".v1.2."+string(rune('0'+i)), ""))
			}
			o.Facts.Catalog, o.Facts.CRDs = upgrade.Catalog{IsHealthy: true}, nil
			is := upgrade.DecideReinstall(o, now)
			if is.Step != upgrade.Announce || len(is.Message) > 256 || !strings.Contains(is.Message, "v1.2.0; rollback: Never stops it") || !strings.Contains(is.Message, "and Subscription x") {
				t.Fatalf("step %d, %d bytes: %s", is.Step, len(is.Message), is.Message)
			}
		}
	}
}

func TestFactsAreReadOnlyForAReinstallThatMayBegin(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*upgrade.Operator)
		csvs   int
		needed bool
	}{
		"it may begin":                {func(*upgrade.Operator) {}, 2, true},
		"the policy is Never":         {func(o *upgrade.Operator) { o.IsPolicy = false }, 0, false},
		"it has begun":                {func(o *upgrade.Operator) { o.Begun = begun(0) }, 0, false},
		"the CSVs are not certain":    {func(o *upgrade.Operator) { o.CSVs[0].IsCopy = true }, 0, false},
		"the installed CSV is gone":   {func(o *upgrade.Operator) { o.CSVs = nil }, 0, true},
		"it is not the member's turn": {func(o *upgrade.Operator) { o.Waits = "WaveHeld" }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := ahead()
			tc.change(o)
			if csvs, needed := upgrade.NeedsFacts(o, now); len(csvs) != tc.csvs || needed != tc.needed {
				t.Errorf("needed %v, for %d CSVs", needed, len(csvs))
			}
		})
	}
}
