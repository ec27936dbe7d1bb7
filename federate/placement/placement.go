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

// Member is a MemberCluster as placement sees it.
type Member = selection.Member

// Input is what a decision is made of.
type Input struct {
	// Wrapper is whom it is for.
	Wrapper v1alpha1.WrapperIdentity
	// Spec is where its author wants it.
	Spec v1alpha1.Placement
	// Overrides are spec.overrides, of which only the names of clusters are read.
	Overrides []v1alpha1.Override
	// MaxRemoval is spec.rollout.maxRemoval; nil is the default.
	MaxRemoval *intstr.IntOrString
	// Members are all that are registered, in any order.
	Members []Member
	// Previous is the decision that stands, without those that have been left by now.
	Previous v1alpha1.PlacementStatus
	// Approvals are what people have said; those for other wrappers do no harm.
	Approvals []v1alpha1.Approval
}

// Decision is where the objects are to stand, and what to say about it.
type Decision struct {
	// Status is status.placement, every list of it sorted.
	Status v1alpha1.PlacementStatus
	// Placed, Reason and Message are those of the condition Placed.
	Placed  metav1.ConditionStatus
	Reason  string
	Message string
	// Notice says which names in overrides no MemberCluster has, "" when there are none. Placed stays as it is: the
	// members are served, and an override may be written before its member joins.
	Notice string
	// Again is when another decision may let more members go without an action of a person; zero when no member
	// waits.
	Again time.Time
}

// Decide places a wrapper on members, after the previous decision. It fails only where a selector or
// maxRemoval does not parse; then the previous decision stands.
func Decide(in Input, now time.Time) (Decision, error) {
	if in.Spec.Clusters == nil {
		// Left out is not "everywhere": nothing goes anywhere by leaving a field out.
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
	pace, err := in.pace(known, now)
	if err != nil {
		return Decision{}, err
	}
	status.Clusters = sorted(append(status.Clusters, pace.withheld...))
	status.Withheld, status.Decision, status.Removals = pace.withheld, pace.decision, pace.removals
	in.leave(&status, known, pace.going)
	if in.differsOnlyInAge(status, now) {
		// That a removal is an hour old is no news: a host at rest writes nothing.
		status.Removals = in.Previous.Removals
	}

	decision := Decision{Status: status, Notice: notice(unknownInOverrides(in.Overrides, registered))}
	if len(status.Withheld) > 0 {
		decision.Again = pace.again
	}
	decision.explain(in, pace, selected)
	return decision, nil
}

// leave fills in the members that are being left, and what people have said about waiting for members.
func (in *Input) leave(status *v1alpha1.PlacementStatus, known map[string]bool, going []string) {
	leaving := slices.Clone(going)
	for _, name := range in.Previous.Leaving {
		if selected, exists := known[name]; exists && !selected && !slices.Contains(status.Withheld, name) {
			leaving = append(leaving, name)
		}
	}
	leaving = sorted(leaving)
	still, heard := Release(in.Wrapper, sorted(leaving), in.Previous.Released, in.Approvals)
	status.Leaving = still
	for _, r := range heard {
		if _, exists := known[r.Name]; exists {
			status.Released = append(status.Released, r)
		}
	}
}

// differsOnlyInAge reports whether nothing has changed but that removals grew old. One of the future, which a
// clock that was set back leaves behind, is to be written anew, or it would never grow old.
func (in *Input) differsOnlyInAge(status v1alpha1.PlacementStatus, now time.Time) bool {
	latest := wholeSecond(now)
	for _, r := range in.Previous.Removals {
		if r.Since.After(latest.Time) {
			return false
		}
	}
	status.Removals = in.Previous.Removals
	return equality.Semantic.DeepEqual(status, in.Previous)
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
