// SPDX-License-Identifier: Apache-2.0

package health

import (
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const (
	// olmDebounce is how long OLM has to report a failure before it counts: a successful upgrade passes through Failed
	// within half a second.
	olmDebounce = 5 * time.Second
	// olmDeadline bounds how long a CSV may be in progress. OLM does not reliably report a CSV that hangs.
	olmDeadline = 10 * time.Minute
)

// judgeSubscription judges by the CSV, and not by the Subscription's own state. That state is AtLatestKnown, and names
// the CSV as installed, even while the CSV is still installing, or hangs.
func judgeSubscription(sub *unstructured.Unstructured, related Related, now time.Time) Verdict {
	installed, current := text(sub.Object, "status", "installedCSV"), text(sub.Object, "status", "currentCSV")
	target, needed := targetOf(sub), NeededCSV(sub, related.InstallPlan)
	switch {
	case related.OperatorGroups == 0:
		return degraded(v1alpha1.ReasonNoOperatorGroup,
			"its namespace has no OperatorGroup, without which OLM does nothing; federate one with the Subscription")
	case !reached(installed, target) && waitsForApproval(related.InstallPlan, installed, current):
		return judgePendingPlan(related, installed, current, target, now)
	case related.CSV != nil && needed != "" && related.CSV.GetName() == needed:
		v := judgeCSV(related.CSV, installed, now)
		if target != "" && v.Health == v1alpha1.Healthy {
			return judgeStep(sub, related.CSV, target, now)
		}
		return v
	case related.CSV == nil && needed != "" && installed == needed:
		return degraded(v1alpha1.ReasonCSVMissing, "OLM records "+needed+
			" as installed, but that CSV is gone and OLM does not create it again; delete the Subscription, and the manager pushes it again")
	}
	if target != "" && isPlanGone(sub, related.InstallPlan) {
		return degraded(v1alpha1.ReasonInstallPlanMissing, "OLM waits for InstallPlan "+text(sub.Object, "status", "installPlanRef", "name")+
			", which was deleted, and makes no other; delete the Subscription and its CSV on the member: the manager creates the Subscription again")
	}
	return judgeResolution(sub, related.InstallPlan, target, now)
}

// waitsForApproval reports whether the plan of the next CSV has to be approved.
func waitsForApproval(plan *unstructured.Unstructured, installed, current string) bool {
	if plan == nil || installed == current && installed != "" {
		return false
	}
	approved, _, _ := unstructured.NestedBool(plan.Object, "spec", "approved")
	return text(plan.Object, "spec", "approval") == string(operators.ApprovalManual) && !approved
}

// judgeCSV judges the CSV that is installed, or is being installed.
func judgeCSV(csv *unstructured.Unstructured, installed string, now time.Time) Verdict {
	name := csv.GetName()
	phase, reason := text(csv.Object, "status", "phase"), text(csv.Object, "status", "reason")
	words := text(csv.Object, "status", "message")
	lasted := inPhase(csv, now)
	if reason == "" {
		reason = v1alpha1.ReasonInstalling
	}
	said := name + " is " + phase
	if phase == "" {
		said = name + " was created"
	}
	if words != "" {
		said += ": " + words
	}
	switch operators.ClusterServiceVersionPhase(phase) {
	case operators.CSVPhaseSucceeded:
		if installed == name {
			v := healthy()
			v.Version = name
			return v
		}
		return progressing(v1alpha1.ReasonInstalling, name+" is installed; OLM has not recorded that yet")
	case operators.CSVPhaseFailed:
		if lasted < olmDebounce {
			v := progressing(reason, said)
			v.Recheck = min(olmDebounce-lasted, olmDebounce)
			return v
		}
		return degraded(reason, said)
	}
	if lasted >= olmDeadline {
		return degraded(reason, said+" (for more than "+olmDeadline.String()+")")
	}
	v := progressing(reason, said)
	v.Recheck = min(olmDeadline-lasted, olmDeadline)
	return v
}

// inPhase returns how long a CSV has been in its phase.
func inPhase(csv *unstructured.Unstructured, now time.Time) time.Duration {
	since := moment(csv.Object, "status", "lastTransitionTime")
	if since.IsZero() {
		since = csv.GetCreationTimestamp().Time
	}
	return now.Sub(since)
}

// judgeResolution judges a Subscription without a CSV: OLM is choosing one, or cannot.
func judgeResolution(sub, plan *unstructured.Unstructured, target string, now time.Time) Verdict {
	if v, ok := judgeTrouble(sub, target, now); ok {
		return v
	}
	if plan != nil {
		return judgePlan(sub, plan, target, now)
	}
	return progressing(v1alpha1.ReasonInstalling, "OLM has not chosen a CSV yet")
}

// judgeTrouble judges by the first condition that reports trouble; ok is false if none does.
func judgeTrouble(sub *unstructured.Unstructured, target string, now time.Time) (v Verdict, ok bool) {
	// The cause comes first: if the catalog is unhealthy or a bundle cannot be unpacked, the resolution fails too.
	for _, kind := range []string{
		string(operators.SubscriptionBundleUnpackFailed),
		string(operators.SubscriptionInstallPlanFailed),
		string(operators.SubscriptionCatalogSourcesUnhealthy),
		string(operators.SubscriptionResolutionFailed),
	} {
		c := conditionOf(sub, kind)
		if !c.isTrue() {
			continue
		}
		said := c.message
		if c.reason != "" {
			said = c.reason + ": " + c.message
		}
		if lacksTarget(c, target) {
			kind, said = v1alpha1.ReasonTargetNotInCatalog, c.message
		}
		if lasted := now.Sub(c.since); lasted < olmDebounce {
			v := progressing(kind, said)
			v.Recheck = min(olmDebounce-lasted, olmDebounce)
			return v, true
		}
		return degraded(kind, said), true
	}
	return Verdict{}, false
}

// judgeCatalogSource judges by the state of the connection to the catalog's server.
func judgeCatalogSource(obj *unstructured.Unstructured) Verdict {
	state := text(obj.Object, "status", "connectionState", "lastObservedState")
	reason, message := text(obj.Object, "status", "reason"), text(obj.Object, "status", "message")
	switch {
	case state == "READY":
		return healthy()
	case reason != "":
		return degraded(reason, message)
	case state == "TRANSIENT_FAILURE" || state == "SHUTDOWN":
		return degraded(state, "OLM cannot connect to the catalog at "+text(obj.Object, "status", "connectionState", "address"))
	case state == "":
		return progressing(v1alpha1.ReasonSettling, "OLM has not connected to the catalog yet")
	}
	return progressing(state, "OLM is connecting to the catalog at "+text(obj.Object, "status", "connectionState", "address"))
}

// The condition types of a ClusterExtension, and the reasons of Progressing.
const (
	extensionInstalled   = "Installed"
	extensionProgressing = "Progressing"
	extensionSucceeded   = "Succeeded"
	extensionRetrying    = "Retrying"
	extensionBlocked     = "Blocked"
)

// judgeClusterExtension judges by the conditions of OLM v1: Installed reports the installed state, and Progressing
// whether that is the state that the spec asks for.
func judgeClusterExtension(obj *unstructured.Unstructured, now time.Time) Verdict {
	installed, moving := conditionOf(obj, extensionInstalled), conditionOf(obj, extensionProgressing)
	v := extensionVerdict(obj.GetGeneration(), installed, moving, now)
	v.Version = text(obj.Object, "status", "install", "bundle", "name")
	return v
}

func extensionVerdict(generation int64, installed, moving condition, now time.Time) Verdict {
	words := func(c condition) string {
		if c.message == "" {
			return "OLM gives no message"
		}
		return c.message
	}
	switch {
	case moving.kind == "" || moving.observed < generation:
		return progressing(v1alpha1.ReasonSettling, "OLM has not observed the present spec yet")
	case moving.reason == extensionBlocked:
		return degraded(moving.reason, words(moving))
	case moving.reason == extensionRetrying:
		if lasted := now.Sub(moving.since); lasted < olmDebounce {
			v := progressing(moving.reason, words(moving))
			v.Recheck = min(olmDebounce-lasted, olmDebounce)
			return v
		}
		return degraded(moving.reason, words(moving))
	case installed.isTrue() && moving.reason == extensionSucceeded:
		return healthy()
	case moving.isTrue():
		return progressing(moving.reason, words(moving))
	case installed.kind != "" && !installed.isTrue():
		return degraded(installed.reason, words(installed))
	}
	return progressing(v1alpha1.ReasonInstalling, words(moving))
}
