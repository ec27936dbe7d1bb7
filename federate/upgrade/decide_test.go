// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// sub returns a Manual Subscription for which OLM has made an InstallPlan with the CSV next.
func sub(name, installed, next string, change ...func(*operators.Subscription)) operators.Subscription {
	s := operators.Subscription{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:   &operators.SubscriptionSpec{InstallPlanApproval: operators.ApprovalManual, Package: name},
		Status: operators.SubscriptionStatus{InstalledCSV: installed, CurrentCSV: next}}
	for _, c := range change {
		c(&s)
	}
	return s
}

// done marks a Subscription for which OLM has found the CSV that it records as installed.
func done(s *operators.Subscription) { s.Status.State = operators.SubscriptionStateAtLatest }

func automatic(s *operators.Subscription) { s.Spec.InstallPlanApproval = operators.ApprovalAutomatic }

// wantedElsewhere marks a Subscription as an object of another wrapper, whose spec.upgrade gives it this target.
func wantedElsewhere(target string) func(*operators.Subscription) {
	return func(s *operators.Subscription) {
		s.Labels = map[string]string{v1alpha1.LabelUID: "uid-2"}
		s.Annotations = map[string]string{v1alpha1.AnnotationTargetCSV: target,
			v1alpha1.AnnotationObject: marks.ObjectPath("subscriptions", operators.GroupName, s.Namespace, s.Name)}
	}
}

// planOf returns an InstallPlan for these CSVs that waits for approval.
func planOf(csvs ...string) *operators.InstallPlan {
	return &operators.InstallPlan{ObjectMeta: metav1.ObjectMeta{Name: "install-abcde"},
		Spec:   operators.InstallPlanSpec{Approval: operators.ApprovalManual, ClusterServiceVersionNames: csvs},
		Status: operators.InstallPlanStatus{Phase: operators.InstallPlanPhaseRequiresApproval}}
}

// planOfReplacing returns an InstallPlan that waits for approval, for a CSV that replaces another CSV.
func planOfReplacing(csv, replaces string) *operators.InstallPlan {
	plan := planOf(csv)
	plan.Status.BundleLookups = []operators.BundleLookup{{Identifier: csv, Replaces: replaces}}
	return plan
}

// step returns the step of an InstallPlan that creates a CSV. The CSV owns and requires these kinds.
func step(csv, owns, requires string) *operators.Step {
	described := func(kind string) string {
		if kind == "" {
			return "[]"
		}
		return fmt.Sprintf(`[{"name": "%ss.example.com", "version": "v1", "kind": %q}]`, kind, kind)
	}
	return &operators.Step{Resource: operators.StepResource{Kind: "ClusterServiceVersion", Name: csv, Manifest: fmt.Sprintf(
		`{"spec": {"customresourcedefinitions": {"owned": %s, "required": %s}}}`, described(owns), described(requires))}}
}

func TestAPlanIsApprovedOnTheWayToTheTargetAndOnlyWithTheConsentOfAllItChanges(t *testing.T) {
	targets := map[string]string{"db": "db.v1.2.0"}
	type subs = []operators.Subscription
	for name, c := range map[string]struct {
		plan    *operators.InstallPlan
		subs    subs
		targets map[string]string
		approve bool
		reason  string
		words   []string
	}{
		"a first install of the target":                           {plan: planOf("db.v1.2.0"), subs: subs{sub("db", "", "db.v1.2.0")}, approve: true},
		"a first install of a version before the target":          {plan: planOf("db.v1.0.0"), subs: subs{sub("db", "", "db.v1.0.0")}, approve: true},
		"an upgrade to a version before the target":               {plan: planOf("db.v1.1.0"), subs: subs{sub("db", "db.v1.0.0", "db.v1.1.0")}, approve: true},
		"the upgrade to the target":                               {plan: planOf("db.v1.2.0"), subs: subs{sub("db", "db.v1.1.0", "db.v1.2.0")}, approve: true},
		"an upgrade from the target to a later version":           {plan: planOf("db.v1.3.0"), subs: subs{sub("db", "db.v1.2.0", "db.v1.3.0")}},
		"an upgrade that skips the target":                        {plan: planOf("db.v1.3.0"), subs: subs{sub("db", "db.v1.1.0", "db.v1.3.0")}, reason: v1alpha1.ReasonUpgradeSkipsTarget, words: []string{"db.v1.1.0", "db.v1.3.0", "db.v1.2.0"}},
		"a first install of a version after the target":           {plan: planOf("db.v1.3.0"), subs: subs{sub("db", "", "db.v1.3.0")}, reason: v1alpha1.ReasonUpgradeSkipsTarget, words: []string{"no version"}},
		"a later version is installed":                            {plan: planOf("db.v1.4.0"), subs: subs{sub("db", "db.v1.3.0", "db.v1.4.0")}, reason: v1alpha1.ReasonAheadOfTarget, words: []string{"db.v1.3.0", "raise targetCSV"}},
		"a name without a version":                                {plan: planOf("db-nightly"), subs: subs{sub("db", "db.v1.0.0", "db-nightly")}, reason: v1alpha1.ReasonApprovalRequired, words: []string{"db-nightly"}},
		"a target without a version":                              {plan: planOf("db-nightly"), subs: subs{sub("db", "db.v1.0.0", "db-nightly")}, targets: map[string]string{"db": "db-nightly"}, approve: true},
		"a plan of other Subscriptions":                           {plan: planOf("cache.v2.0.0"), subs: subs{sub("db", "db.v1.0.0", "db.v1.0.0"), sub("cache", "", "cache.v2.0.0")}},
		"another owner's Manual Subscription":                     {plan: planOf("db.v1.1.0", "cache.v2.0.0"), subs: subs{sub("db", "db.v1.0.0", "db.v1.1.0"), sub("cache", "cache.v1.0.0", "cache.v2.0.0")}, reason: v1alpha1.ReasonInstallPlanBundlesOthers, words: []string{"install-abcde", "cache.v2.0.0 of Subscription cache"}},
		"another owner's Automatic Subscription":                  {plan: planOf("db.v1.1.0", "cache.v2.0.0"), subs: subs{sub("db", "db.v1.0.0", "db.v1.1.0"), sub("cache", "cache.v1.0.0", "cache.v2.0.0", automatic)}, approve: true},
		"an upgrade that another wrapper's target allows":         {plan: planOf("db.v1.1.0", "cache.v2.0.0"), subs: subs{sub("db", "db.v1.0.0", "db.v1.1.0"), sub("cache", "cache.v1.0.0", "cache.v2.0.0", wantedElsewhere("cache.v2.0.0"))}, approve: true},
		"an upgrade that another wrapper's target does not allow": {plan: planOf("db.v1.1.0", "cache.v2.0.0"), subs: subs{sub("db", "db.v1.0.0", "db.v1.1.0"), sub("cache", "cache.v1.0.0", "cache.v2.0.0", wantedElsewhere("cache.v1.0.0"))}, reason: v1alpha1.ReasonInstallPlanBundlesOthers, words: []string{"cache.v2.0.0"}},
		"another Subscription of the wrapper that is at its target": {plan: planOf("db.v1.1.0", "cache.v2.0.0"), targets: map[string]string{"db": "db.v1.2.0", "cache": "cache.v1.0.0"},
			subs: subs{sub("db", "db.v1.0.0", "db.v1.1.0"), sub("cache", "cache.v1.0.0", "cache.v2.0.0")}, reason: v1alpha1.ReasonInstallPlanBundlesOthers, words: []string{"Subscription cache of this wrapper", "raise that targetCSV too"}},
		"a CSV that is installed already, and is the target of its Subscription": {plan: planOf("cache.v2.0.0", "db.v1.1.0"), targets: map[string]string{"db": "db.v1.2.0", "cache": "cache.v2.0.0"},
			subs: subs{sub("cache", "cache.v2.0.0", "cache.v2.0.0", done), sub("db", "db.v1.0.0", "db.v1.1.0")}, approve: true},
		"the target of a Subscription that was installed, and whose CSV a person has deleted": {plan: planOf("cache.v2.0.0", "db.v1.1.0"), targets: map[string]string{"db": "db.v1.2.0", "cache": "cache.v2.0.0"},
			subs: subs{sub("cache", "cache.v2.0.0", "cache.v2.0.0"), sub("db", "db.v1.0.0", "db.v1.1.0")}, approve: true},
		"a CSV that is installed already, before a version is taken": {plan: planOf("cache.v2.0.0", "db.v1.1.0"), targets: map[string]string{"db": "db.v1.2.0", "cache": v1alpha1.TargetLatest},
			subs: subs{sub("cache", "cache.v2.0.0", "cache.v2.0.0", done), sub("db", "db.v1.0.0", "db.v1.1.0")}, approve: true},
		"a CSV that is installed already, and is beyond the target of its Subscription": {plan: planOf("cache.v2.0.0", "db.v1.1.0"), targets: map[string]string{"db": "db.v1.2.0", "cache": "cache.v1.0.0"},
			subs: subs{sub("cache", "cache.v2.0.0", "cache.v2.0.0", done), sub("db", "db.v1.0.0", "db.v1.1.0")}, reason: v1alpha1.ReasonAheadOfTarget, words: []string{"Subscription cache", "raise targetCSV"}},
		"only CSVs that are installed already": {plan: planOf("cache.v2.0.0", "db.v1.1.0"), subs: subs{sub("cache", "cache.v2.0.0", "cache.v2.0.0", done), sub("db", "db.v1.1.0", "db.v1.1.0", done)}},
		"another owner's CSV that is installed already": {plan: planOf("cache.v2.0.0", "db.v1.1.0"),
			subs: subs{sub("cache", "cache.v2.0.0", "cache.v2.0.0", done), sub("db", "db.v1.0.0", "db.v1.1.0")}, approve: true},
		"another owner's CSV that was installed and is gone": {plan: planOf("cache.v2.0.0", "db.v1.1.0"),
			subs:   subs{sub("cache", "cache.v2.0.0", "cache.v2.0.0"), sub("db", "db.v1.0.0", "db.v1.1.0")},
			reason: v1alpha1.ReasonInstallPlanBundlesOthers, words: []string{"cache.v2.0.0 of Subscription cache"}},
		"a CSV of another wrapper that is installed already": {plan: planOf("cache.v2.0.0", "db.v1.1.0"),
			subs: subs{sub("cache", "cache.v2.0.0", "cache.v2.0.0", done, wantedElsewhere("cache.v2.0.0")), sub("db", "db.v1.0.0", "db.v1.1.0")}, approve: true},
		"a CSV of another wrapper that is installed already, before that wrapper has a version": {plan: planOf("cache.v2.0.0", "db.v1.1.0"),
			subs: subs{sub("cache", "cache.v2.0.0", "cache.v2.0.0", done, wantedElsewhere(v1alpha1.TargetLatest)), sub("db", "db.v1.0.0", "db.v1.1.0")}, approve: true},
		// The other wrapper may reinstall its operator, and has perhaps just deleted this CSV.
		"a CSV of another wrapper that is installed already, and is beyond the target there": {plan: planOf("cache.v2.0.0", "db.v1.1.0"),
			subs:   subs{sub("cache", "cache.v2.0.0", "cache.v2.0.0", done, wantedElsewhere("cache.v1.0.0")), sub("db", "db.v1.0.0", "db.v1.1.0")},
			reason: v1alpha1.ReasonInstallPlanBundlesOthers, words: []string{"cache.v2.0.0 of Subscription cache"}},
		"a copy of another wrapper's Subscription": {plan: planOf("db.v1.1.0", "cache.v2.0.0"), subs: subs{sub("db", "db.v1.0.0", "db.v1.1.0"),
			sub("cache", "cache.v1.0.0", "cache.v2.0.0", wantedElsewhere("cache.v2.0.0"), func(s *operators.Subscription) { s.Name = "copy" })},
			reason: v1alpha1.ReasonInstallPlanBundlesOthers, words: []string{"Subscription copy"}},
		"two Subscriptions to one package, of which another owner's is Manual": {plan: planOf("db.v1.1.0"), subs: subs{sub("other", "db.v1.0.0", "db.v1.1.0"), sub("db", "db.v1.0.0", "db.v1.1.0")},
			reason: v1alpha1.ReasonInstallPlanBundlesOthers, words: []string{"Subscription other"}},
		"a Subscription that OLM has not written yet": {plan: planOfReplacing("db.v1.1.0", "db.v1.0.0"), subs: subs{sub("db", "db.v1.0.0", "db.v1.0.0")}},
		"nothing before a version is taken":           {plan: planOf("db.v1.1.0"), targets: map[string]string{"db": v1alpha1.TargetLatest}, subs: subs{sub("db", "db.v1.0.0", "db.v1.1.0")}},
		"another object of the wrapper without a version yet": {plan: planOf("db.v1.1.0", "cache.v2.0.0"), targets: map[string]string{"db": "db.v1.2.0", "cache": v1alpha1.TargetLatest},
			subs: subs{sub("db", "db.v1.0.0", "db.v1.1.0"), sub("cache", "cache.v1.0.0", "cache.v2.0.0")}},
		"one for which another wrapper has no version yet": {plan: planOf("db.v1.1.0", "cache.v2.0.0"), subs: subs{sub("db", "db.v1.0.0", "db.v1.1.0"),
			sub("cache", "cache.v1.0.0", "cache.v2.0.0", wantedElsewhere(v1alpha1.TargetLatest))}, reason: v1alpha1.ReasonInstallPlanBundlesOthers, words: []string{"cache.v2.0.0"}},
		"an unnamed CSV": {plan: planOf("db.v1.1.0", "cache.v2.0.0"), subs: subs{sub("db", "db.v1.0.0", "db.v1.1.0")}, reason: v1alpha1.ReasonInstallPlanBundlesOthers, words: []string{"cache.v2.0.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.targets == nil {
				c.targets = targets
			}
			is := upgrade.Decide(c.plan, c.subs, c.targets)
			if is.Approve != c.approve || is.Reason != c.reason {
				t.Fatalf("approve is %v with reason %q (%s), want %v and %q", is.Approve, is.Reason, is.Message, c.approve, c.reason)
			}
			want := map[string]v1alpha1.ClusterState{"": "", v1alpha1.ReasonInstallPlanBundlesOthers: v1alpha1.StateDegraded}
			if state, known := want[c.reason]; known && is.State != state || !known && is.State != v1alpha1.StateStalled {
				t.Errorf("the state is %s", is.State)
			}
			for _, w := range c.words {
				if !strings.Contains(is.Message, w) {
					t.Errorf("%q does not name %s", is.Message, w)
				}
			}
		})
	}
}

func TestADependencyIsApprovedOnlyIfACSVThatPassesRequiresIt(t *testing.T) {
	subs, targets := []operators.Subscription{sub("db", "", "db.v1.0.0")}, map[string]string{"db": "db.v1.0.0"}
	plan := planOf("db.v1.0.0", "cache.v2.0.0", "disk.v3.0.0")
	plan.Status.Plan = []*operators.Step{step("db.v1.0.0", "Db", "Cache"), step("cache.v2.0.0", "Cache", "Disk"), step("disk.v3.0.0", "Disk", "")}
	if is := upgrade.Decide(plan, subs, targets); !is.Approve {
		t.Errorf("a CSV that a dependency requires must count as required: %s", is.Message)
	}

	plan.Status.Plan[1] = step("cache.v2.0.0", "Cache", "")
	is := upgrade.Decide(plan, subs, targets)
	if is.Reason != v1alpha1.ReasonInstallPlanBundlesOthers || !strings.Contains(is.Message, "disk.v3.0.0") || strings.Contains(is.Message, "cache.v2.0.0") {
		t.Errorf("the plan must be refused, because no CSV requires disk.v3.0.0: %s: %s", is.Reason, is.Message)
	}

	plan.Status.Plan[0].Resource.Manifest = "no JSON"
	if is := upgrade.Decide(plan, subs, targets); !strings.Contains(is.Message, "cache.v2.0.0") {
		t.Errorf("the plan must be refused, because a CSV that cannot be read requires nothing: %s", is.Message)
	}
}

func TestADependencyByPackageIsReadFromTheBundleLookups(t *testing.T) {
	subs, targets := []operators.Subscription{sub("db", "", "db.v1.0.0")}, map[string]string{"db": "db.v1.0.0"}
	plan := planOf("db.v1.0.0", "cache.v2.0.0")
	plan.Status.BundleLookups = []operators.BundleLookup{
		{Identifier: "db.v1.0.0", Properties: `{"properties": [{"type": "olm.maxOpenShiftVersion", "value": "4.9"}, {"type": "olm.package.required", "value": {"packageName": "cache", "versionRange": ">1"}}]}`},
		{Identifier: "cache.v2.0.0", Properties: `{"properties": [{"type": "olm.package", "value": {"packageName": "cache", "version": "2.0.0"}}]}`},
	}
	if is := upgrade.Decide(plan, subs, targets); !is.Approve {
		t.Errorf("the plan must be approved: %s", is.Message)
	}
}

// OLM may find a later CSV for another owner's Subscription after it made the plan. The plan's earlier CSV then must
// not count as a dependency. The plan is outdated, even if the owner agrees: it would install a CSV that no
// Subscription names, and OLM could resolve nothing in the namespace.
func TestAnotherOwnersOperatorIsNotTakenForADependency(t *testing.T) {
	subs, targets := []operators.Subscription{sub("db", "", "db.v1.0.0"), sub("cache", "cache.v1.0.0", "cache.v3.0.0")}, map[string]string{"db": "db.v1.0.0"}
	for name, properties := range map[string]string{"by its package": `{"type": "olm.package", "value": {"packageName": "cache"}}`, "by what it replaces": ""} {
		plan := planOf("db.v1.0.0", "cache.v2.0.0")
		plan.Status.Plan = []*operators.Step{step("db.v1.0.0", "Db", "Cache"), step("cache.v2.0.0", "Cache", "")}
		plan.Status.BundleLookups = []operators.BundleLookup{{Identifier: "cache.v2.0.0", Properties: `{"properties": [` + properties + `]}`}}
		if properties == "" {
			plan.Status.BundleLookups[0].Replaces = "cache.v1.0.0"
		}
		if is := upgrade.Decide(plan, subs, targets); is.Approve || is.Reason != "" {
			t.Errorf("%s: %+v", name, is)
		}
		newer := planOf("db.v1.0.0", "cache.v3.0.0")
		if is := upgrade.Decide(newer, subs, targets); is.Approve || !strings.Contains(is.Message, "Subscription cache") {
			t.Errorf("%s: the decision on the newer plan is %+v", name, is)
		}
	}
}

func TestAnOutdatedPlanIsNotApprovedAlsoWhereAllOwnersAgree(t *testing.T) {
	targets := map[string]string{"db": "db.v1.1.0"}
	outdated := planOf("db.v1.1.0", "cache.v2.0.0")
	outdated.Status.BundleLookups = []operators.BundleLookup{{Identifier: "cache.v2.0.0", Replaces: "cache.v1.0.0"}}
	subs := []operators.Subscription{sub("db", "db.v1.0.0", "db.v1.1.0"), sub("cache", "cache.v1.0.0", "cache.v3.0.0", automatic)}
	if is := upgrade.Decide(outdated, subs, targets); is.Approve || is.Reason != "" {
		t.Errorf("%+v", is)
	}
	if is := upgrade.Decide(planOf("db.v1.1.0", "cache.v3.0.0"), subs, targets); !is.Approve {
		t.Errorf("the decision on the newest plan is %+v", is)
	}
	done := []operators.Subscription{sub("db", "db.v1.1.0", "db.v1.1.0"), sub("cache", "cache.v1.0.0", "cache.v3.0.0", automatic)}
	if is := upgrade.Decide(planOf("db.v1.1.0", "cache.v3.0.0"), done, map[string]string{"db": "db.v1.2.0"}); is.Approve {
		t.Error("a plan for a CSV that is installed already must not be approved")
	}
}

func TestADependencyByPackageIsReadFromABundleInTheCatalog(t *testing.T) {
	plan := planOf("db.v1.0.0", "cache.v2.0.0")
	of := func(csv, properties string) *operators.Step {
		manifest, err := json.Marshal(&operators.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			"operatorframework.io/properties": `{"properties": [` + properties + `]}`}}})
		if err != nil {
			t.Fatal(err)
		}
		return &operators.Step{Resource: operators.StepResource{Kind: "ClusterServiceVersion", Name: csv, Manifest: string(manifest)}}
	}
	plan.Status.Plan = []*operators.Step{of("db.v1.0.0", `{"type": "olm.package.required", "value": {"packageName": "cache"}}`),
		of("cache.v2.0.0", `{"type": "olm.package", "value": {"packageName": "cache"}}`)}
	is := upgrade.Decide(plan, []operators.Subscription{sub("db", "", "db.v1.0.0")}, map[string]string{"db": "db.v1.0.0"})
	if !is.Approve {
		t.Errorf("%+v", is)
	}
}

func TestTheInstalledVersionHasToSucceedBeforeTheNextIsApproved(t *testing.T) {
	is := upgrade.Decide(planOf("db.v1.1.0"), []operators.Subscription{sub("db", "db.v1.0.0", "db.v1.1.0")}, map[string]string{"db": "db.v1.1.0"})
	if !slices.Equal(is.Installed, []string{"db.v1.0.0"}) {
		t.Errorf("%v", is.Installed)
	}
}

// A plan does not replace a CSV that it contains, so it need not wait until that CSV has succeeded.
func TestACSVThatIsInstalledAlreadyNeedNotSucceedBeforeTheOthers(t *testing.T) {
	subs := []operators.Subscription{sub("cache", "cache.v2.0.0", "cache.v2.0.0", done), sub("db", "db.v1.0.0", "db.v1.1.0")}
	is := upgrade.Decide(planOf("cache.v2.0.0", "db.v1.1.0"), subs, map[string]string{"db": "db.v1.1.0", "cache": "cache.v3.0.0"})
	if !is.Approve || !slices.Equal(is.Installed, []string{"db.v1.0.0"}) {
		t.Errorf("%+v", is)
	}
}

// The owner of an installed CSV has agreed to that CSV, and to nothing else in the plan.
func TestTheInstalledCSVOfAnotherOwnersManualSubscriptionBringsNoDependency(t *testing.T) {
	subs := []operators.Subscription{sub("cache", "cache.v2.0.0", "cache.v2.0.0", done), sub("db", "db.v1.0.0", "db.v1.1.0")}
	plan := planOf("cache.v2.0.0", "disk.v3.0.0", "db.v1.1.0")
	plan.Status.Plan = []*operators.Step{step("cache.v2.0.0", "Cache", "Disk"), step("disk.v3.0.0", "Disk", ""), step("db.v1.1.0", "Db", "")}
	if is := upgrade.Decide(plan, subs, map[string]string{"db": "db.v1.1.0"}); is.Approve || !strings.Contains(is.Message, "disk.v3.0.0") {
		t.Errorf("%+v", is)
	}
	if is := upgrade.Decide(plan, subs, map[string]string{"db": "db.v1.1.0", "cache": "cache.v2.0.0"}); !is.Approve {
		t.Errorf("the plan must be approved where the wrapper has both: %s", is.Message)
	}
	automatic(&subs[0])
	if is := upgrade.Decide(plan, subs, map[string]string{"db": "db.v1.1.0"}); !is.Approve {
		t.Errorf("the plan must be approved where the other owner agrees to every upgrade: %s", is.Message)
	}
}

func TestAPlanThatDoesNotWaitForApprovalIsLeftAlone(t *testing.T) {
	subs, targets := []operators.Subscription{sub("db", "", "db.v1.0.0")}, map[string]string{"db": "db.v1.0.0"}
	for name, change := range map[string]func(*operators.InstallPlan){
		"approved":  func(p *operators.InstallPlan) { p.Spec.Approved = true },
		"Automatic": func(p *operators.InstallPlan) { p.Spec.Approval = operators.ApprovalAutomatic },
		"planning":  func(p *operators.InstallPlan) { p.Status.Phase = operators.InstallPlanPhasePlanning },
		"failed":    func(p *operators.InstallPlan) { p.Status.Phase = operators.InstallPlanPhaseFailed },
	} {
		plan := planOf("db.v1.0.0")
		change(plan)
		if is := upgrade.Decide(plan, subs, targets); is.Approve || is.Reason != "" {
			t.Errorf("%s: %+v", name, is)
		}
	}
}
