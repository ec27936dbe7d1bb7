// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

const (
	// targetDebounce is how long the target has to have succeeded before it counts: an operator that crashes at its start
	// succeeds for a moment.
	targetDebounce = 10 * time.Second
	// stepDebounce is how long OLM has to report that there is no later version before that counts: OLM reports it for a
	// moment between two steps as well.
	stepDebounce = 30 * time.Second
)

// targetOf returns the target of a Subscription; "" if spec.upgrade does not name the Subscription.
func targetOf(sub *unstructured.Unstructured) string {
	return sub.GetAnnotations()[v1alpha1.AnnotationTargetCSV]
}

// NeededCSV returns the name of the CSV that Judge needs in Related, given the InstallPlan; "" if it needs none. That is the
// current CSV. With a target it is the installed one once that is the target, or while the plan of the current one waits.
func NeededCSV(sub, plan *unstructured.Unstructured) string {
	installed, current := text(sub.Object, "status", "installedCSV"), text(sub.Object, "status", "currentCSV")
	target := targetOf(sub)
	if reached(installed, target) || target != "" && waitsForApproval(plan, installed, current) {
		return installed
	}
	return current
}

// NeedsPlan reports whether Judge needs the InstallPlan in Related. With the target installed no plan changes the verdict.
func NeedsPlan(sub *unstructured.Unstructured) bool {
	return !reached(text(sub.Object, "status", "installedCSV"), targetOf(sub))
}

// reached reports whether there is a target, and OLM records it as installed.
func reached(installed, target string) bool { return target != "" && installed == target }

// isAhead reports whether the installed CSV is certainly later than the target.
func isAhead(installed, target string) bool {
	order, ok := upgrade.Order(installed, target)
	return ok && order > 0
}

func aheadOfTarget(installed, target string) Verdict {
	return degraded(v1alpha1.ReasonAheadOfTarget, "installed "+installed+" is later than target "+target+
		"; OLM cannot downgrade: raise the target, or remove the operator on the member")
}

// isPlanGone reports whether the plan that a Subscription waits for was deleted. OLM makes no other one while the Subscription
// says UpgradePending (ensureSubscriptionInstallPlanState in pkg/controller/operators/catalog/operator.go of OLM v0.46).
func isPlanGone(sub, plan *unstructured.Unstructured) bool {
	return plan == nil && text(sub.Object, "status", "installPlanRef", "name") != "" &&
		text(sub.Object, "status", "state") == string(operators.SubscriptionStateUpgradePending)
}

// judgePendingPlan judges a Subscription whose next InstallPlan is not approved. With a target the manager approves it,
// otherwise a person.
//
// OLM creates the next plan while the installed CSV still installs, but replaces only a CSV that has succeeded (or failed,
// where the OperatorGroup has upgradeStrategy UnsafeFailForward). Approved too early, the plan would add a second CSV that
// hangs, and hide why the first one does. So the plan counts once the installed CSV has succeeded.
func judgePendingPlan(related Related, installed, current, target string, now time.Time) Verdict {
	said := "InstallPlan " + related.InstallPlan.GetName() + " for " + current + " waits "
	switch {
	case target == "":
		return waiting(v1alpha1.ReasonApprovalRequired, said+"for approval")
	case isAhead(installed, target):
		return aheadOfTarget(installed, target)
	}
	pending := progressing(v1alpha1.ReasonInstallPlanPending, said+"for the manager")
	if related.CSV == nil || related.CSV.GetName() != installed {
		return pending // the first install, or OLM has lost the installed CSV
	}
	if v := judgeCSV(related.CSV, installed, now); v.Health != v1alpha1.Healthy {
		v.Message += "; " + said + "until it has succeeded"
		return v
	}
	pending.Version = installed
	return pending
}

// judgeStep judges a Subscription with a target whose installed CSV has succeeded: it is the target, or a step on the way.
func judgeStep(sub, csv *unstructured.Unstructured, target string, now time.Time) Verdict {
	name, lasted := csv.GetName(), inPhase(csv, now)
	if name == target {
		if lasted < targetDebounce {
			v := progressing(v1alpha1.ReasonInstalling, name+" has succeeded; it counts after "+targetDebounce.String())
			v.Recheck = min(targetDebounce-lasted, targetDebounce)
			return v
		}
		v := healthy()
		v.Version = name
		return v
	}
	v := judgeNextStep(sub, name, target, lasted, now)
	v.Version = name
	return v
}

// judgeNextStep judges whether there is a way from the installed CSV, which succeeded a while ago, to the target.
func judgeNextStep(sub *unstructured.Unstructured, installed, target string, lasted time.Duration, now time.Time) Verdict {
	if isAhead(installed, target) {
		return aheadOfTarget(installed, target)
	}
	if v, ok := judgeTrouble(sub, target, now); ok {
		return v
	}
	// OLM unpacks the next bundle before it creates the plan, and reports AtLatestKnown meanwhile.
	if c := conditionOf(sub, string(operators.SubscriptionBundleUnpacking)); c.isTrue() {
		return progressing(v1alpha1.ReasonInstalling, withDetail(installed+" is installed; OLM unpacks the next version", c.message))
	}
	v := progressing(v1alpha1.ReasonInstalling, installed+" is installed; OLM has not offered the next version on the way to "+target+" yet")
	if text(sub.Object, "status", "state") != string(operators.SubscriptionStateAtLatest) {
		return v
	}
	lasted = min(lasted, now.Sub(moment(sub.Object, "status", "lastUpdated")))
	if lasted < stepDebounce {
		v.Recheck = min(stepDebounce-lasted, stepDebounce)
		return v
	}
	spec := func(field string) string { return text(sub.Object, "spec", field) }
	return degraded(v1alpha1.ReasonTargetNotInCatalog, "channel "+spec("channel")+" of package "+spec("name")+" in catalog "+
		spec("sourceNamespace")+"/"+spec("source")+" does not lead from "+installed+", which is installed, to "+target)
}

// lacksTarget reports whether a condition says that the channel lacks the target. The manager renders the target as the
// startingCSV. For a first install whose startingCSV is not in the channel, the resolver of OLM v0.46 writes "no operators
// found with name %s in channel %s of package %s in the catalog referenced by subscription %s" (getSubscriptionVariables in
// pkg/controller/registry/resolver/resolver.go). OLM gives it the reason of every resolution without a solution, so only the
// words tell. Words of another OLM stay a ResolutionFailed.
func lacksTarget(c condition, target string) bool {
	return target != "" && c.kind == string(operators.SubscriptionResolutionFailed) &&
		strings.Contains(c.message, "no operators found with name "+target+" in channel ")
}

// judgePlan judges a Subscription whose InstallPlan is being executed. OLM does not end a plan that lacks a permission, so
// with a target a deadline does.
func judgePlan(sub, plan *unstructured.Unstructured, target string, now time.Time) Verdict {
	said := "InstallPlan " + plan.GetName() + " is " + text(plan.Object, "status", "phase")
	if target == "" {
		return progressing(v1alpha1.ReasonInstalling, said)
	}
	pending := conditionOf(sub, string(operators.SubscriptionInstallPlanPending))
	// The condition has the messages of the bundles that OLM looks up.
	words := text(plan.Object, "status", "message")
	if words == "" {
		words = pending.message
	}
	said = withDetail(said, words)
	since := moment(plan.Object, "status", "startTime")
	if since.IsZero() && pending.reason == string(operators.InstallPlanPhaseInstalling) {
		since = pending.since
	}
	if since.IsZero() { // OLM has not begun
		return progressing(v1alpha1.ReasonInstalling, said)
	}
	lasted := now.Sub(since)
	if lasted >= olmDeadline {
		return degraded(v1alpha1.ReasonInstalling, said+" (for more than "+olmDeadline.String()+")")
	}
	v := progressing(v1alpha1.ReasonInstalling, said)
	v.Recheck = min(olmDeadline-lasted, olmDeadline)
	return v
}

// withDetail appends a detail to a sentence, if there is one.
func withDetail(said, detail string) string {
	if detail == "" {
		return said
	}
	return said + ": " + detail
}
