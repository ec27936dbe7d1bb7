// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
)

// operator returns a wrapper of a Subscription, with the given fields in the Subscription's spec and the given targetCSV.
func operator(fields, target string) string {
	return fmt.Sprintf(`
apiVersion: federation.fairlead.dev/v1alpha1
kind: Federated
metadata: {name: db, namespace: shop}
spec:
  placement: {clusters: {names: [east]}}
  objects:
  - {apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: db}}
  - {apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: db}, spec: {%s}}
  upgrade: {subscriptions: [{name: db, targetCSV: %s}]}
`, fields, target)
}

func TestValidateChecksTheTargetsOfAnUpgrade(t *testing.T) {
	const manual = "installPlanApproval: Manual"
	for name, test := range map[string]struct {
		object  string
		refused string // words of the refusal; "" means accepted
		warning string
	}{
		"a target":                        {operator(manual, "db.v1.2.0"), "", ""},
		"a target without a v":            {operator(manual, "db.1.2.0"), "", ""},
		"a startingCSV before the target": {operator(manual+", startingCSV: db.v1.0.0", "db.v1.2.0"), "", ""},
		"the target as startingCSV":       {operator(manual+", startingCSV: db.v1.2.0", "db.v1.2.0"), "", ""},
		"a startingCSV without an order":  {operator(manual+", startingCSV: other.v9.0.0", "db.v1.2.0"), "", ""},
		"a startingCSV that is a number":  {operator(manual+", startingCSV: 9", "db.v1.2.0"), "", ""},
		"a startingCSV beyond the target": {operator(manual+", startingCSV: db.v1.10.0", "db.v1.2.0"), "spec.objects[1].spec.startingCSV: Invalid value: \"db.v1.10.0\": it is a later version than targetCSV, db.v1.2.0", ""},
		"Automatic approval":              {operator("installPlanApproval: Automatic", "db.v1.2.0"), "spec.objects[1].spec.installPlanApproval", ""},
		"a target without a version":      {operator(manual, "db-stable"), "", "spec.upgrade.subscriptions[0].targetCSV: db-stable does not end in a version such as v1.2.3, so the manager approves the InstallPlan for this CSV only, and none for a version before it"},
		"the latest version in waves":     {strings.NewReplacer("targetCSV: db.v1.2.0", "approve: Latest", "  placement:", "  rollout: {waves: [{name: canary}]}\n  placement:").Replace(operator(manual, "db.v1.2.0")), "", ""},
		"the latest version, startingCSV and all at once": {strings.Replace(operator(manual+", startingCSV: db.v1.10.0", "db.v1.2.0"), "targetCSV: db.v1.2.0", "approve: Latest", 1), "",
			"spec.upgrade: without spec.rollout.waves, a Subscription whose approve is Latest takes a version when OLM offers it on all placed clusters, and no cluster tries it first"},
		"an annotation with a target of anyone": {strings.Replace(operator(manual, "db.v1.2.0"), "Subscription, metadata: {name: db", "Subscription, metadata: {annotations: {federation.fairlead.dev/target-csv: db.v9.0.0}, name: db", 1), "annotations[federation.fairlead.dev/target-csv]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := nobody.validate(t.Context(), request(t, admissionv1.Create, "Federated", test.object, ""))
			if got.Allowed != (test.refused == "") {
				t.Fatalf("allowed: %v (%+v)", got.Allowed, got.Result)
			}
			if !got.Allowed && !strings.Contains(got.Result.Message, test.refused) {
				t.Errorf("it says %s", got.Result.Message)
			}
			var want []string
			if test.warning != "" {
				want = []string{test.warning}
			}
			if diff := cmp.Diff(want, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateWarnsOfAnAutomaticSubscriptionThatBecomesManual(t *testing.T) {
	const warning = "spec.objects[1].spec.installPlanApproval: Subscription db was Automatic and becomes Manual. OLM then makes every InstallPlan of its namespace wait for " +
		"approval: if other owners have Subscriptions there, the manager approves their upgrades only together with a step of this wrapper"
	const manual = "installPlanApproval: Manual"
	without := func(fields string) string {
		return strings.Replace(operator(fields, "db.v1.2.0"), "  upgrade: {subscriptions: [{name: db, targetCSV: db.v1.2.0}]}\n", "", 1)
	}
	named := func(metadata string) string {
		return strings.Replace(without(""), "metadata: {name: db}, spec", "metadata: "+metadata+", spec", 1)
	}
	shared := strings.Replace(operator(manual, "db.v1.2.0"), "upgrade: {", "upgrade: {sharedNamespace: Allow, ", 1)
	for name, test := range map[string]struct {
		old, object string
		warned      bool
	}{
		"it was Automatic":                            {without("installPlanApproval: Automatic"), operator(manual, "db.v1.2.0"), true},
		"it said nothing, which is Automatic":         {without(""), operator(manual, "db.v1.2.0"), true},
		"it was Automatic, in a shared namespace":     {without("installPlanApproval: Automatic"), shared, true},
		"it was Manual":                               {without(manual), operator(manual, "db.v1.2.0"), false},
		"it had a target before":                      {operator(manual, "db.v1.1.0"), operator(manual, "db.v1.2.0"), false},
		"it was not there before":                     {named("{name: cache}"), operator(manual, "db.v1.2.0"), false},
		"it was in another namespace":                 {named("{name: db, namespace: other}"), operator(manual, "db.v1.2.0"), false},
		"it becomes Manual without a target":          {without(""), without(manual), false},
		"it stays Automatic, and the channel changes": {without("channel: a"), without("channel: b"), false},
	} {
		t.Run(name, func(t *testing.T) {
			got := nobody.validate(t.Context(), request(t, admissionv1.Update, "Federated", test.object, test.old))
			var want []string
			if test.warned {
				want = []string{warning}
			}
			if diff := cmp.Diff(want, got.Warnings); diff != "" || !got.Allowed {
				t.Errorf("allowed: %v, warnings (-want +got):\n%s", got.Allowed, diff)
			}
		})
	}
}

func TestAReinstallThatHasNoEffectIsWarnedOf(t *testing.T) {
	const warning = "spec.upgrade.rollback: Reinstall has no effect, because the manager runs without --reinstall-operators"
	with := func(rollback string) string {
		return strings.Replace(operator("installPlanApproval: Manual", "db.v1.2.0"), "upgrade: {", "upgrade: {rollback: "+rollback+", ", 1)
	}
	for _, test := range []struct {
		rollback        string
		enabled, warned bool
	}{{"Reinstall", false, true}, {"Reinstall", true, false}, {"Never", false, false}} {
		got := validation{nobody.members, test.enabled}.validate(t.Context(), request(t, admissionv1.Create, "Federated", with(test.rollback), ""))
		if !got.Allowed || slices.Contains(got.Warnings, warning) != test.warned {
			t.Errorf("rollback: %s, enabled %t: allowed %t, warnings %q", test.rollback, test.enabled, got.Allowed, got.Warnings)
		}
	}
}

// Without --reinstall-operators a rollback would leave the version that failed on the members.
func TestARollbackThatReinstallsNothingIsRefused(t *testing.T) {
	with := func(onFailure, rollback, target string) string {
		return strings.NewReplacer("upgrade: {", "upgrade: {rollback: "+rollback+", ", "  placement:", "  rollout: {onFailure: "+onFailure+"}\n  placement:").Replace(
			operator("installPlanApproval: Manual", target))
	}
	both := with("Rollback", "Reinstall", "db.v1.2.0")
	for name, test := range map[string]struct {
		old, object      string
		enabled, allowed bool
	}{
		"a new wrapper": {"", both, false, false},
		"a new wrapper, with a manager that reinstalls":    {"", both, true, true},
		"a new wrapper that pauses":                        {"", with("Pause", "Reinstall", "db.v1.2.0"), false, true},
		"onFailure becomes Rollback":                       {with("Pause", "Reinstall", "db.v1.2.0"), both, false, false},
		"both fields are set":                              {with("Pause", "Never", "db.v1.2.0"), both, false, false},
		"a wrapper that has both gets another target":      {with("Rollback", "Reinstall", "db.v1.1.0"), both, false, true},
		"a wrapper that has both pauses after a failure":   {both, with("Pause", "Reinstall", "db.v1.2.0"), false, true},
		"a wrapper that has both does not reinstall after": {both, with("Pause", "Never", "db.v1.2.0"), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			operation := admissionv1.Update
			if test.old == "" {
				operation = admissionv1.Create
			}
			got := validation{nobody.members, test.enabled}.validate(t.Context(), request(t, operation, "Federated", test.object, test.old))
			if got.Allowed != test.allowed {
				t.Fatalf("allowed: %v (%+v)", got.Allowed, got.Result)
			}
			const refusal = "spec.rollout.onFailure: Forbidden: the manager runs without --reinstall-operators"
			if !got.Allowed && (!strings.Contains(got.Result.Message, refusal) || !strings.Contains(got.Result.Message, "write onFailure: Pause")) {
				t.Errorf("it says %s", got.Result.Message)
			}
		})
	}
}
