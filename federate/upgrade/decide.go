// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"fmt"
	"slices"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// maxNamed is the greatest number of CSVs, Subscriptions or members that one message names.
const maxNamed = 3

// Decision is what the manager does with an InstallPlan. If Approve is false and Reason is "", the manager does nothing
// now: for example, OLM has not finished the plan, or the plan is approved already.
type Decision struct {
	// Approve is true if the manager approves the plan as soon as each CSV in Installed has succeeded.
	Approve bool
	// Installed are the CSVs of the wrapper's Subscriptions that the plan replaces. The manager has to check that they
	// have succeeded, because OLM would replace them even while they do not run. A CSV that the plan contains is not
	// replaced, so it is not here.
	Installed []string
	// State is the state for the member's line if a person has to act; "" if no person has to act.
	State v1alpha1.ClusterState
	// Reason is why the manager does not approve the plan, and Message explains it; both are "" if no person has to
	// act.
	Reason, Message string
}

// Decide decides whether the manager approves an InstallPlan. subscriptions has all Subscriptions in the plan's
// namespace. targets maps the names of the Subscriptions in the wrapper's spec.upgrade to their targetCSV.
//
// OLM puts the changes of all Subscriptions of a namespace into one plan, so one approval changes all of them. The
// manager approves the plan only if each of its CSVs meets one of these conditions:
//   - The CSV is a wrapper's target, or on the way to it.
//   - The CSV's Subscription has installPlanApproval: Automatic, so its owner has agreed.
//   - The CSV is installed already (see isInstalled).
//   - No Subscription names the CSV, and a CSV that meets a condition requires it.
func Decide(plan *operators.InstallPlan, subscriptions []operators.Subscription, targets map[string]string) Decision {
	if plan.Spec.Approved || plan.Spec.Approval != operators.ApprovalManual || plan.Status.Phase != operators.InstallPlanPhaseRequiresApproval {
		return Decision{}
	}
	bundles, t := bundlesOf(plan), tally{targets: targets}
	for _, csv := range plan.Spec.ClusterServiceVersionNames {
		subs := changedBy(csv, bundles[csv], subscriptions)
		if len(subs) == 0 {
			t.unnamed = append(t.unnamed, csv)
		}
		for _, sub := range subs {
			if final, is := t.count(csv, sub); final {
				return is
			}
		}
	}
	if !t.wanted {
		return Decision{} // all Subscriptions of the wrapper are at their targets, so the plan is beyond them
	}
	others := slices.Concat(t.others, notRequired(bundles, t.agreed, t.unnamed))
	switch {
	case len(others) > 0:
		slices.Sort(others)
		return bundled("InstallPlan %s also changes %s: approve it on the member if their owners agree, or use another namespace", plan.Name, messages.Few(others, maxNamed))
	case len(t.ahead) > 0:
		slices.Sort(t.ahead)
		return bundled("InstallPlan %s also takes Subscription %s of this wrapper beyond its targetCSV: raise that targetCSV too, or put that Subscription into another namespace",
			plan.Name, messages.Few(t.ahead, maxNamed))
	}
	slices.Sort(t.installed)
	return Decision{Approve: true, Installed: slices.Compact(t.installed)}
}

// tally sorts the CSVs of a plan by whether the owner of the CSV's Subscription agrees to the change.
type tally struct {
	targets map[string]string
	// wanted is true if the plan has a CSV that brings a Subscription of the wrapper towards its target.
	wanted bool
	// agreed are CSVs whose owners agree.
	// others are CSVs whose owners have not agreed, each with its Subscription, as text for a message.
	// ahead are the wrapper's Subscriptions that are at their targets, and that the plan would take beyond them.
	// unnamed are CSVs that no Subscription names.
	// installed are the installed CSVs of the wrapper's Subscriptions that the plan replaces.
	agreed, others, ahead, unnamed, installed []string
}

// count adds a CSV of one Subscription to the tally. If final is true, the returned Decision is that for the whole
// plan.
func (t *tally) count(csv string, sub *operators.Subscription) (final bool, is Decision) {
	if sub.Status.CurrentCSV != csv {
		// OLM has changed status.currentCSV, for one of two reasons. It may have found a later CSV and put it into a newer
		// plan. If the manager approved this older plan, OLM would install a CSV that no Subscription names, and could
		// resolve nothing in the namespace. Or OLM is just writing the status, and the next decision finds it complete.
		return true, Decision{}
	}
	target, ours := t.targets[sub.Name]
	if !ours {
		target = targetOfOther(sub)
	}
	if isInstalled(sub, csv, target) {
		if ours || sub.Spec.InstallPlanApproval != operators.ApprovalManual {
			t.agreed = append(t.agreed, csv) // its dependencies may come with it; those of another owner's Manual Subscription may not
		}
		return false, Decision{}
	}
	if ours && target == v1alpha1.TargetLatest {
		return true, Decision{} // the manager has taken no version yet
	}
	problem := Decision{}
	if target != "" {
		problem = step(sub, csv, target)
	}
	if ours && problem.Reason != "" {
		return true, problem
	}
	t.classify(csv, sub, target, ours, problem.Reason == "")
	return false, Decision{}
}

// classify adds a CSV that the plan would install to the list for what its Subscription says of it. fits is true if the CSV is not beyond the target, or if the
// Subscription has reached the target.
func (t *tally) classify(csv string, sub *operators.Subscription, target string, ours, fits bool) {
	installed := sub.Status.InstalledCSV
	automatic := target == "" && sub.Spec.InstallPlanApproval != operators.ApprovalManual
	has := target != "" && installed == target && csv != target // the plan may create a deleted CSV of the target again
	switch {
	case automatic, target != "" && fits && !has:
		t.agreed, t.wanted = append(t.agreed, csv), t.wanted || ours && installed != csv
	case ours && has:
		t.ahead = append(t.ahead, sub.Name)
	default:
		t.others = append(t.others, fmt.Sprintf("%s of Subscription %s", csv, sub.Name))
	}
	if ours && installed != "" && installed != csv {
		t.installed = append(t.installed, installed)
	}
}

// isInstalled reports whether a CSV of a plan is installed already, so that the plan does not change the version of its
// Subscription. OLM v0.46 makes such plans (ResolveSteps in pkg/controller/registry/resolver/step_resolver.go): while a plan
// with A.v2 waits, B gets a version too, and OLM makes a plan with A.v2 and B.v2. If the first plan is approved before the
// second, OLM keeps the second as it is. It makes no other plan for B while that one waits.
//
// The state counts, and not installedCSV alone: OLM keeps the installedCSV of a CSV that was deleted, and the plan would
// create that CSV again. OLM sets AtLatestKnown while the CSV exists. A CSV beyond the target does not count either: the
// wrapper of the Subscription may be reinstalling the operator, and OLM may not have written yet that the CSV is gone.
func isInstalled(sub *operators.Subscription, csv, target string) bool {
	return sub.Status.InstalledCSV == csv && sub.Status.State == operators.SubscriptionStateAtLatest && !IsLater(csv, target)
}

// changedBy returns the Subscriptions whose operator a CSV of a plan installs or upgrades. The status of a Subscription
// alone does not tell that: OLM may have found a newer CSV since it made the plan. So changedBy also compares the
// package, and the CSV that the plan's CSV replaces.
func changedBy(csv string, is *bundle, subscriptions []operators.Subscription) (subs []*operators.Subscription) {
	if is == nil {
		is = &bundle{} // the plan has neither a step nor a bundle lookup for this CSV
	}
	for i := range subscriptions {
		sub := &subscriptions[i]
		if sub.Spec == nil {
			continue
		}
		if sub.Status.CurrentCSV == csv || is.provides.Has(packageOf(sub.Spec.Package)) || is.replaces != "" && is.replaces == sub.Status.InstalledCSV {
			subs = append(subs, sub)
		}
	}
	return subs
}

// targetOfOther returns the targetCSV of a Subscription of another wrapper; "" if it has none. Any client can copy the
// annotation from another object, so targetOfOther reads it only if the marks name this very Subscription.
func targetOfOther(sub *operators.Subscription) string {
	if !marks.IsPushed(sub, marks.ObjectPath("subscriptions", operators.GroupName, sub.Namespace, sub.Name)) {
		return ""
	}
	return TargetOf(sub)
}

// step returns the zero Decision if a CSV is on the way from the installed CSV to the target. If it is not, the
// Decision has the reason.
func step(sub *operators.Subscription, csv, target string) Decision {
	if csv == target || sub.Status.InstalledCSV == target {
		return Decision{}
	}
	if installed := sub.Status.InstalledCSV; IsLater(installed, target) {
		return stalled(v1alpha1.ReasonAheadOfTarget, "Subscription %s: %s is installed, which is later than targetCSV %s, and OLM cannot downgrade; raise targetCSV",
			sub.Name, installed, target)
	}
	order, known := Order(csv, target)
	switch {
	case !known:
		return stalled(v1alpha1.ReasonApprovalRequired, "Subscription %s: OLM offers %s, and the name does not show whether this version is before targetCSV %s; approve its InstallPlan "+
			"on the member, or set targetCSV to this version", sub.Name, csv, target)
	case order > 0:
		return stalled(v1alpha1.ReasonUpgradeSkipsTarget, "Subscription %s: OLM goes from %s to %s at once, beyond targetCSV %s; choose a target that the channel reaches%s",
			sub.Name, orNothing(sub.Status.InstalledCSV), csv, target, beforeFirstInstall(sub))
	}
	return Decision{}
}

// bundled returns a decision with the state Degraded. Stalled would fail the rollout at once, but the cause may pass:
// the other Subscription may get the same target soon, or OLM may be about to change its status.
func bundled(format string, args ...any) Decision {
	return Decision{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonInstallPlanBundlesOthers, Message: fmt.Sprintf(format, args...)}
}

func stalled(reason, format string, args ...any) Decision {
	return Decision{State: v1alpha1.StateStalled, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// beforeFirstInstall returns the end of a message: how to make OLM use a new target before the first install. OLM
// chooses no other CSV while a plan waits.
func beforeFirstInstall(sub *operators.Subscription) string {
	if sub.Status.InstalledCSV != "" {
		return ""
	}
	return ", then delete the Subscription on the member: the manager creates it again"
}

func orNothing(csv string) string {
	if csv == "" {
		return "no version"
	}
	return csv
}
