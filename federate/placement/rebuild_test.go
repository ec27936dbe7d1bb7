// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestADecisionIsRebuiltFromSealedDeliveriesThatTheSpecAdmits(t *testing.T) {
	members := []Member{{Name: "east"}, {Name: "north"}, {Name: "west"}}
	names := func(names ...string) v1alpha1.Placement {
		return v1alpha1.Placement{Clusters: &v1alpha1.ClusterSelection{Names: names}}
	}
	broken := v1alpha1.Placement{Clusters: &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "cloud", Operator: "Near"}}}}}}
	for name, test := range map[string]struct {
		spec   v1alpha1.Placement
		sealed []string
		want   []string
	}{
		"what is sealed and admitted":                {names("east", "west"), []string{"west", "east"}, []string{"east", "west"}},
		"what is admitted and not sealed":            {names("east", "west"), []string{"west"}, []string{"west"}},
		"what is sealed and not admitted any more":   {names("east"), []string{"east", "west"}, []string{"east"}},
		"what is sealed of a member that is no more": {names("south"), []string{"south"}, nil},
		"nothing is sealed":                          {names("east"), nil, nil},
		"a spec without clusters":                    {v1alpha1.Placement{}, []string{"east"}, nil},
		"a selector that cannot be read":             {broken, []string{"east"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Rebuild(test.spec, members, test.sealed)
			if diff := cmp.Diff(v1alpha1.PlacementStatus{Clusters: test.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			decided, err := Decide(Input{Spec: test.spec, Members: members, Previous: got}, time.Unix(0, 0))
			if err == nil && len(decided.Status.Leaving) > 0 {
				t.Errorf("it makes %v be left", decided.Status.Leaving)
			}
		})
	}
}
