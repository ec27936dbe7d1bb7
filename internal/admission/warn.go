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
	// maxWarnings bounds the warnings of one answer. API servers drop warnings past 4 KiB in total.
	maxWarnings = 10
	// maxRegistryWait is how long an answer waits for the list of members. A manager that has just started may not have
	// the list yet. It then accepts a wrapper without warnings about unknown members.
	maxRegistryWait = time.Second
)

// Members returns the registered members. known is false if the registry cannot be read now.
type Members func(ctx context.Context) (fleet []selection.Member, known bool)

// MembersOf reads the registry from a cache.
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
			// A member that is leaving counts as gone, as it does for the placement.
			if list.Items[i].DeletionTimestamp == nil {
				fleet = append(fleet, selection.Member{Name: list.Items[i].Name, Labels: list.Items[i].Labels})
			}
		}
		return fleet, true
	}
}

// warnings returns the warnings for the author of an accepted wrapper. plan is that of its spec.rollout.
func (m Members) warnings(ctx context.Context, spec *v1alpha1.WrapperSpec, plan *rollout.Plan) []string {
	var out []string
	if fleet, known := m(ctx); known {
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
	if over := len(out) - maxWarnings; over > 0 {
		out = append(out[:maxWarnings], fmt.Sprintf("%d more warnings are left out", over))
	}
	return out
}

// placed are the members that the placement selects.
func placed(spec *v1alpha1.WrapperSpec, fleet []selection.Member) []selection.Member {
	if spec.Placement.Clusters == nil {
		return nil
	}
	selected, err := selection.New(spec.Placement.Clusters)
	if err != nil {
		return nil // Validate refuses it
	}
	return slices.DeleteFunc(fleet, func(m selection.Member) bool { return !selected.Selects(m) })
}
