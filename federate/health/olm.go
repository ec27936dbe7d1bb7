// SPDX-License-Identifier: Apache-2.0

package health

import (
	"regexp"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

const (
	// olmDebounce is the time after which a failure that OLM keeps reporting makes the object Degraded. In a successful
	// upgrade, OLM reports Failed for up to half a second.
	olmDebounce = 5 * time.Second
	// olmDeadline is the time after which a CSV, an InstallPlan or a ClusterExtension that is still in progress makes the
	// object Degraded. OLM does not always report a CSV that hangs.
	olmDeadline = 10 * time.Minute
)

// judgeSubscription judges a Subscription by its CSV. The Subscription's own state does not suffice: it is
// AtLatestKnown, and names the CSV as installed, even while the CSV is still installing or hangs.
func judgeSubscription(sub *unstructured.Unstructured, related Related, now time.Time) Verdict {
	installed, current := text(sub.Object, "status", "installedCSV"), text(sub.Object, "status", "currentCSV")
	target, needed := upgrade.TargetOf(sub), NeededCSV(sub, related.InstallPlan)
	switch {
	case related.OperatorGroups == 0:
		return degraded(v1alpha1.ReasonNoOperatorGroup,
			"its namespace has no OperatorGroup, without which OLM does nothing; federate one with the Subscription")
	case related.OperatorGroups > 1:
		return degraded(v1alpha1.ReasonTooManyOperatorGroups,
			"its namespace has more than one OperatorGroup, so OLM installs nothing there; delete all but one on the member")
	case upgrade.IsLater(installed, target) && current != target:
		return judgeAhead(related, installed, target)
	case !reached(installed, target) && waitsForApproval(related.InstallPlan, installed, current):
		return judgePendingPlan(related, installed, current, target, now)
	case related.CSV != nil && needed != "" && related.CSV.GetName() == needed:
		if v, ok := judgeFailedPlan(related.InstallPlan, related.CSV, now); ok {
			return v
		}
		v := judgeCSV(related.CSV, installed, now)
		if target != "" && v.Health == v1alpha1.Healthy {
			return judgeStep(sub, related, target, now)
		}
		return v
	case related.CSV == nil && needed != "" && installed == needed:
		return csvMissing(installed)
	}
	if LacksPlan(sub, related.InstallPlan) {
		return degraded(v1alpha1.ReasonInstallPlanMissing, "OLM waits for InstallPlan "+text(sub.Object, "status", "installPlanRef", "name")+
			", which was deleted, and no other InstallPlan has "+current+"; delete the Subscription and its CSV on the member: the manager creates the Subscription again")
	}
	return judgeResolution(sub, related.InstallPlan, target, now)
}

// judgeFailedPlan judges a CSV that is Pending and whose InstallPlan has failed. OLM creates the CSV before other objects of the plan, so the
// CSV waits for what the plan could not create. OLM then takes the Subscription for AtLatestKnown, and only the plan has the cause. ok is false
// for any other CSV.
func judgeFailedPlan(plan, csv *unstructured.Unstructured, now time.Time) (v Verdict, ok bool) {
	if plan == nil || text(plan.Object, "status", "phase") != string(operators.InstallPlanPhaseFailed) ||
		text(csv.Object, "status", "phase") != string(operators.CSVPhasePending) || !installs(plan, csv.GetName()) {
		return Verdict{}, false
	}
	c := conditionOf(plan, string(operators.InstallPlanInstalled))
	words := c.message
	if words == "" {
		words = text(plan.Object, "status", "message")
	}
	if c.reason != "" {
		words = c.reason + ": " + words
	}
	return failing(string(operators.SubscriptionInstallPlanFailed), withDetail("InstallPlan "+plan.GetName()+" failed", words), now.Sub(c.since)), true
}

func csvMissing(installed string) Verdict {
	return degraded(v1alpha1.ReasonCSVMissing, "OLM records "+installed+
		" as installed, but that CSV is gone and OLM does not create it again; delete the Subscription, and the manager pushes it again")
}

// waitsForApproval reports whether the InstallPlan for the next CSV waits for approval. installed and current are the
// CSVs in the Subscription's status.
func waitsForApproval(plan *unstructured.Unstructured, installed, current string) bool {
	if plan == nil || installed == current && installed != "" {
		return false
	}
	approved, _, _ := unstructured.NestedBool(plan.Object, "spec", "approved")
	return text(plan.Object, "spec", "approval") == string(operators.ApprovalManual) && !approved
}

// judgeCSV judges a CSV by its phase. The parameter installed is the CSV that OLM records as installed.
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
	if unmet := unmetRequirement(csv); unmet != "" {
		said += " (" + unmet + ")"
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
		return failing(reason, said, lasted)
	}
	return underWay(reason, said, lasted)
}

// unmetRequirement returns the first requirement of a CSV that the cluster does not meet, for example its minKubeVersion; "" if the cluster
// meets all of them, or if OLM does not wait for requirements. The message of the CSV says only that a requirement is not met, and not
// which.
func unmetRequirement(csv *unstructured.Unstructured) string {
	if text(csv.Object, "status", "reason") != string(operators.CSVReasonRequirementsNotMet) {
		return ""
	}
	requirements, _, _ := unstructured.NestedSlice(csv.Object, "status", "requirementStatus")
	for _, r := range requirements {
		requirement, ok := r.(map[string]any)
		if !ok {
			continue
		}
		switch status := text(requirement, "status"); operators.StatusReason(status) {
		case "", operators.RequirementStatusReasonPresent, operators.DependentStatusReasonSatisfied:
		default:
			return text(requirement, "kind") + " " + text(requirement, "name") + " is " + status + ": " + text(requirement, "message")
		}
	}
	return ""
}

// failing returns the verdict on a failure. The parameter lasted is the time for which OLM has reported it. The verdict
// is Degraded from olmDebounce on, and Progressing before.
func failing(reason, message string, lasted time.Duration) Verdict {
	if lasted >= olmDebounce {
		return degraded(reason, message)
	}
	v := progressing(reason, message)
	v.Recheck = min(olmDebounce-lasted, olmDebounce)
	return v
}

// underWay returns the verdict on a step that OLM is taking. The parameter lasted is the time since the step began. The
// verdict is Progressing until olmDeadline, and Degraded from then on.
func underWay(reason, message string, lasted time.Duration) Verdict {
	if lasted >= olmDeadline {
		return degraded(reason, message+" (for more than "+olmDeadline.String()+")")
	}
	v := progressing(reason, message)
	v.Recheck = min(olmDeadline-lasted, olmDeadline)
	return v
}

// inPhase returns how long a CSV has been in its present phase.
func inPhase(csv *unstructured.Unstructured, now time.Time) time.Duration {
	since := moment(csv.Object, "status", "lastTransitionTime")
	if since.IsZero() {
		since = csv.GetCreationTimestamp().Time
	}
	return now.Sub(since)
}

// judgeResolution judges a Subscription for which OLM has not chosen a CSV: OLM is still choosing, or cannot choose.
func judgeResolution(sub, plan *unstructured.Unstructured, target string, now time.Time) Verdict {
	if v, ok := judgeTrouble(sub, plan, target, now); ok {
		return v
	}
	if plan != nil {
		return judgePlan(sub, plan, target, now)
	}
	return progressing(v1alpha1.ReasonInstalling, "OLM has not chosen a CSV yet")
}

// judgeTrouble judges a Subscription by its first condition that reports a present problem. ok is false if no condition does. The
// parameter plan is Related.InstallPlan.
func judgeTrouble(sub, plan *unstructured.Unstructured, target string, now time.Time) (v Verdict, ok bool) {
	// Causes come before consequences: if the catalog is unhealthy or OLM cannot unpack a bundle, the resolution fails as
	// well.
	for _, kind := range []string{
		string(operators.SubscriptionBundleUnpackFailed),
		string(operators.SubscriptionInstallPlanFailed),
		string(operators.SubscriptionCatalogSourcesUnhealthy),
		string(operators.SubscriptionResolutionFailed),
	} {
		c := conditionOf(sub, kind)
		if !c.isTrue() || kind == string(operators.SubscriptionInstallPlanFailed) && isPastPlan(sub, plan) {
			continue
		}
		said := c.message
		if c.reason != "" {
			said = c.reason + ": " + c.message
		}
		switch {
		case lacksTarget(c, target):
			kind, said = v1alpha1.ReasonTargetNotInCatalog, correctTarget+c.message
		case lacksCatalog(c):
			kind = string(operators.SubscriptionCatalogSourcesUnhealthy)
		}
		return failing(kind, said, now.Sub(c.since)), true
	}
	return Verdict{}, false
}

// isPastPlan reports whether the condition InstallPlanFailed of a Subscription is about a plan with which OLM is done. OLM writes the
// condition and the reference to the plan separately, so in a namespace with several Subscriptions the condition can be that of an
// earlier plan. A plan can also fail in a step of another Subscription. If the CSV of this one exists all the same, its state is
// AtLatestKnown, and OLM looks for its next version (nothingToUpdate in pkg/controller/operators/catalog/operator.go of OLM v0.46).
func isPastPlan(sub, plan *unstructured.Unstructured) bool {
	return plan != nil && text(plan.Object, "status", "phase") != string(operators.InstallPlanPhaseFailed) ||
		text(sub.Object, "status", "state") == string(operators.SubscriptionStateAtLatest)
}

// unreadCatalog matches a catalog that OLM cannot read, in OLM's message. The name of the source that has the namespace's own CSVs begins
// with "@".
var unreadCatalog = regexp.MustCompile(`(error using catalogsource|failed to populate resolver cache from source) [^@/\s][^/\s]*/[^@:\s]`)

// lacksCatalog reports whether a condition means that OLM cannot read a catalog of the namespace, or a global one. For a catalog that is
// only an address, OLM sets CatalogSourcesUnhealthy to False. The resolver of OLM v0.46 then fails with "error using catalogsource
// NAMESPACE/NAME: …" (NamespacedOperatorCache.Error in pkg/controller/registry/resolver/cache/cache.go). The catalog operator sets the
// reason ErrorPreventedResolution for that error, and for others that are not about a catalog. So the message has to be read. Earlier
// versions of OLM write "failed to populate resolver cache from source NAME/NAMESPACE: …".
func lacksCatalog(c condition) bool {
	return c.kind == string(operators.SubscriptionResolutionFailed) && c.reason == "ErrorPreventedResolution" && unreadCatalog.MatchString(c.message)
}

// judgeCatalogSource judges a CatalogSource by whether OLM is connected to the catalog's server.
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
