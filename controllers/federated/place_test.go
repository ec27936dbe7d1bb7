// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// The manager writes a decision before the push that depends on it. If only the generation of the decision is new, the
// manager writes it later, with the status.
func TestADecisionIsWrittenBeforeThePushUnlessOnlyItsGenerationIsNew(t *testing.T) {
	recent := metav1.NewTime(now.Add(-time.Hour / 2))
	old := metav1.NewTime(now.Add(-2 * time.Hour))
	for name, test := range map[string]struct {
		previous v1alpha1.PlacementStatus
		selects  []string
		written  bool
	}{
		"only the objects have changed":                        {v1alpha1.PlacementStatus{ObservedGeneration: 1, Clusters: []string{"east"}}, []string{"east"}, false},
		"no decision exists yet":                               {v1alpha1.PlacementStatus{}, []string{"east"}, true},
		"a member is added":                                    {v1alpha1.PlacementStatus{ObservedGeneration: 1, Clusters: []string{"east"}}, []string{"east", "west"}, true},
		"a member begins to leave":                             {v1alpha1.PlacementStatus{ObservedGeneration: 1, Clusters: []string{"east", "west"}}, []string{"east"}, true},
		"a member that was leaving is not registered any more": {v1alpha1.PlacementStatus{ObservedGeneration: 1, Clusters: []string{"east"}, Leaving: []string{"gone"}}, []string{"east"}, true},
		"the placement has an unknown name":                    {v1alpha1.PlacementStatus{ObservedGeneration: 1, Clusters: []string{"east"}}, []string{"east", "nowhere"}, true},
		"an expired removal is still in the decision":          {v1alpha1.PlacementStatus{ObservedGeneration: 1, Clusters: []string{"east"}, Removals: []v1alpha1.Removals{{Since: old, Count: 1, Placed: 2}}}, []string{"east"}, false},
		"a removal waits for an Approval, which has to name the new decision": {v1alpha1.PlacementStatus{ObservedGeneration: 1,
			Clusters: []string{"east", "west"}, Withheld: []string{"west"}, Decision: "before",
			Removals: []v1alpha1.Removals{{Since: recent, Count: 1, Placed: 3}}}, []string{"east"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := rendered("u", object, 2)
			w.ResourceVersion, w.Status.Placement = "", test.previous
			w.Spec.Placement.Clusters = &v1alpha1.ClusterSelection{Names: test.selects}
			w.Spec.Rollout.MaxRemoval = new(intstr.FromInt32(1))
			west := east()
			west.Name = "west"
			r, c := host(t, nil, w, east(), west)
			stored := func() *v1alpha1.PlacementStatus {
				found := &v1alpha1.Federated{}
				if err := c.Get(t.Context(), web.NamespacedName, found); err != nil {
					t.Fatal(err)
				}
				w = found
				return &found.Status.Placement
			}
			stored()
			p := &reconciliation{Reconciler: r, key: web, cached: w, wrapper: w.DeepCopy(), now: now, revision: "fed-web-1"}
			for _, step := range []func() error{
				func() error { return p.list(t.Context()) },
				func() error { return p.place(t.Context()) },
			} {
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
			if written := stored().ObservedGeneration == 2; written != test.written {
				t.Errorf("that the decision is written before the push is %t, want the opposite: %+v", written, w.Status.Placement)
			}
			if decided := p.decision.Status; len(decided.Withheld) > 0 && (decided.Decision == "before" || stored().Decision != decided.Decision) {
				t.Errorf("an Approval of the earlier decision would count for the new one: %+v", decided)
			}
			for range 2 { // while a push is under way, the manager writes the status only in the second reconcile
				if _, err := p.publish(t.Context()); err != nil {
					t.Fatal(err)
				}
				p.now = p.now.Add(time.Minute)
			}
			if is := stored().ObservedGeneration; is != 2 {
				t.Errorf("the status has generation %d of the decision", is)
			}
		})
	}
}
