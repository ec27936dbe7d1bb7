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
	// targetDebounce is the time between the success of a Subscription's target, or of a ClusterExtension, and the verdict
	// Healthy. An operator that crashes at its start succeeds for a moment.
	targetDebounce = 10 * time.Second
	// stepDebounce is the time for which OLM may report that no later version exists. After that, the Subscription is
	// Degraded. OLM also reports this for a moment between two steps of an upgrade.
	stepDebounce = 30 * time.Second
)

// offeredBy returns the CSV that OLM would install next, or is installing, for a Subscription with a target; "" if there is none.
// The parameter succeeded is the CSV that has succeeded, or "". OLM records a CSV as installed when it begins to install it, so
// offeredBy compares with succeeded, and not with the installedCSV of the status.
func offeredBy(sub *unstructured.Unstructured, succeeded string) string {
	if current := text(sub.Object, "status", "currentCSV"); upgrade.TargetOf(sub) != "" && current != succeeded {
		return current
	}
	return ""
}

// NeededCSV returns the name of the CSV that Judge needs in Related; "" if it needs none. The parameter plan is
// Related.InstallPlan. Usually the CSV is the currentCSV in the Subscription's status. For a Subscription with a target it
// is the installedCSV in three cases: the installedCSV is the target, or later than the target, or the plan for the currentCSV
// waits for approval.
func NeededCSV(sub, plan *unstructured.Unstructured) string {
	installed, current := text(sub.Object, "status", "installedCSV"), text(sub.Object, "status", "currentCSV")
	target := upgrade.TargetOf(sub)
	if reached(installed, target) || upgrade.IsLater(installed, target) && current != target || target != "" && waitsForApproval(plan, installed, current) {
		return installed
	}
	return current
}

// NeedsPlan reports whether Judge needs the InstallPlan in Related. Judge does not need it if OLM records the target as installed, unless a plan
// has failed: OLM records a CSV as installed as soon as it exists.
func NeedsPlan(sub *unstructured.Unstructured) bool {
	return !reached(text(sub.Object, "status", "installedCSV"), upgrade.TargetOf(sub)) || conditionOf(sub, string(operators.SubscriptionInstallPlanFailed)).isTrue()
}

// reached reports whether the Subscription has a target and OLM records this target as installed.
func reached(installed, target string) bool { return target != "" && installed == target }

func aheadOfTarget(installed, target string) Verdict {
	return degraded(v1alpha1.ReasonAheadOfTarget, "installed "+installed+" is later than target "+target+
		"; OLM cannot downgrade: raise the target, or remove the operator on the member")
}

// judgeAhead judges a Subscription whose installed CSV is later than the target. It does not look at the phase of that CSV: one
// that cannot run here, for example because it needs a newer Kubernetes, is ahead as well, and waiting does not help.
func judgeAhead(related Related, installed, target string) Verdict {
	if related.CSV == nil || related.CSV.GetName() != installed {
		return csvMissing(installed)
	}
	v := aheadOfTarget(installed, target)
	if text(related.CSV.Object, "status", "phase") == string(operators.CSVPhaseSucceeded) {
		v.Version = installed
	}
	return v
}

// judgePendingPlan judges a Subscription whose next InstallPlan waits for approval. For a Subscription with a target the
// manager approves the plan; for any other Subscription a person does.
//
// OLM creates the next plan while the installed CSV is still installing. But OLM replaces a CSV only after it has
// succeeded (or failed, if the OperatorGroup has upgradeStrategy UnsafeFailForward). If the manager approved a plan too
// early, the plan would add a second CSV that hangs, and would hide why the first CSV hangs. So until the installed CSV
// has succeeded, the verdict is that on the CSV, and not that on the plan.
func judgePendingPlan(related Related, installed, current, target string, now time.Time) Verdict {
	said := "InstallPlan " + related.InstallPlan.GetName() + " for " + current + " waits "
	switch {
	case target == "":
		return waiting(v1alpha1.ReasonApprovalRequired, said+"for approval")
	case target == v1alpha1.TargetLatest && installed == "":
		return waiting(v1alpha1.ReasonVersionPending, said+"until the manager takes a version from the reports of the first wave")
	}
	pending := progressing(v1alpha1.ReasonInstallPlanPending, said+"for the manager")
	if related.CSV == nil || related.CSV.GetName() != installed {
		return pending // this is the first install, or the installed CSV was deleted
	}
	if v := judgeCSV(related.CSV, installed, now); v.Health != v1alpha1.Healthy {
		v.Message += "; " + said + "until it has succeeded"
		return v
	}
	if target == v1alpha1.TargetLatest {
		return judgeReached(related.CSV, now) // until the manager takes a version, the plan does not matter
	}
	pending.Version = installed
	return pending
}

// judgeStep judges a Subscription with a target whose installed CSV has succeeded. This CSV is the target, or a step on the way
// to it. With `approve: Latest`, every installed CSV counts as the target until the manager has taken a version.
func judgeStep(sub *unstructured.Unstructured, related Related, target string, now time.Time) Verdict {
	name, lasted := related.CSV.GetName(), inPhase(related.CSV, now)
	if name == target || target == v1alpha1.TargetLatest {
		return judgeReached(related.CSV, now)
	}
	v := judgeNextStep(sub, related.InstallPlan, name, target, lasted, now)
	v.Version = name
	return v
}

// judgeReached judges a Subscription whose CSV has succeeded and needs no further step: Healthy after targetDebounce.
func judgeReached(csv *unstructured.Unstructured, now time.Time) Verdict {
	name, lasted := csv.GetName(), inPhase(csv, now)
	if lasted < targetDebounce {
		v := progressing(v1alpha1.ReasonInstalling, name+" has succeeded; it counts as healthy after "+targetDebounce.String())
		v.Recheck = min(targetDebounce-lasted, targetDebounce)
		return v
	}
	v := healthy()
	v.Version = name
	return v
}

// judgeNextStep judges a Subscription whose installed CSV has succeeded, and is not the target. The parameter lasted is the
// time since it succeeded. The verdict is Degraded if OLM offers no next step towards the target.
func judgeNextStep(sub, plan *unstructured.Unstructured, installed, target string, lasted time.Duration, now time.Time) Verdict {
	if v, ok := judgeTrouble(sub, plan, target, now); ok {
		return v
	}
	// OLM unpacks the next bundle before it creates the plan. Until then the Subscription's state is AtLatestKnown.
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
	return degraded(v1alpha1.ReasonTargetNotInCatalog, correctTarget+"channel "+spec("channel")+" of package "+spec("name")+" in catalog "+
		spec("sourceNamespace")+"/"+spec("source")+" does not lead from "+installed+", which is installed, to "+target)
}

// correctTarget is the beginning of the message of TargetNotInCatalog. It comes before the details, because the line of a member has 256 bytes.
const correctTarget = "correct targetCSV in spec.upgrade.subscriptions, or the channel: "

// lacksTarget reports whether a condition means that the channel does not contain the target. The manager sets the
// target as startingCSV. If a startingCSV is not in the channel, the resolver of OLM v0.46 writes "no operators found
// with name %s in channel %s of package %s in the catalog referenced by subscription %s" (getSubscriptionVariables in
// pkg/controller/registry/resolver/resolver.go). The condition's reason is the same for every failed resolution, so only
// the message shows the cause. If another version of OLM writes another message, the verdict has the reason
// ResolutionFailed.
func lacksTarget(c condition, target string) bool {
	return target != "" && c.kind == string(operators.SubscriptionResolutionFailed) &&
		strings.Contains(c.message, "no operators found with name "+target+" in channel ")
}

// judgePlan judges a Subscription whose InstallPlan OLM is executing. OLM never ends a plan for which it lacks a
// permission. So for a Subscription with a target, a plan that takes longer than olmDeadline has timed out, and IsBlocked is true. Before
// OLM executes a plan it can unpack bundles, with a timeout of its own. Where that takes longer, the verdict is Degraded with the reason
// Installing.
func judgePlan(sub, plan *unstructured.Unstructured, target string, now time.Time) Verdict {
	said := "InstallPlan " + plan.GetName() + " is " + text(plan.Object, "status", "phase")
	if target == "" {
		return progressing(v1alpha1.ReasonInstalling, said)
	}
	pending := conditionOf(sub, string(operators.SubscriptionInstallPlanPending))
	// Where the plan itself has no message, its condition has the messages of the bundles that OLM unpacks.
	words := text(plan.Object, "status", "message")
	if words == "" {
		words = pending.message
	}
	said = withDetail(said, words)
	since := moment(plan.Object, "status", "startTime")
	hasBegun := !since.IsZero()
	if !hasBegun && pending.reason == string(operators.InstallPlanPhaseInstalling) {
		since = pending.since
	}
	if since.IsZero() { // OLM has not begun to execute the plan
		return progressing(v1alpha1.ReasonInstalling, said)
	}
	v := underWay(v1alpha1.ReasonInstalling, said, now.Sub(since))
	if v.Health == v1alpha1.Degraded && hasBegun {
		v.Reason = v1alpha1.ReasonInstallPlanTimedOut
	}
	return v
}

// withDetail appends ": detail" to a sentence, unless detail is "".
func withDetail(said, detail string) string {
	if detail == "" {
		return said
	}
	return said + ": " + detail
}
