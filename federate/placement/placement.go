// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// Member is the name and the labels of a MemberCluster.
type Member = selection.Member

// Input is what a decision depends on.
type Input struct {
	// Wrapper is the wrapper of the decision.
	Wrapper v1alpha1.WrapperIdentity
	// Spec is spec.placement of the wrapper.
	Spec v1alpha1.Placement
	// Overrides are spec.overrides. Decide only reads the names of members in them, to report names without a
	// MemberCluster.
	Overrides []v1alpha1.Override
	// MaxRemoval is spec.rollout.maxRemoval; nil means DefaultMaxRemoval.
	MaxRemoval *intstr.IntOrString
	// Members are all MemberClusters, in any order.
	Members []Member
	// Previous is the previous decision. Previous.Leaving has only members that the wrapper has not left completely
	// yet; the caller takes the others off this list.
	Previous v1alpha1.PlacementStatus
	// Approvals may also contain Approvals of other wrappers, which Decide ignores.
	Approvals []v1alpha1.Approval
}

// Decision is the new status.placement, and the content of the condition Placed.
type Decision struct {
	// Status is status.placement. Each of its lists is sorted.
	Status v1alpha1.PlacementStatus
	// Placed is the status of the condition Placed, Reason its reason, and Message its message.
	Placed  metav1.ConditionStatus
	Reason  string
	Message string
	// Notice lists the names in overrides for which no MemberCluster exists; "" if there are none. Such names do not
	// make Placed False, because an author may write an override before its member joins.
	Notice string
	// Again is the time at which more removals may begin without an Approval; zero if no removal waits.
	Again time.Time
}

// Decide decides which members get the wrapper, based on the previous decision. It returns an error if a selector or
// maxRemoval is invalid. The caller then keeps the previous decision.
func Decide(in Input, now time.Time) (Decision, error) {
	if in.Spec.Clusters == nil {
		// A nil selection would select every member, but a missing field must never select a member.
		in.Spec.Clusters = &v1alpha1.ClusterSelection{}
	}
	clusters, err := selection.New(in.Spec.Clusters)
	if err != nil {
		return Decision{}, fmt.Errorf("placing: spec.placement.clusters: %w", err)
	}

	known := make(map[string]bool, len(in.Members)) // all MemberClusters by name; the value is true if the placement selects the member
	status := v1alpha1.PlacementStatus{ObservedGeneration: in.Wrapper.Generation}
	for _, m := range in.Members {
		known[m.Name] = clusters.Selects(m)
		if known[m.Name] {
			status.Clusters = append(status.Clusters, m.Name)
		}
	}
	registered := func(name string) bool { _, exists := known[name]; return exists }
	status.NotFound = unknownIn(in.Spec.Clusters, registered)
	selected := len(status.Clusters)
	limited, err := in.limitRemovals(known, now)
	if err != nil {
		return Decision{}, err
	}
	status.Clusters = sorted(append(status.Clusters, limited.withheld...))
	status.Withheld, status.Decision, status.Removals = limited.withheld, limited.decision, limited.removals
	in.leave(&status, known, limited.going)
	if in.differsOnlyInAge(status, now) {
		// Only the age of a removal has changed. The status keeps the old removals, so that an idle host writes
		// nothing.
		status.Removals = in.Previous.Removals
	}

	decision := Decision{Status: status, Notice: notice(unknownInOverrides(in.Overrides, registered))}
	if len(status.Withheld) > 0 {
		decision.Again = limited.again
	}
	decision.explain(in, limited, selected)
	return decision, nil
}

// leave computes the fields leaving and released of the new status. The parameter going has the members whose removal
// begins now.
func (in *Input) leave(status *v1alpha1.PlacementStatus, known map[string]bool, going []string) {
	leaving := slices.Clone(going)
	for _, name := range in.Previous.Leaving {
		if selected, exists := known[name]; exists && !selected && !slices.Contains(status.Withheld, name) {
			leaving = append(leaving, name)
		}
	}
	leaving = sorted(leaving)
	still, used := Release(in.Wrapper, sorted(leaving), in.Previous.Released, in.Approvals)
	status.Leaving = still
	for _, r := range used {
		if _, exists := known[r.Name]; exists {
			status.Released = append(status.Released, r)
		}
	}
}

// differsOnlyInAge reports whether the decision differs from the previous one at most in its generation and in the ages
// of removals. It returns false if a removal has a time in the future, because the clock was set back and the manager
// has to write the corrected time. Without that write, each decision would set the time to that of the decision, and
// the removal would never become an hour old.
func (in *Input) differsOnlyInAge(status v1alpha1.PlacementStatus, now time.Time) bool {
	latest := wholeSecond(now)
	for _, r := range in.Previous.Removals {
		if r.Since.After(latest.Time) {
			return false
		}
	}
	status.Removals, status.ObservedGeneration = in.Previous.Removals, in.Previous.ObservedGeneration
	return equality.Semantic.DeepEqual(status, in.Previous)
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
