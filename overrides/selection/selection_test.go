// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestSelects(t *testing.T) {
	east := Member{Name: "east", Labels: map[string]string{"cloud": "aws"}}
	aws := metav1.LabelSelector{MatchLabels: map[string]string{"cloud": "aws"}}
	gcp := metav1.LabelSelector{MatchLabels: map[string]string{"cloud": "gcp"}}
	for name, tc := range map[string]struct {
		selection *v1alpha1.ClusterSelection
		want      bool
	}{
		"no selection selects every member":                     {nil, true},
		"an empty selection selects none":                       {&v1alpha1.ClusterSelection{}, false},
		"a selection with the member's name":                    {&v1alpha1.ClusterSelection{Names: []string{"west", "east"}}, true},
		"a selection with another member's name":                {&v1alpha1.ClusterSelection{Names: []string{"west"}}, false},
		"a selector with the member's label":                    {&v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{aws}}, true},
		"two selectors, one of which matches":                   {&v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{gcp, aws}}, true},
		"a selector with another member's label":                {&v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{gcp}}, false},
		"the member's name, and a selector that does not match": {&v1alpha1.ClusterSelection{Names: []string{"east"}, Selectors: []metav1.LabelSelector{gcp}}, true},
		"an empty selector selects every member":                {&v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{}}}, true},
		"one selector with a label that is missing":             {&v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"cloud": "aws", "x": "y"}}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(tc.selection)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Selects(east); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
