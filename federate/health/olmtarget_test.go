// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// target is the targetCSV of all Subscriptions in TestSubscriptionWithATarget.
const target = "db.v1.2.0"

func targeted(status string) string {
	return `
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: db, namespace: shop, generation: 1, annotations: {"` + v1alpha1.AnnotationTargetCSV + `": ` + target + `}}
spec: {name: db, channel: stable, source: demo, sourceNamespace: olm, installPlanApproval: Manual, startingCSV: ` + target + `}
status: ` + status
}

// settled returns the status between two upgrades: OLM has recorded the installed CSV, and has found no later
// one.
func settled(csv string, updated time.Duration) string {
	return "{state: AtLatestKnown, installedCSV: " + csv + ", currentCSV: " + csv + ", lastUpdated: '" + ago(updated) + "', installPlanRef: {name: install-1}}"
}

// offered returns the status while OLM has an InstallPlan for a later CSV than the installed one.
func offered(installed, current string) string {
	return "{state: UpgradePending, installedCSV: " + installed + ", currentCSV: " + current + ", installPlanRef: {name: install-2}}"
}

func succeeded(name string, lasted time.Duration) string {
	return csv(name, "{phase: Succeeded, reason: InstallSucceeded"+since(lasted))
}

func TestSubscriptionWithATarget(t *testing.T) {
	const (
		first    = "{state: UpgradePending, currentCSV: db.v1.2.0, installPlanRef: {name: install-2}}"
		notFound = "constraints not satisfiable: subscription db exists, no operators found with name db.v1.2.0 in channel stable " +
			"of package db in the catalog referenced by subscription db"
		remedy = "correct targetCSV in spec.upgrade.subscriptions, or the channel: "
	)
	waits := plan("install-2", "{approval: Manual, approved: false}", "{phase: RequiresApproval}")
	runs := func(status string) string { return plan("install-2", "{approval: Manual, approved: true}", status) }
	resolutionFailed := func(message string) string {
		return "{conditions: [{type: ResolutionFailed, status: 'True', reason: ConstraintsNotSatisfiable, message: '" + message +
			"', lastTransitionTime: '" + ago(time.Minute) + "'}]}"
	}
	planFailed := func(state, current string) string {
		return "{state: " + state + ", installedCSV: db.v1.0.0, currentCSV: " + current + ", lastUpdated: '" + ago(time.Second) +
			"', installPlanRef: {name: install-2}, conditions: [{type: InstallPlanFailed, status: 'True', reason: InstallComponentFailed, " +
			"message: no such kind, lastTransitionTime: '" + ago(time.Minute) + "'}]}"
	}
	tests := map[string]struct {
		sub, csv, plan string
		noGroup        bool
		want           health.Verdict
	}{
		"is degraded without an OperatorGroup": {
			sub: "{}", noGroup: true,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonNoOperatorGroup,
				Message: "its namespace has no OperatorGroup, without which OLM does nothing; federate one with the Subscription",
			},
		},
		"is degraded if the InstallPlan that OLM waits for was deleted": {
			sub: offered("db.v1.0.0", "db.v1.1.0"),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonInstallPlanMissing,
				Message: "OLM waits for InstallPlan install-2, which was deleted, and no other InstallPlan has db.v1.1.0; delete the Subscription and " +
					"its CSV on the member: the manager creates the Subscription again",
			},
		},
		"is healthy at the target": {
			sub: settled(target, time.Hour), csv: succeeded(target, 10*time.Second),
			want: health.Verdict{Health: v1alpha1.Healthy, Version: target},
		},
		"is healthy at the target while a plan beyond it waits": {
			sub: offered(target, "db.v1.3.0"), csv: succeeded(target, time.Hour), plan: waits,
			want: health.Verdict{Health: v1alpha1.Healthy, Version: target},
		},
		"is progressing until the target's CSV has been Succeeded for a while": {
			sub: settled(target, 0), csv: succeeded(target, 4*time.Second),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling,
				Message: "db.v1.2.0 has succeeded; it counts as healthy after 10s", Recheck: 6 * time.Second,
			},
		},
		"does not wait longer because the member's clock is ahead": {
			sub: settled(target, 0), csv: succeeded(target, -time.Hour),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling,
				Message: "db.v1.2.0 has succeeded; it counts as healthy after 10s", Recheck: 10 * time.Second,
			},
		},
		"is degraded when the target fails, although a plan beyond it waits": {
			sub: offered(target, "db.v1.3.0"), csv: csv(target, "{phase: Failed, reason: InstallCheckFailed, message: install timeout"+since(time.Minute)),
			plan: waits,
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "InstallCheckFailed", Message: "db.v1.2.0 is Failed: install timeout"},
		},
		"is degraded when the installation of the target hangs": {
			sub:  settled(target, time.Hour),
			csv:  csv(target, "{phase: Pending, reason: RequirementsNotMet, message: needs Kubernetes 99"+since(10*time.Minute)),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "RequirementsNotMet", Message: "db.v1.2.0 is Pending: needs Kubernetes 99 (for more than 10m0s)"},
		},
		"is degraded if a person deleted the CSV of the target": {
			sub: offered(target, "db.v1.3.0"), plan: waits,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonCSVMissing,
				Message: "OLM records db.v1.2.0 as installed, but that CSV is gone and OLM does not create it again; " +
					"delete the Subscription, and the manager pushes it again",
			},
		},
		"waits for the manager to approve the first InstallPlan": {
			sub: first, plan: waits,
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstallPlanPending,
				Message: "InstallPlan install-2 for db.v1.2.0 waits for the manager",
			},
		},
		"waits for the manager to approve the InstallPlan of the next version": {
			sub: offered("db.v1.0.0", "db.v1.1.0"), csv: succeeded("db.v1.0.0", time.Second), plan: waits,
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstallPlanPending,
				Message: "InstallPlan install-2 for db.v1.1.0 waits for the manager", Version: "db.v1.0.0",
			},
		},
		"waits for the manager if the CSV to replace does not exist any more": {
			sub: offered("db.v1.0.0", "db.v1.1.0"), plan: waits,
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstallPlanPending,
				Message: "InstallPlan install-2 for db.v1.1.0 waits for the manager",
			},
		},
		"waits for the manager if the CSVs' names do not show which version is later": {
			sub: offered("database.v9.0.0", "db.v1.1.0"), csv: succeeded("database.v9.0.0", time.Hour), plan: waits,
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstallPlanPending,
				Message: "InstallPlan install-2 for db.v1.1.0 waits for the manager", Version: "database.v9.0.0",
			},
		},
		"first finishes the version that is being installed": {
			sub:  offered("db.v1.0.0", "db.v1.1.0"),
			csv:  csv("db.v1.0.0", "{phase: Installing, reason: InstallWaiting, message: waiting"+since(time.Minute)),
			plan: waits,
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: "InstallWaiting", Recheck: 9 * time.Minute,
				Message: "db.v1.0.0 is Installing: waiting; InstallPlan install-2 for db.v1.1.0 waits until it has succeeded",
			},
		},
		"names the version that failed, and not the next InstallPlan": {
			sub:  offered("db.v1.0.0", "db.v1.1.0"),
			csv:  csv("db.v1.0.0", "{phase: Failed, reason: InstallCheckFailed, message: install timeout"+since(time.Minute)),
			plan: waits,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "InstallCheckFailed",
				Message: "db.v1.0.0 is Failed: install timeout; InstallPlan install-2 for db.v1.1.0 waits until it has succeeded",
			},
		},
		"is ahead of the target, and the manager approves no further plan": {
			sub: offered("db.v1.3.0", "db.v1.4.0"), csv: succeeded("db.v1.3.0", time.Hour), plan: waits,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonAheadOfTarget, Version: "db.v1.3.0",
				Message: "installed db.v1.3.0 is later than target db.v1.2.0; OLM cannot downgrade: raise the target, or remove the operator on the member",
			},
		},
		"is ahead of the target at once": {
			sub: settled("db.v1.3.0", 0), csv: succeeded("db.v1.3.0", 0),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonAheadOfTarget, Version: "db.v1.3.0",
				Message: "installed db.v1.3.0 is later than target db.v1.2.0; OLM cannot downgrade: raise the target, or remove the operator on the member",
			},
		},
		"is ahead of the target with a version that cannot run here": {
			sub: settled("db.v1.3.0", 0), csv: csv("db.v1.3.0", "{phase: Pending, reason: RequirementsNotMet, message: needs Kubernetes 99"+since(time.Second)),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonAheadOfTarget,
				Message: "installed db.v1.3.0 is later than target db.v1.2.0; OLM cannot downgrade: raise the target, or remove the operator on the member",
			},
		},
		"is ahead of the target with a version that fails": {
			sub: settled("db.v1.3.0", 0), csv: csv("db.v1.3.0", "{phase: Failed, reason: InstallCheckFailed, message: install timeout"+since(0)),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonAheadOfTarget,
				Message: "installed db.v1.3.0 is later than target db.v1.2.0; OLM cannot downgrade: raise the target, or remove the operator on the member",
			},
		},
		"has lost a CSV that was later than the target": {
			sub: settled("db.v1.3.0", 0),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonCSVMissing,
				Message: "OLM records db.v1.3.0 as installed, but that CSV is gone and OLM does not create it again; delete the Subscription, and the manager pushes it again",
			},
		},
		"is not ahead if OLM itself offers the target as the next version": {
			sub: offered("db.v1.3.0", target), csv: succeeded("db.v1.3.0", time.Hour), plan: waits,
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstallPlanPending, Version: "db.v1.3.0",
				Message: "InstallPlan install-2 for db.v1.2.0 waits for the manager",
			},
		},
		"installs the approved plan": {
			sub: offered("db.v1.0.0", "db.v1.1.0"), plan: runs("{phase: Installing}"),
			want: health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Message: "InstallPlan install-2 is Installing"},
		},
		"has OLM's message why an approved InstallPlan does not continue": {
			sub:  offered("db.v1.0.0", "db.v1.1.0"),
			plan: runs("{phase: Installing, startTime: '" + ago(4*time.Minute) + "', message: 'retrying execution due to error: roles is forbidden'}"),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Recheck: 6 * time.Minute,
				Message: "InstallPlan install-2 is Installing: retrying execution due to error: roles is forbidden",
			},
		},
		"is blocked when an approved plan hangs": {
			sub:  offered("db.v1.0.0", "db.v1.1.0"),
			plan: runs("{phase: Installing, startTime: '" + ago(10*time.Minute) + "', message: roles is forbidden}"),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonInstallPlanTimedOut,
				Message: "InstallPlan install-2 is Installing: roles is forbidden (for more than 10m0s)",
			},
		},
		"is degraded when the bundles of an approved plan are not found": {
			sub: "{state: UpgradePending, currentCSV: db.v1.2.0, installPlanRef: {name: install-2}, conditions: [{type: InstallPlanPending, status: 'True', " +
				"reason: Installing, message: 'unpack job not completed.', lastTransitionTime: '" + ago(time.Hour) + "'}]}",
			plan: runs("{phase: Installing}"),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonInstalling,
				Message: "InstallPlan install-2 is Installing: unpack job not completed. (for more than 10m0s)",
			},
		},
		"is blocked when an InstallPlan has failed, with OLM's message": {
			sub: "{state: UpgradePending, installedCSV: db.v1.0.0, currentCSV: db.v1.1.0, installPlanRef: {name: install-2}, conditions: [" +
				"{type: InstallPlanFailed, status: 'True', reason: InstallComponentFailed, message: no such kind, lastTransitionTime: '" + ago(time.Minute) + "'}]}",
			plan: runs("{phase: Failed, startTime: '" + ago(time.Minute) + "'}"),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "InstallPlanFailed", Message: "InstallComponentFailed: no such kind"},
		},
		"is blocked when an InstallPlan has failed and OLM tries later versions of the catalog": {
			sub:  planFailed("UpgradeFailed", "db.v1.1.0"),
			plan: runs("{phase: Failed, startTime: '" + ago(time.Minute) + "'}"),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "InstallPlanFailed", Message: "InstallComponentFailed: no such kind"},
		},
		"is not blocked by the failure of an earlier InstallPlan while OLM executes another one": {
			sub:  planFailed("UpgradePending", "db.v1.1.0"),
			plan: runs("{phase: Installing}"),
			want: health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Message: "InstallPlan install-2 is Installing"},
		},
		"is not blocked by the failure of an earlier InstallPlan while OLM has not begun another one": {
			sub:  planFailed("UpgradePending", "db.v1.1.0"),
			plan: runs("{}"),
			want: health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Message: "InstallPlan install-2 is"},
		},
		"is not blocked by an InstallPlan that failed in a step of another Subscription": {
			sub: planFailed("AtLatestKnown", "db.v1.0.0"), csv: succeeded("db.v1.0.0", time.Minute),
			plan: runs("{phase: Failed, startTime: '" + ago(time.Minute) + "'}"),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Version: "db.v1.0.0", Recheck: 29 * time.Second,
				Message: "db.v1.0.0 is installed; OLM has not offered the next version on the way to db.v1.2.0 yet",
			},
		},
		"names the resolution that fails, and not the failure of an earlier InstallPlan": {
			sub: "{state: AtLatestKnown, installedCSV: db.v1.0.0, currentCSV: db.v1.0.0, installPlanRef: {name: install-2}, conditions: [" +
				"{type: InstallPlanFailed, status: 'True', reason: InstallComponentFailed, message: no such kind, lastTransitionTime: '" + ago(time.Minute) + "'}, " +
				"{type: ResolutionFailed, status: 'True', message: no catalog, lastTransitionTime: '" + ago(time.Minute) + "'}]}",
			csv: succeeded("db.v1.0.0", time.Minute), plan: runs("{phase: Complete}"),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "ResolutionFailed", Message: "no catalog", Version: "db.v1.0.0"},
		},
		"is progressing while the CSV of a version before the target is installed": {
			sub:  settled("db.v1.1.0", time.Minute),
			csv:  csv("db.v1.1.0", "{phase: Installing, reason: InstallWaiting, message: waiting"+since(time.Minute)),
			want: health.Verdict{Health: v1alpha1.Progressing, Reason: "InstallWaiting", Message: "db.v1.1.0 is Installing: waiting", Recheck: 9 * time.Minute},
		},
		"is progressing while OLM has not offered the next version yet": {
			sub: settled("db.v1.1.0", time.Hour), csv: succeeded("db.v1.1.0", 20*time.Second), plan: runs("{phase: Complete}"),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Version: "db.v1.1.0", Recheck: 10 * time.Second,
				Message: "db.v1.1.0 is installed; OLM has not offered the next version on the way to db.v1.2.0 yet",
			},
		},
		"is progressing for some time after every change of OLM's status": {
			sub: settled("db.v1.1.0", time.Second), csv: succeeded("db.v1.1.0", time.Hour),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Version: "db.v1.1.0", Recheck: 29 * time.Second,
				Message: "db.v1.1.0 is installed; OLM has not offered the next version on the way to db.v1.2.0 yet",
			},
		},
		"waits while OLM reports nothing": {
			sub: "{installedCSV: db.v1.1.0, currentCSV: db.v1.1.0}", csv: succeeded("db.v1.1.0", time.Hour),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Version: "db.v1.1.0",
				Message: "db.v1.1.0 is installed; OLM has not offered the next version on the way to db.v1.2.0 yet",
			},
		},
		"waits while OLM unpacks the next version, although the state is AtLatestKnown": {
			sub: "{state: AtLatestKnown, installedCSV: db.v1.1.0, currentCSV: db.v1.1.0, conditions: [" +
				"{type: BundleUnpacking, status: 'True', reason: UnpackingInProgress, message: Bundle image pull failed.}]}",
			csv: succeeded("db.v1.1.0", time.Hour),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Version: "db.v1.1.0",
				Message: "db.v1.1.0 is installed; OLM unpacks the next version: Bundle image pull failed.",
			},
		},
		"has OLM's message why it offers no next version": {
			sub: "{state: AtLatestKnown, installedCSV: db.v1.1.0, currentCSV: db.v1.1.0, conditions: [" +
				"{type: BundleUnpackFailed, status: 'True', reason: BundleUnpackFailed, message: no image, lastTransitionTime: '" + ago(time.Minute) + "'}]}",
			csv:  succeeded("db.v1.1.0", time.Hour),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "BundleUnpackFailed", Message: "BundleUnpackFailed: no image", Version: "db.v1.1.0"},
		},
		"is degraded when the channel ends before the target": {
			sub: settled("db.v1.1.0", 30*time.Second), csv: succeeded("db.v1.1.0", time.Hour), plan: runs("{phase: Complete}"),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonTargetNotInCatalog, Version: "db.v1.1.0",
				Message: remedy + "channel stable of package db in catalog olm/demo does not lead from db.v1.1.0, which is installed, to db.v1.2.0",
			},
		},
		"is degraded when the CSVs' names do not show that it is ahead of the target": {
			sub: settled("database.v9.0.0", time.Hour), csv: succeeded("database.v9.0.0", time.Hour),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonTargetNotInCatalog, Version: "database.v9.0.0",
				Message: remedy + "channel stable of package db in catalog olm/demo does not lead from database.v9.0.0, which is installed, to db.v1.2.0",
			},
		},
		"is degraded when the catalog lacks the target at the first install": {
			sub:  resolutionFailed(notFound),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonTargetNotInCatalog, Message: remedy + notFound},
		},
		"has OLM's message of a failed resolution that is about another name": {
			sub: resolutionFailed("no operators found with name db.v1.2.0-rc.1 in channel stable of package db in the catalog referenced by subscription db"),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "ResolutionFailed",
				Message: "ConstraintsNotSatisfiable: no operators found with name db.v1.2.0-rc.1 in channel stable of package db in the catalog referenced by subscription db",
			},
		},
		"has OLM's message that the channel is unknown": {
			sub: resolutionFailed("no operators found in channel stable of package db"),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "ResolutionFailed",
				Message: "ConstraintsNotSatisfiable: no operators found in channel stable of package db",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sub := object(t, targeted(test.sub))
			related := health.Related{OperatorGroups: 1}
			if test.noGroup {
				related.OperatorGroups = 0
			}
			if test.plan != "" {
				related.InstallPlan = object(t, test.plan)
			}
			if test.csv != "" {
				related.CSV = object(t, test.csv)
				if needed := health.NeededCSV(sub, related.InstallPlan); needed != related.CSV.GetName() {
					t.Errorf("the collector reads CSV %q, but the verdict is about CSV %s", needed, related.CSV.GetName())
				}
			}
			got := health.Judge(sub, related, now)
			if got.Target == "" {
				t.Error("it is not known to have a target")
			}
			test.want.Target, test.want.Offered = got.Target, got.Offered // see TestWhatOLMOffers
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			line := &v1alpha1.ObjectStatus{Group: "operators.coreos.com", Kind: "Subscription", Name: "db", Health: got.Health, Reason: got.Reason}
			blocked := health.IsBlocked(line, []v1alpha1.ObservedSubscription{{Name: "db", TargetCSV: got.Target}})
			if strings.HasPrefix(name, "is blocked ") != blocked {
				t.Errorf("only a person can help: %t", blocked)
			}
		})
	}
}
