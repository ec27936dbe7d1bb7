// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Until the manager has taken a version, a Subscription with `approve: Latest` needs no other version than the one that
// it has.
func TestSubscriptionBeforeAVersionIsTaken(t *testing.T) {
	waits := plan("install-2", "{approval: Manual, approved: false}", "{phase: RequiresApproval}")
	for name, test := range map[string]struct {
		sub, csv, plan string
		want           health.Verdict
	}{
		"waits where nothing is installed": {
			sub: "{state: UpgradePending, currentCSV: db.v1.0.0, installPlanRef: {name: install-2}}", plan: waits,
			want: health.Verdict{Health: v1alpha1.Waiting, Reason: v1alpha1.ReasonVersionPending, Offered: "db.v1.0.0",
				Message: "InstallPlan install-2 for db.v1.0.0 waits until the manager takes a version from the reports of the first wave"},
		},
		"is healthy with what is installed": {
			sub: settled("db.v1.0.0", time.Minute), csv: succeeded("db.v1.0.0", time.Minute),
			want: health.Verdict{Health: v1alpha1.Healthy, Version: "db.v1.0.0"},
		},
		"is healthy beside a plan that waits": {
			sub: offered("db.v1.0.0", "db.v1.1.0"), csv: succeeded("db.v1.0.0", time.Minute), plan: waits,
			want: health.Verdict{Health: v1alpha1.Healthy, Version: "db.v1.0.0", Offered: "db.v1.1.0"},
		},
		"is not healthy before ten seconds": {
			sub: offered("db.v1.0.0", "db.v1.1.0"), csv: succeeded("db.v1.0.0", 4*time.Second), plan: waits,
			want: health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Offered: "db.v1.1.0", Recheck: 6 * time.Second,
				Message: "db.v1.0.0 has succeeded; it counts as healthy after 10s"},
		},
		"is degraded with a CSV that has failed": {
			sub: offered("db.v1.0.0", "db.v1.1.0"), csv: csv("db.v1.0.0", "{phase: Failed, reason: InstallCheckFailed, message: timeout"+since(time.Minute)), plan: waits,
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "InstallCheckFailed", Offered: "db.v1.1.0",
				Message: "db.v1.0.0 is Failed: timeout; InstallPlan install-2 for db.v1.1.0 waits until it has succeeded"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sub := object(t, strings.ReplaceAll(targeted(test.sub), target, v1alpha1.TargetLatest))
			related := health.Related{OperatorGroups: 1}
			if test.plan != "" {
				related.InstallPlan = object(t, test.plan)
			}
			if test.csv != "" {
				related.CSV = object(t, test.csv)
			}
			test.want.Target = v1alpha1.TargetLatest
			if diff := cmp.Diff(test.want, health.Judge(sub, related, now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatOLMOffers(t *testing.T) {
	for name, test := range map[string]struct {
		sub, want string
	}{
		"the version of a plan that waits, beyond the target": {targeted(offered(target, "db.v1.3.0")), "db.v1.3.0"},
		"the first version": {targeted("{currentCSV: db.v1.2.0}"), "db.v1.2.0"},
		"a version that is recorded as installed and has not succeeded": {targeted(settled(target, time.Minute)), target},
		"what is not asked about, has no target":                        {subscription(upgrading), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := health.Judge(object(t, test.sub), health.Related{OperatorGroups: 1}, now).Offered; got != test.want {
				t.Errorf("it is %q, want %q", got, test.want)
			}
		})
	}
}

func TestOLMOffersNothingOnceTheCurrentVersionHasSucceeded(t *testing.T) {
	csv := object(t, `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: `+target+`},
		status: {phase: Succeeded, lastTransitionTime: "`+ago(time.Minute)+`"}}`)
	got := health.Judge(object(t, targeted(settled(target, time.Minute))), health.Related{OperatorGroups: 1, CSV: csv}, now)
	if got.Version != target || got.Offered != "" {
		t.Errorf("%+v", got)
	}
}

func TestThePlanIsNeededUntilTheTargetIsInstalledOrIfOneHasFailed(t *testing.T) {
	const failed = `, conditions: [{type: InstallPlanFailed, status: "True"}]`
	for status, want := range map[string]bool{
		"{installedCSV: db.v1.1.0, currentCSV: db.v1.2.0}":               true,
		"{installedCSV: db.v1.2.0, currentCSV: db.v1.2.0}":               false,
		"{installedCSV: db.v1.2.0, currentCSV: db.v1.2.0" + failed + "}": true, // OLM records a CSV that waits for the rest of its plan
	} {
		if got := health.NeedsPlan(object(t, targeted(status))); got != want {
			t.Errorf("%s: %t", status, got)
		}
	}
}

func TestTheCSVThatTheVerdictNeeds(t *testing.T) {
	waits := object(t, plan("install-2", "{approval: Manual}", "{phase: RequiresApproval}"))
	runs := object(t, plan("install-2", "{approval: Manual, approved: true}", "{phase: Installing}"))
	tests := map[string]struct {
		sub  string
		plan *unstructured.Unstructured
		want string
	}{
		"the current CSV without a target":                                       {sub: subscription(upgrading), plan: waits, want: "op.v2"},
		"the current CSV while it is being installed":                            {sub: targeted(offered("db.v1.0.0", "db.v1.1.0")), plan: runs, want: "db.v1.1.0"},
		"the installed CSV while the InstallPlan of the current one waits":       {sub: targeted(offered("db.v1.0.0", "db.v1.1.0")), plan: waits, want: "db.v1.0.0"},
		"the target's CSV once it is installed":                                  {sub: targeted(offered(target, "db.v1.3.0")), want: target},
		"no CSV while the first InstallPlan waits":                               {sub: targeted("{currentCSV: db.v1.2.0}"), plan: waits},
		"no CSV before OLM has chosen one":                                       {sub: targeted("{}")},
		"the current CSV when the InstallPlan does not exist any more":           {sub: targeted(offered("db.v1.0.0", "db.v1.1.0")), want: "db.v1.1.0"},
		"the installed CSV, which is also the current one, between two upgrades": {sub: targeted(settled("db.v1.1.0", 0)), plan: runs, want: "db.v1.1.0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := health.NeededCSV(object(t, test.sub), test.plan); got != test.want {
				t.Errorf("the CSV to read is %q, want %q", got, test.want)
			}
		})
	}
}
