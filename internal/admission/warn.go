// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/placement"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

const (
	// maxWarnings is the largest number of warnings in one response. API servers drop warnings past 4 KiB in total.
	maxWarnings = 10
	// maxRegistryWait is how long a review waits for the list of MemberClusters. A manager that has just started may need
	// longer to read the list; the webhook then accepts a wrapper without warnings about unknown members.
	maxRegistryWait = time.Second
)

// Members returns the registered members. known is false if the registry cannot be read now.
type Members func(ctx context.Context) (fleet []selection.Member, known bool)

// MembersOf returns a Members that reads the registry from a cache.
func MembersOf(cache client.Reader) Members {
	return func(ctx context.Context) ([]selection.Member, bool) {
		ctx, cancel := context.WithTimeout(ctx, maxRegistryWait)
		defer cancel()
		list := &v1alpha1.MemberClusterList{}
		if err := cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, false
		}
		fleet := make([]selection.Member, 0, len(list.Items))
		for i := range list.Items {
			// A MemberCluster that is being deleted is left out, because no placement selects it.
			if list.Items[i].DeletionTimestamp == nil {
				fleet = append(fleet, selection.Member{Name: list.Items[i].Name, Labels: list.Items[i].Labels})
			}
		}
		return fleet, true
	}
}

// warnings returns the warnings for the author of an accepted wrapper. The parameter plan was made from the wrapper's
// spec.rollout. The parameter before is the earlier spec; nil if the wrapper is new.
func (v validation) warnings(ctx context.Context, before, spec *v1alpha1.WrapperSpec, plan *rollout.Plan) []string {
	var out []string
	if fleet, known := v.members(ctx); known {
		names := make(map[string]bool, len(fleet))
		for _, member := range fleet {
			names[member.Name] = true
		}
		for _, unknown := range placement.UnknownNames(spec, func(name string) bool { return names[name] }) {
			out = append(out, unknown.String())
		}
		if spec.Rollout.IsPaced() {
			out = append(out, plan.Warnings(placed(spec, fleet))...)
		}
	}
	out = append(out, overrides.Warnings(spec)...)
	out = append(out, unorderedTargets(spec)...)
	out = append(out, latestAtOnce(spec)...)
	out = append(out, becomingManual(before, spec)...)
	out = append(out, refusedDowngrades(spec)...)
	if spec.Upgrade.Reinstalls() && !v.reinstallsOperators {
		out = append(out, "spec.upgrade.rollback: Reinstall has no effect, because the manager runs without --reinstall-operators")
	}
	if over := len(out) - maxWarnings; over > 0 {
		out = append(out[:maxWarnings], fmt.Sprintf("%d more warnings are left out", over))
	}
	return out
}

// placed returns the members that the placement selects.
func placed(spec *v1alpha1.WrapperSpec, fleet []selection.Member) []selection.Member {
	if spec.Placement.Clusters == nil {
		return nil
	}
	selected, err := selection.New(spec.Placement.Clusters)
	if err != nil {
		return nil // validate has refused invalid selectors before
	}
	return slices.DeleteFunc(fleet, func(m selection.Member) bool { return !selected.Selects(m) })
}
