// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// The status of a wrapper was lost, or the wrapper was created again from Git. So there is no previous decision, and
// the manager does not rebuild it from the members. The new decision must still be the one that the manager would make
// if it had the previous decision. A placement that chose only some of the selected members would fail this test;
// invariant 3 of docs/design.md says what such a placement would need.
func TestALostDecisionIsMadeAgainAndLeavesNoMember(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 20))
	known := 0
	for n := range 20_000 {
		in, now := anyInput(r), time.Unix(r.Int64N(1<<31), r.Int64N(1e9))
		lost, err := Decide(in, now)
		if err != nil {
			continue
		}
		if s := lost.Status; len(s.Leaving)+len(s.Withheld)+len(s.Removals) > 0 || s.Decision != "" {
			t.Fatalf("input %d: members are left although nobody knows that they were placed: %+v", n, s)
		}
		for _, name := range lost.Status.Clusters {
			if r.IntN(2) == 0 {
				in.Previous.Clusters = append(in.Previous.Clusters, name)
			}
		}
		known += len(in.Previous.Clusters)
		rebuilt, err := Decide(in, now)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(rebuilt, lost) {
			t.Fatalf("input %d: it makes a difference that %v are known to be placed (-known +lost):\n%s",
				n, in.Previous.Clusters, cmp.Diff(rebuilt, lost))
		}
	}
	if known < 20_000 {
		t.Errorf("the inputs place too little to tell anything: %d in all", known)
	}
}

// anyInput returns a random wrapper without a previous decision, in a fleet of up to 12 members.
func anyInput(r *rand.Rand) Input {
	names := func(most int) (some []string) {
		for range r.IntN(most) {
			some = append(some, fmt.Sprintf("m%02d", r.IntN(14)))
		}
		return some
	}
	in := Input{Wrapper: wrapper(1 + r.Int64N(3))}
	for i := range r.IntN(13) {
		in.Members = append(in.Members, Member{Name: fmt.Sprintf("m%02d", i),
			Labels: map[string]string{"a": fmt.Sprint(r.IntN(3)), "b": fmt.Sprint(r.IntN(2))}})
	}
	r.Shuffle(len(in.Members), func(i, j int) { in.Members[i], in.Members[j] = in.Members[j], in.Members[i] })
	if r.IntN(20) > 0 {
		in.Spec.Clusters = &v1alpha1.ClusterSelection{Names: names(6)}
		for range r.IntN(3) {
			selector := metav1.LabelSelector{MatchLabels: map[string]string{"a": fmt.Sprint(r.IntN(3))}}
			switch r.IntN(6) {
			case 0:
				selector = metav1.LabelSelector{}
			case 1:
				selector.MatchExpressions = []metav1.LabelSelectorRequirement{
					{Key: "b", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"1"}}}
			case 2:
				selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "b", Operator: "Near"}}
			}
			in.Spec.Clusters.Selectors = append(in.Spec.Clusters.Selectors, selector)
		}
	}
	switch r.IntN(4) {
	case 0:
		in.MaxRemoval = new(intstr.FromInt32(r.Int32N(4)))
	case 1:
		in.MaxRemoval = new(intstr.FromString(fmt.Sprintf("%d%%", r.IntN(101))))
	}
	for range r.IntN(3) {
		allow := []v1alpha1.ApprovedAct{v1alpha1.AllowRemoval, v1alpha1.AllowRelease}[r.IntN(2)]
		in.Approvals = append(in.Approvals, approval(allow, []string{"", "d"}[r.IntN(2)], names(5)...))
	}
	return in
}
