// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"fmt"
	"slices"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// maxNamed is how many CSVs or Subscriptions of other owners a message names.
const maxNamed = 3

// Decision says what the manager does with an InstallPlan. Without Approve and without a Reason there is nothing to do: OLM has
// not finished the plan, or it is approved.
type Decision struct {
	// Approve reports whether the manager approves the plan.
	Approve bool
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
	by := make(map[string]*operators.Subscription, len(subscriptions))
	for i := range subscriptions {
		by[subscriptions[i].Status.CurrentCSV] = &subscriptions[i]
	}
	wanted := false
	var others, agreed, unnamed []string
	for _, csv := range plan.Spec.ClusterServiceVersionNames {
		sub := by[csv]
		if sub == nil {
			unnamed = append(unnamed, csv)
			continue
		}
		target, ours := targets[sub.Name]
		if !ours {
			target = sub.Annotations[v1alpha1.AnnotationTargetCSV]
		}
		problem := Decision{}
		if target != "" {
			problem = step(sub, csv, target)
		}
		switch {
		case ours && problem.Reason != "":
			return problem
		case target != "" && problem.Reason == "" && sub.Status.InstalledCSV != target, target == "" && sub.Spec.InstallPlanApproval != operators.ApprovalManual:
			agreed, wanted = append(agreed, csv), wanted || ours
		default:
			others = append(others, fmt.Sprintf("%s of Subscription %s", csv, sub.Name))
		}
	}
	if !wanted {
		return Decision{} // the wrapper has its targets, and the plan goes beyond them
	}
	others = append(others, notRequired(plan, agreed, unnamed)...)
	if len(others) > 0 {
		slices.Sort(others)
		return stalled(v1alpha1.ReasonInstallPlanBundlesOthers, "InstallPlan %s also changes %s: approve it on the member if their owners agree, or use another namespace",
			plan.Name, messages.Few(others, maxNamed))
	}
	return Decision{Approve: true}
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
		return stalled(v1alpha1.ReasonUpgradeSkipsTarget, "Subscription %s: OLM goes from %s to %s at once, beyond targetCSV %s; choose a target that the channel reaches",
			sub.Name, orNothing(sub.Status.InstalledCSV), csv, target)
	}
	return Decision{}
}

func stalled(reason, format string, args ...any) Decision {
	return Decision{State: v1alpha1.StateStalled, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func orNothing(csv string) string {
	if csv == "" {
		return "no version"
	}
	return csv
}
