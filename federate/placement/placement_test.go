// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

var fleet = []Member{
	{Name: "east", Labels: map[string]string{"cloud": "aws"}},
	{Name: "west", Labels: map[string]string{"cloud": "aws", "tier": "canary"}},
	{Name: "lab", Labels: map[string]string{"cloud": "onprem"}},
}

func TestDecide(t *testing.T) {
	names := func(n ...string) *v1alpha1.ClusterSelection { return &v1alpha1.ClusterSelection{Names: n} }
	label := func(key, value string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	one := func(of int32) []v1alpha1.Removals {
		return []v1alpha1.Removals{{Since: metav1.NewTime(start.Add(400 * time.Millisecond)), Count: 1, Placed: of}}
	}
	for name, tc := range map[string]struct {
		members  []Member // nil means all members of the variable fleet
		clusters *v1alpha1.ClusterSelection
		previous v1alpha1.PlacementStatus
		want     Decision
	}{
		"names and selectors are united": {
			clusters: &v1alpha1.ClusterSelection{Names: []string{"lab"}, Selectors: []metav1.LabelSelector{label("tier", "canary")}},
			want: Decision{
				Status: v1alpha1.PlacementStatus{Clusters: []string{"lab", "west"}},
				Placed: metav1.ConditionTrue, Reason: v1alpha1.ReasonPlaced, Message: "2 of 3 members",
			},
		},
		"selectors are alternatives": {
			clusters: &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{label("cloud", "onprem"), label("tier", "canary")}},
			want: Decision{
				Status: v1alpha1.PlacementStatus{Clusters: []string{"lab", "west"}},
				Placed: metav1.ConditionTrue, Reason: v1alpha1.ReasonPlaced, Message: "2 of 3 members",
			},
		},
		"the empty selector is everybody": {
			clusters: &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{}}},
			want: Decision{
				Status: v1alpha1.PlacementStatus{Clusters: []string{"east", "lab", "west"}},
				Placed: metav1.ConditionTrue, Reason: v1alpha1.ReasonPlaced, Message: "3 of 3 members",
			},
		},
		"an unknown name is told and the rest served": {
			clusters: names("east", "nowhere"),
			want: Decision{
				Status: v1alpha1.PlacementStatus{Clusters: []string{"east"}, NotFound: []string{"nowhere"}},
				Placed: metav1.ConditionFalse, Reason: v1alpha1.ReasonClusterNotFound,
				Message: "spec.placement.clusters.names: no MemberCluster is named nowhere (see `kubectl get memberclusters`); the one other selected member is served",
			},
		},
		"only unknown names": {
			clusters: names("nowhere", "erewhon"),
			want: Decision{
				Status: v1alpha1.PlacementStatus{NotFound: []string{"erewhon", "nowhere"}},
				Placed: metav1.ConditionFalse, Reason: v1alpha1.ReasonClusterNotFound,
				Message: "spec.placement.clusters.names: no MemberCluster is named erewhon, nowhere (see `kubectl get memberclusters`); no other member is selected",
			},
		},
		"nothing matches": {
			clusters: &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{label("cloud", "gcp")}},
			want: Decision{
				Placed: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoClusterMatches,
				Message: "spec.placement.clusters selects none of the 3 members (see `kubectl get memberclusters --show-labels`)",
			},
		},
		"nothing matches in an empty fleet": {
			members: []Member{}, clusters: &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{}}},
			want: Decision{
				Placed: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoClusterMatches,
				Message: "the fleet has no member yet; `hostctl join` adds one",
			},
		},
		"clusters left out is nobody": {
			clusters: nil,
			want: Decision{
				Placed: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoClusterMatches,
				Message: "spec.placement.clusters selects none of the 3 members (see `kubectl get memberclusters --show-labels`)",
			},
		},
		"who was placed and is not any more leaves": {
			clusters: names("east"),
			previous: v1alpha1.PlacementStatus{Clusters: []string{"east", "west"}},
			want: Decision{
				Status: v1alpha1.PlacementStatus{Clusters: []string{"east"}, Leaving: []string{"west"}, Removals: one(2)},
				Placed: metav1.ConditionTrue, Reason: v1alpha1.ReasonPlaced, Message: "1 of 3 members",
			},
		},
		"who was leaving still is": {
			clusters: names("east"),
			previous: v1alpha1.PlacementStatus{Clusters: []string{"lab"}, Leaving: []string{"west"}},
			want: Decision{
				Status: v1alpha1.PlacementStatus{Clusters: []string{"east"}, Leaving: []string{"lab", "west"}, Removals: one(1)},
				Placed: metav1.ConditionTrue, Reason: v1alpha1.ReasonPlaced, Message: "1 of 3 members",
			},
		},
		"who is back is no longer leaving": {
			clusters: names("east", "west"),
			previous: v1alpha1.PlacementStatus{Clusters: []string{"east"}, Leaving: []string{"west"}},
			want: Decision{
				Status: v1alpha1.PlacementStatus{Clusters: []string{"east", "west"}},
				Placed: metav1.ConditionTrue, Reason: v1alpha1.ReasonPlaced, Message: "2 of 3 members",
			},
		},
		"a member that is gone from the registry is not left, it is forgotten": {
			members: fleet[:1], clusters: names("east"),
			previous: v1alpha1.PlacementStatus{Clusters: []string{"east", "west"}, Leaving: []string{"lab"}},
			want: Decision{
				Status: v1alpha1.PlacementStatus{Clusters: []string{"east"}},
				Placed: metav1.ConditionTrue, Reason: v1alpha1.ReasonPlaced, Message: "1 of 1 member",
			},
		},
		"a named member that is gone from the registry is not found": {
			members: fleet[:1], clusters: names("east", "west"),
			previous: v1alpha1.PlacementStatus{Clusters: []string{"east", "west"}},
			want: Decision{
				Status: v1alpha1.PlacementStatus{Clusters: []string{"east"}, NotFound: []string{"west"}},
				Placed: metav1.ConditionFalse, Reason: v1alpha1.ReasonClusterNotFound,
				Message: "spec.placement.clusters.names: no MemberCluster is named west (see `kubectl get memberclusters`); the one other selected member is served",
			},
		},
		"a registry that reads empty leaves nobody": {
			members: []Member{}, clusters: names("east"),
			previous: v1alpha1.PlacementStatus{Clusters: []string{"east", "west"}, Leaving: []string{"lab"}},
			want: Decision{
				Status: v1alpha1.PlacementStatus{NotFound: []string{"east"}},
				Placed: metav1.ConditionFalse, Reason: v1alpha1.ReasonClusterNotFound,
				Message: "spec.placement.clusters.names: no MemberCluster is named east (see `kubectl get memberclusters`); no other member is selected",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			members := tc.members
			if members == nil {
				members = fleet
			}
			tc.want.Status.ObservedGeneration = 4
			got, err := Decide(Input{
				Wrapper: wrapper(4), Spec: v1alpha1.Placement{Clusters: tc.clusters}, Members: members, Previous: tc.previous,
			}, start)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestASelectorThatDoesNotParseIsAnError(t *testing.T) {
	clusters := &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{}, {MatchLabels: map[string]string{"a b": "c"}}}}
	_, err := Decide(Input{Wrapper: wrapper(1), Spec: v1alpha1.Placement{Clusters: clusters}, Members: fleet}, start)
	if err == nil || !strings.HasPrefix(err.Error(), "placing: spec.placement.clusters: reading selectors[1]: ") {
		t.Errorf("got %v", err)
	}
}

func TestManyUnknownNamesAreCounted(t *testing.T) {
	var names []string
	for i := range 13 {
		names = append(names, fmt.Sprintf("m%02d", i))
	}
	got, err := Decide(Input{
		Wrapper: wrapper(1), Spec: v1alpha1.Placement{Clusters: &v1alpha1.ClusterSelection{Names: names}}, Members: fleet,
	}, start)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Message, "m08, m09 and 3 more (see") || len(got.Status.NotFound) != 13 {
		t.Errorf("got %q and %d names", got.Message, len(got.Status.NotFound))
	}
}

// start is when the tests begin. It has fractions of a second, as real times have.
var start = time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)

func wrapper(generation int64) v1alpha1.WrapperIdentity {
	return v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: "web", UID: "u", Generation: generation}
}

// A decision must not depend on the order of the members and of earlier lists, and a second decision must change
// nothing. A member must be in one list at most, and the wrapper may leave only members on which it was placed.
func TestDecisionsDoNotDependOnOrderAndSettle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var members []Member
		var names, were, left []string
		for i := range 20 {
			name := fmt.Sprintf("m%02d", i)
			if random.IntN(4) > 0 {
				members = append(members, Member{Name: name, Labels: map[string]string{"cloud": fmt.Sprint(random.IntN(3))}})
			}
			switch random.IntN(4) {
			case 0:
				names = append(names, name)
			case 1:
				were = append(were, name)
			case 2:
				left = append(left, name)
			}
		}
		spec := v1alpha1.Placement{Clusters: &v1alpha1.ClusterSelection{
			Names: names, Selectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"cloud": "1"}}},
		}}
		previous := v1alpha1.PlacementStatus{Clusters: were, Leaving: left}
		first := decide(t, spec, members, previous)

		for _, list := range [][]string{names, were, left} {
			random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		if diff := cmp.Diff(first, decide(t, spec, members, previous)); diff != "" {
			t.Fatalf("order matters:\n%s", diff)
		}
		if diff := cmp.Diff(first, decide(t, spec, members, first.Status)); diff != "" {
			t.Fatalf("a decision taken again is another:\n%s", diff)
		}
		if !slices.Equal(first.Status.Withheld, slices.DeleteFunc(slices.Clone(first.Status.Clusters), func(name string) bool {
			return slices.Contains(names, name) || slices.ContainsFunc(members, func(m Member) bool { return m.Name == name && m.Labels["cloud"] == "1" })
		})) {
			t.Fatalf("%v are withheld of %v", first.Status.Withheld, first.Status.Clusters)
		}
		for _, name := range first.Status.Leaving {
			if slices.Contains(first.Status.Clusters, name) {
				t.Fatalf("%s is placed and leaving", name)
			}
			if !slices.Contains(were, name) && !slices.Contains(left, name) {
				t.Fatalf("%s leaves and was never there", name)
			}
		}
	}
}

func decide(t *testing.T, spec v1alpha1.Placement, members []Member, previous v1alpha1.PlacementStatus) Decision {
	t.Helper()
	d, err := Decide(Input{Wrapper: wrapper(1), Spec: spec, Members: members, Previous: previous}, start)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
