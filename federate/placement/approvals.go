// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// approves reports whether an Approval permits an action on a wrapper. The uid must match, so an Approval for an
// earlier wrapper of the same name has no effect.
func approves(a *v1alpha1.Approval, act v1alpha1.ApprovedAct, id v1alpha1.WrapperIdentity) bool {
	return a.Spec.Allow == act && a.DeletionTimestamp == nil && a.Namespace == id.Beside() &&
		a.Spec.Wrapper == v1alpha1.WrapperReference{Kind: id.Kind, Name: id.Name, UID: id.UID}
}

// approvedRemovals returns the members whose removal a person approved. decision is the value of
// status.placement.decision that the Approvals must name.
func approvedRemovals(in *Input, decision string) map[string]bool {
	all := make(map[string]bool)
	if decision == "" {
		return all
	}
	for i := range in.Approvals {
		a := &in.Approvals[i]
		if approves(a, v1alpha1.AllowRemoval, in.Wrapper) && a.Spec.Decision == decision {
			for _, name := range a.Spec.Clusters {
				all[name] = true
			}
		}
	}
	return all
}

// Release evaluates the Approvals with `allow: Release`. The parameter leaving has the members that the wrapper is
// leaving, and the parameter before has the earlier releases. Release returns two lists:
//   - still: the members that the wrapper is leaving and that no new Approval releases. The manager goes on waiting for
//     them.
//   - used: the earlier and the new releases, sorted by name.
//
// Each Approval counts once. An Approval for a member that the wrapper is not leaving is used up too, so a later removal
// needs a newer Approval.
func Release(id v1alpha1.WrapperIdentity, leaving []string, before []v1alpha1.ReleasedCluster, approvals []v1alpha1.Approval,
) (still []string, used []v1alpha1.ReleasedCluster) {
	at := make(map[string]v1alpha1.ReleasedCluster, len(before))
	for _, r := range before {
		at[r.Name] = r
	}
	newly := make(map[string]bool)
	for i := range approvals {
		a := &approvals[i]
		if !approves(a, v1alpha1.AllowRelease, id) {
			continue
		}
		for _, name := range a.Spec.Clusters {
			if at[name].Approved.Time.Before(a.CreationTimestamp.Time) {
				at[name] = v1alpha1.ReleasedCluster{Name: name, Approved: a.CreationTimestamp}
				newly[name] = true
			}
		}
	}
	for _, name := range leaving {
		if !newly[name] {
			still = append(still, name)
		}
	}
	for _, r := range at {
		used = append(used, r)
	}
	slices.SortFunc(used, func(a, b v1alpha1.ReleasedCluster) int { return strings.Compare(a.Name, b.Name) })
	return still, used
}
