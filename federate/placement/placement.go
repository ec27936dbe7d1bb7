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

// Member is the part of a MemberCluster that placement uses.
type Member = selection.Member

// Input is the input of a decision.
type Input struct {
	// Wrapper is the wrapper of the decision.
	Wrapper v1alpha1.WrapperIdentity
	// Spec is the spec's placement.
	Spec v1alpha1.Placement
	// Overrides are spec.overrides. Only their names of clusters are used.
	Overrides []v1alpha1.Override
	// MaxRemoval is spec.rollout.maxRemoval; nil stands for the default.
	MaxRemoval *intstr.IntOrString
	// Members are all MemberClusters, in any order.
	Members []Member
	// Previous is the previous decision, without the members that the wrapper has left by now.
	Previous v1alpha1.PlacementStatus
	// Approvals are Approvals of this wrapper; those of other wrappers are ignored.
	Approvals []v1alpha1.Approval
}

// Decision is the placement, and its condition.
type Decision struct {
	// Status is status.placement, every list of it sorted.
	Status v1alpha1.PlacementStatus
	// Placed, Reason and Message are the condition Placed.
	Placed  metav1.ConditionStatus
	Reason  string
	Message string
	// Notice lists the names in overrides without a MemberCluster; "" if there are none. Placed stays unchanged: the
	// manager serves the members, and an author may write an override before its member joins.
	Notice string
	// Again is when a later decision may begin more removals without an Approval; zero if no member waits.
	Again time.Time
}

// Decide decides on the members of a wrapper, based on the previous decision. It only fails if a selector or maxRemoval
// does not parse. Then the previous decision stays.
func Decide(in Input, now time.Time) (Decision, error) {
	if in.Spec.Clusters == nil {
		// A missing selection is not "everywhere": a missing field never selects a member.
		in.Spec.Clusters = &v1alpha1.ClusterSelection{}
	}
	clusters, err := selection.New(in.Spec.Clusters)
	if err != nil {
		return Decision{}, fmt.Errorf("placing: spec.placement.clusters: %w", err)
	}

	known := make(map[string]bool, len(in.Members)) // by name; true when selected
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
		// A removal that grows older than an hour causes no write: a host at rest writes nothing.
		status.Removals = in.Previous.Removals
	}

	decision := Decision{Status: status, Notice: notice(unknownInOverrides(in.Overrides, registered))}
	if len(status.Withheld) > 0 {
		decision.Again = limited.again
	}
	decision.explain(in, limited, selected)
	return decision, nil
}

// leave sets the leaving and the released members.
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

// differsOnlyInAge reports whether the decision differs from the previous one only in its generation, and in removals that
// expired. A removal in the future, which a clock that was set back leaves behind, has to be rewritten. Otherwise it would
// never expire.
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
