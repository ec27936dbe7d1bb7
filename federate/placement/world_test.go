// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// world is a wrapper and its fleet, while time passes. The wrapper selects the members with the label in: "true".
type world struct {
	t          *testing.T
	now        time.Time
	generation int64
	maxRemoval *intstr.IntOrString
	in         map[string]bool // all MemberClusters by name; the value is true if the member has the label in
	status     v1alpha1.PlacementStatus
	approvals  []v1alpha1.Approval
	last       Decision
}

func newWorld(t *testing.T, members int) *world {
	w := &world{t: t, now: start, generation: 1, in: make(map[string]bool)}
	for i := range members {
		w.in[fmt.Sprintf("m%02d", i)] = true
	}
	w.decide()
	return w
}

// decide makes a decision twice, and checks that the second decision equals the first.
func (w *world) decide() {
	w.t.Helper()
	for i := range 2 {
		in := Input{
			Wrapper: wrapper(w.generation), MaxRemoval: w.maxRemoval, Previous: w.status, Approvals: w.approvals,
			Spec: v1alpha1.Placement{Clusters: &v1alpha1.ClusterSelection{
				Selectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"in": "true"}}},
			}},
		}
		for name, is := range w.in {
			in.Members = append(in.Members, Member{Name: name, Labels: map[string]string{"in": fmt.Sprint(is)}})
		}
		decided, err := Decide(in, w.now)
		if err != nil {
			w.t.Fatal(err)
		}
		if diff := cmp.Diff(w.status, decided.Status); i == 1 && diff != "" {
			w.t.Fatalf("the decision changes when it is taken again:\n%s", diff)
		}
		w.status, w.last = decided.Status, decided
	}
}

// label sets the label "in" of these members, or of all members if names is empty, and then makes a decision.
func (w *world) label(in bool, names ...string) {
	for name := range w.in {
		if len(names) == 0 || slices.Contains(names, name) {
			w.in[name] = in
		}
	}
	w.decide()
}

// left records that the wrapper has left these members completely, and then makes a decision.
func (w *world) left(names ...string) {
	w.status.Leaving = slices.DeleteFunc(w.status.Leaving, func(name string) bool { return slices.Contains(names, name) })
	w.decide()
}

func (w *world) later(d time.Duration) {
	w.now = w.now.Add(d)
	w.decide()
}

func (w *world) approve(names ...string) {
	w.approvals = append(w.approvals, approval(v1alpha1.AllowRemoval, w.status.Decision, names...))
	w.decide()
}

func approval(allow v1alpha1.ApprovedAct, decision string, names ...string) v1alpha1.Approval {
	return v1alpha1.Approval{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", CreationTimestamp: metav1.NewTime(start)},
		Spec: v1alpha1.ApprovalSpec{
			Wrapper: v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: "web", UID: "u"},
			Allow:   allow, Decision: decision, Clusters: names,
		},
	}
}

func (w *world) expect(placed, leaving, withheld int) {
	w.t.Helper()
	got := []int{len(w.status.Clusters), len(w.status.Leaving), len(w.status.Withheld)}
	if diff := cmp.Diff([]int{placed, leaving, withheld}, got); diff != "" {
		w.t.Fatalf("placed, leaving, withheld (-want +got):\n%s", diff)
	}
	if (withheld > 0) != (w.status.Decision != "") || (withheld > 0) != (w.last.Reason == v1alpha1.ReasonRemovalNeedsApproval) ||
		(withheld > 0) == w.last.Again.IsZero() {
		w.t.Fatalf("%d are withheld, the decision is %q, the reason %s, again %s", withheld, w.status.Decision, w.last.Reason, w.last.Again)
	}
}
