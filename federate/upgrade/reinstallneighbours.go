// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"slices"
	"strings"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// The rules in this file are about the other operators of the namespace.

// keepsShared objects if the manager might not be allowed to create the Subscription again, because of other Subscriptions.
func keepsShared(o *Operator, sub *operators.Subscription, _ *Removal, _ time.Time) string {
	if o.SharesNamespace {
		return ""
	}
	var others []string
	for i := range o.Subscriptions {
		s := &o.Subscriptions[i]
		if s.Name != sub.Name && !IsGenerated(s) && s.Labels[v1alpha1.LabelUID] != string(o.Wrapper) {
			others = append(others, s.Name)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return "the namespace has Subscription " + messages.Few(others, maxNamed) + " of another owner; set spec.upgrade.sharedNamespace: Allow, or use another namespace"
}

// keepsBundled objects beside another Manual Subscription that OLM is about to install or upgrade. OLM would put that step and the
// reinstalled operator into one InstallPlan, and the manager approves no plan whose other owners have not agreed.
func keepsBundled(o *Operator, sub *operators.Subscription, _ *Removal, _ time.Time) string {
	for i := range o.Subscriptions {
		s := &o.Subscriptions[i]
		if s.Name == sub.Name || s.Spec == nil || s.Spec.InstallPlanApproval != operators.ApprovalManual {
			continue
		}
		next := s.Status.CurrentCSV
		if next == s.Status.InstalledCSV {
			next = o.pendingFor(s)
		}
		if next == "" && s.Status.InstalledCSV != "" {
			continue
		}
		if next == "" {
			next = "its first version" // OLM has not resolved it yet
		}
		return "Subscription " + s.Name + " waits for " + next + ", and OLM would put that and " + o.Target +
			" into one InstallPlan, which the manager may not approve; approve the InstallPlan of " + s.Name + ", or remove that Subscription, first"
	}
	return ""
}

// pendingFor returns a CSV that an InstallPlan without approval would install for a Subscription; "" if there is none.
func (o *Operator) pendingFor(sub *operators.Subscription) string {
	for i := range o.Facts.Plans {
		plan := &o.Facts.Plans[i]
		if plan.Spec.Approved || plan.Status.Phase == operators.InstallPlanPhaseComplete || plan.Status.Phase == operators.InstallPlanPhaseFailed {
			continue
		}
		bundles := bundlesOf(plan)
		for _, csv := range plan.Spec.ClusterServiceVersionNames {
			if csv != sub.Status.InstalledCSV && len(changedBy(csv, bundles[csv], []operators.Subscription{*sub})) > 0 {
				return csv + " of InstallPlan " + plan.Name
			}
		}
	}
	return ""
}

// keepsUnresolved objects if OLM cannot resolve another Subscription of the namespace. OLM then installs nothing there.
func keepsUnresolved(o *Operator, sub *operators.Subscription, _ *Removal, _ time.Time) string {
	for i := range o.Subscriptions {
		s := &o.Subscriptions[i]
		for j := range s.Status.Conditions {
			if c := &s.Status.Conditions[j]; s.Name != sub.Name && c.Type == operators.SubscriptionResolutionFailed && c.Status == "True" {
				return "OLM reports ResolutionFailed for Subscription " + s.Name + ", so it would install nothing in the namespace; mend or remove that Subscription first"
			}
		}
	}
	return ""
}

// keepsRequired objects if another operator of the namespace needs this one, or provides the same API. With a second provider
// that no Subscription names, OLM would resolve nothing in the namespace.
func keepsRequired(o *Operator, sub *operators.Subscription, r *Removal, _ time.Time) string {
	removed := func(csv *CSV) bool { return slices.Contains(r.CSVs, csv.Object) }
	owned := sets.New[string]()
	if sub.Spec != nil {
		owned.Insert(packageOf(sub.Spec.Package))
	}
	for i := range o.CSVs {
		if csv := &o.CSVs[i]; removed(csv) {
			for _, api := range csv.Owned {
				owned.Insert(withoutVersion(api))
			}
		}
	}
	for i := range o.CSVs {
		csv := &o.CSVs[i]
		if removed(csv) {
			continue
		}
		for _, what := range csv.Required {
			if owned.Has(withoutVersion(what)) {
				return "ClusterServiceVersion " + csv.Name + " requires " + strings.TrimPrefix(what, "api ") + ", which this operator provides; remove that operator first"
			}
		}
		for _, api := range csv.Owned {
			if owned.Has(withoutVersion(api)) {
				return "ClusterServiceVersion " + csv.Name + " provides " + strings.TrimPrefix(api, "api ") + ", too, so OLM would install nothing; delete it on the member if it is not in use"
			}
		}
	}
	return ""
}

// withoutVersion returns an API of apiOf without its version: another version is served by the same operator. It returns any
// other text as it is.
func withoutVersion(api string) string {
	group, rest, _ := strings.Cut(api, "/")
	_, kind, isAPI := strings.Cut(rest, "/")
	if !isAPI {
		return api
	}
	return group + "/" + kind
}
