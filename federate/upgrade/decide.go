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

// maxNamed is how many CSVs or Subscriptions of other owners a message names.
const maxNamed = 3

// Decision says what the manager does with an InstallPlan. Without Approve and without a Reason there is nothing to do: OLM has
// not finished the plan, or it is approved.
type Decision struct {
	// Approve reports whether the manager approves the plan, once each CSV in Installed has succeeded. These are the installed
	// versions of the wrapper's Subscriptions that the plan upgrades: OLM would replace one that does not run.
	Approve   bool
	Installed []string
	// State, Reason and Message tell why the manager does not approve the plan. A person has to act then.
	State           v1alpha1.ClusterState
	Reason, Message string
}

// Decide reports whether the manager may approve an InstallPlan. subscriptions are all Subscriptions in the plan's namespace,
// and targets has the target of each one that is an object of the wrapper and is named in its spec.upgrade.
//
// OLM puts the changes of all Subscriptions of a namespace into one plan, so one approval changes them all. The manager
// approves it only if each CSV in it meets one of these: a wrapper wants the CSV, or one on the way to it; its Subscription
// says Automatic, so its owner has agreed; or no Subscription names it, and a CSV that passes requires it.
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
		return Decision{} // the wrapper has its targets, and the plan goes beyond them
	}
	others := slices.Concat(t.others, notRequired(bundles, t.agreed, t.unnamed))
	switch {
	case len(others) > 0:
		slices.Sort(others)
		return bundled("InstallPlan %s also changes %s: approve it on the member if their owners agree, or use another namespace", plan.Name, messages.Few(others, maxNamed))
	case len(t.ahead) > 0:
		slices.Sort(t.ahead)
		return bundled("InstallPlan %s also takes Subscription %s of this wrapper beyond its targetCSV: raise that targetCSV too, or give it a namespace of its own",
			plan.Name, messages.Few(t.ahead, maxNamed))
	}
	slices.Sort(t.installed)
	return Decision{Approve: true, Installed: slices.Compact(t.installed)}
}

// tally sorts the CSVs of a plan by what their owners say.
type tally struct {
	targets map[string]string
	// wanted reports whether the wrapper wants one of the CSVs.
	wanted bool
	// agreed are the CSVs that pass. others are those of owners who have not agreed, ahead the wrapper's Subscriptions that have
	// their targets, unnamed the CSVs of no Subscription, and installed the CSVs that the plan replaces for the wrapper.
	agreed, others, ahead, unnamed, installed []string
}

// count adds a CSV of one Subscription. If final is true, the decision is made.
func (t *tally) count(csv string, sub *operators.Subscription) (final bool, is Decision) {
	if sub.Status.CurrentCSV != csv {
		// OLM has found a later CSV for this Subscription, and has put it into a newer plan. Executed now, the old plan would install
		// a CSV that no Subscription names, and OLM could then resolve nothing in the namespace. Or OLM is just writing the status.
		return true, Decision{}
	}
	target, ours := t.targets[sub.Name]
	if !ours {
		target = targetOfOther(sub)
	}
	problem := Decision{}
	if target != "" {
		problem = step(sub, csv, target)
	}
	if ours && problem.Reason != "" {
		return true, problem
	}
	automatic := target == "" && sub.Spec.InstallPlanApproval != operators.ApprovalManual
	has := target != "" && sub.Status.InstalledCSV == target
	switch {
	case automatic, target != "" && problem.Reason == "" && !has:
		t.agreed, t.wanted = append(t.agreed, csv), t.wanted || ours && sub.Status.InstalledCSV != csv
	case ours && has:
		t.ahead = append(t.ahead, sub.Name)
	default:
		t.others = append(t.others, fmt.Sprintf("%s of Subscription %s", csv, sub.Name))
	}
	if ours && sub.Status.InstalledCSV != "" {
		t.installed = append(t.installed, sub.Status.InstalledCSV)
	}
	return false, Decision{}
}

// changedBy are the Subscriptions whose operator a CSV of a plan installs or upgrades. A Subscription's status names the newest CSV
// that OLM has found for it, and OLM may have found another one since it made the plan. So its package counts too, and the CSV that
// the new one replaces.
func changedBy(csv string, is bundle, subscriptions []operators.Subscription) (subs []*operators.Subscription) {
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

// targetOfOther is the target of a Subscription that is not the wrapper's; "" if it has none. A client can copy the annotation to
// another object, so it counts only where the marks name this very object.
func targetOfOther(sub *operators.Subscription) string {
	if !marks.IsPushed(sub, marks.ObjectPath("subscriptions", operators.GroupName, sub.Namespace, sub.Name)) {
		return ""
	}
	return sub.Annotations[v1alpha1.AnnotationTargetCSV]
}

// step reports why a CSV is no step on the way from what is installed to the target; the zero value if it is one.
func step(sub *operators.Subscription, csv, target string) Decision {
	if csv == target || sub.Status.InstalledCSV == target {
		return Decision{}
	}
	if installed := sub.Status.InstalledCSV; installed != "" {
		if order, known := Order(installed, target); known && order > 0 {
			return stalled(v1alpha1.ReasonAheadOfTarget, "Subscription %s: %s is installed, which is later than targetCSV %s, and OLM cannot downgrade; raise targetCSV",
				sub.Name, installed, target)
		}
	}
	order, known := Order(csv, target)
	switch {
	case !known:
		return stalled(v1alpha1.ReasonApprovalRequired, "Subscription %s: OLM offers %s, and its name does not tell whether that is before targetCSV %s; approve its InstallPlan "+
			"on the member, or make it the target", sub.Name, csv, target)
	case order > 0:
		return stalled(v1alpha1.ReasonUpgradeSkipsTarget, "Subscription %s: OLM goes from %s to %s at once, beyond targetCSV %s; choose a target that the channel reaches%s",
			sub.Name, orNothing(sub.Status.InstalledCSV), csv, target, beforeFirstInstall(sub))
	}
	return Decision{}
}

// bundled is not Stalled, which fails a rollout at once: the other Subscription may get the same target soon, or OLM may be writing it.
func bundled(format string, args ...any) Decision {
	return Decision{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonInstallPlanBundlesOthers, Message: fmt.Sprintf(format, args...)}
}

func stalled(reason, format string, args ...any) Decision {
	return Decision{State: v1alpha1.StateStalled, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// beforeFirstInstall says how OLM comes to take a new target into account: it chooses no other CSV while a plan waits.
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
