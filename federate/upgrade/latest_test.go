// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

func TestWhichVersionIsTaken(t *testing.T) {
	r := func(member, installed, offered string) upgrade.Report {
		return upgrade.Report{Member: member, Installed: installed, Offered: offered}
	}
	type reports = []upgrade.Report
	for name, c := range map[string]struct {
		taken   string
		reports reports
		absent  []string
		csv     string
		reason  string
		words   []string
	}{
		"the one that is offered first":                     {reports: reports{r("a", "", "db.v1.0.0")}, csv: "db.v1.0.0"},
		"the one that is installed, if no other is offered": {reports: reports{r("a", "db.v1.0.0", "")}, csv: "db.v1.0.0"},
		"the one that is offered beside an installed one":   {reports: reports{r("a", "db.v1.0.0", "db.v1.1.0")}, csv: "db.v1.1.0"},
		"one that some have and others are offered":         {reports: reports{r("a", "db.v1.1.0", ""), r("b", "db.v1.0.0", "db.v1.1.0")}, csv: "db.v1.1.0"},
		"none before a member has the Subscription":         {reason: v1alpha1.ReasonVersionPending},
		"none at first while no member counts":              {absent: []string{"a (skipped)"}, reason: v1alpha1.ReasonVersionPending, words: []string{"no cluster of the first wave has the Subscription yet: a (skipped)"}},
		"one, although a member does not count":             {reports: reports{r("a", "", "db.v1.0.0")}, absent: []string{"b (skipped)"}, csv: "db.v1.0.0"},
		"none while no member counts": {taken: "db.v1.0.0", absent: []string{"a (skipped)", "b (silent)"}, reason: v1alpha1.ReasonVersionPending,
			words: []string{"no cluster of the first wave reports a version: a (skipped), b (silent)"}},
		"none while no member reports one": {taken: "db.v1.0.0", reports: reports{r("a", "", ""), r("b", "", "")}, absent: []string{"c (skipped)"}, reason: v1alpha1.ReasonVersionPending,
			words: []string{"reports a version: a (reports none yet), b (reports none yet), c (skipped)"}},
		"none without a placed member":                              {taken: "db.v1.0.0"},
		"none at first while OLM still chooses on a member":         {reports: reports{r("a", "", "db.v1.0.0"), r("b", "", "")}, reason: v1alpha1.ReasonVersionPending, words: []string{"on b"}},
		"a later one that all are offered":                          {taken: "db.v1.0.0", reports: reports{r("a", "db.v1.0.0", "db.v1.1.0"), r("b", "db.v1.0.0", "db.v1.1.0")}, csv: "db.v1.1.0"},
		"a later one, although a member reports none":               {taken: "db.v1.0.0", reports: reports{r("a", "db.v1.0.0", "db.v1.1.0"), r("b", "", "")}, csv: "db.v1.1.0"},
		"none while nothing else is offered":                        {taken: "db.v1.0.0", reports: reports{r("a", "db.v1.0.0", "")}},
		"none while the one that was taken is being installed":      {taken: "db.v1.1.0", reports: reports{r("a", "db.v1.0.0", "db.v1.1.0")}},
		"none while a step on the way is being installed":           {taken: "db.v1.2.0", reports: reports{r("a", "db.v1.0.0", "db.v1.1.0")}},
		"none if members differ at first":                           {reports: reports{r("a", "", "db.v1.0.0"), r("b", "", "db.v1.1.0")}, reason: v1alpha1.ReasonVersionsDiffer, words: []string{"db.v1.0.0 on a", "db.v1.1.0 on b"}},
		"none if the catalog of a member lacks the next version":    {taken: "db.v1.0.0", reports: reports{r("a", "db.v1.0.0", "db.v1.1.0"), r("b", "db.v1.0.0", "")}, reason: v1alpha1.ReasonVersionsDiffer, words: []string{"db.v1.1.0 on a", "db.v1.0.0 on b"}},
		"none while a member is on the way and another is further":  {taken: "db.v1.1.0", reports: reports{r("a", "db.v1.1.0", "db.v1.2.0"), r("b", "db.v1.0.0", "db.v1.1.0")}},
		"no earlier one, although all members have it":              {taken: "db.v1.2.0", reports: reports{r("a", "db.v1.1.0", "")}},
		"no earlier one, although all members are offered it":       {taken: "db.v1.2.0", reports: reports{r("a", "db.v1.0.0", "db.v1.1.0")}},
		"one that all members have already":                         {taken: "db.v1.0.0", reports: reports{r("a", "db.v1.1.0", "")}, csv: "db.v1.1.0"},
		"one that replaces a version that the catalog has dropped":  {taken: "db.v1.1.0", reports: reports{r("a", "db.v1.0.0", "db.v1.2.0")}, csv: "db.v1.2.0"},
		"one without order that follows the one that was taken":     {taken: "db-monday", reports: reports{r("a", "db-monday", "db-tuesday")}, csv: "db-tuesday"},
		"none without order if the one that was taken is not there": {taken: "db-monday", reports: reports{r("a", "db-sunday", "db-tuesday")}},
		"none that is no name of a CSV":                             {taken: "db.v1.0.0", reports: reports{r("a", "db.v1.0.0", "Latest"), r("b", "db.v1.0.0", "x\x1b[2J"), r("c", "", strings.Repeat("x", 254))}},
	} {
		t.Run(name, func(t *testing.T) {
			got := upgrade.Choose(c.taken, c.reports, c.absent)
			if got.CSV != c.csv || got.Reason != c.reason || (got.Message == "") != (c.reason == "") {
				t.Fatalf("%+v, not %q and %q", got, c.csv, c.reason)
			}
			for _, w := range c.words {
				if !strings.Contains(got.Message, w) {
					t.Errorf("%q does not say %s", got.Message, w)
				}
			}
			if got.CSV != "" {
				if again := upgrade.Choose(got.CSV, c.reports, c.absent); again.CSV != "" {
					t.Errorf("and then %s", again.CSV)
				}
			}
		})
	}
}

// Catalogs gain and lose versions, and members are replaced and upgraded by hand. Whatever the members report, Choose
// must take only later versions than before, and only versions that a member reports.
func TestAVersionIsNeverGivenUpForAnEarlierOne(t *testing.T) {
	csv := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("db.v1.%d.0", n)
	}
	took := 0
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		type member struct{ installed, head int }
		members, taken := make([]member, 1+random.IntN(4)), 0
		for range 60 {
			m := &members[random.IntN(len(members))]
			switch random.IntN(5) {
			case 0:
				m.head = random.IntN(12) // the catalog may also lose versions
			case 1:
				*m = member{head: m.head} // another cluster takes the place of the member
			case 2:
				if m.installed < m.head && m.installed < taken {
					m.installed++ // a step to the target
				}
			case 3:
				m.installed = max(m.installed, m.head) // a person installs the newest version by hand
			}
			var reports []upgrade.Report
			reported := make(map[string]bool)
			for i, m := range members {
				report := upgrade.Report{Member: fmt.Sprint(i), Installed: csv(m.installed)}
				if m.head > m.installed {
					report.Offered = csv(m.installed + 1)
				}
				reports, reported[report.Installed], reported[report.Offered] = append(reports, report), true, true
			}
			choice := upgrade.Choose(csv(taken), reports, nil)
			if choice.CSV == "" {
				continue
			}
			var next int
			if _, err := fmt.Sscanf(choice.CSV, "db.v1.%d.0", &next); err != nil || next <= taken || !reported[choice.CSV] {
				t.Fatalf("seed %d: %s after %s, of %+v", seed, choice.CSV, csv(taken), reports)
			}
			taken, took = next, took+1
		}
	}
	if took < 2000 {
		t.Errorf("only %d versions were taken", took)
	}
}

func TestARevisionHasTheVersionThatWasTaken(t *testing.T) {
	spec := &v1alpha1.WrapperSpec{Upgrade: v1alpha1.Upgrade{Subscriptions: []v1alpha1.SubscriptionUpgrade{
		{Name: "db", Approve: v1alpha1.ApproveLatest}, {Name: "cache", TargetCSV: "cache.v1.0.0"}}}}
	written := spec.DeepCopy()
	status := &v1alpha1.UpgradeStatus{Subscriptions: []v1alpha1.SubscriptionVersion{{Name: "cache", CSV: "cache.v2.0.0"}, {Name: "db", CSV: "db.v1.0.0", Reason: "R"}}}
	resolved := upgrade.Resolve(spec, status)
	want := []v1alpha1.SubscriptionUpgrade{{Name: "db", Approve: v1alpha1.ApproveLatest, TargetCSV: "db.v1.0.0"}, {Name: "cache", TargetCSV: "cache.v1.0.0"}}
	if diff := cmp.Diff(want, resolved.Upgrade.Subscriptions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(written, spec); diff != "" {
		t.Errorf("the spec has changed: %s", diff)
	}
	if upgrade.AsWritten(&resolved.Upgrade); !cmp.Equal(written.Upgrade, resolved.Upgrade) {
		t.Errorf("as an author writes it: %+v", resolved.Upgrade)
	}
	carried := upgrade.Carry(&spec.Upgrade, status)
	if diff := cmp.Diff([]v1alpha1.SubscriptionVersion{{Name: "db", CSV: "db.v1.0.0"}}, carried.Subscriptions); diff != "" {
		t.Error(diff)
	}
	spec.Upgrade.Subscriptions = spec.Upgrade.Subscriptions[1:]
	if upgrade.Resolve(spec, status) != spec || len(upgrade.Carry(&spec.Upgrade, status).Subscriptions) > 0 {
		t.Error("a wrapper without approve: Latest has versions")
	}
}
