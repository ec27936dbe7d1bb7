// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

func TestAMemberBelongsToTheFirstWaveThatSelectsIt(t *testing.T) {
	named := func(names ...string) *v1alpha1.ClusterSelection { return &v1alpha1.ClusterSelection{Names: names} }
	plan, err := Compile(Strategy{Waves: []Wave{{Name: "canary", Clusters: named("east")}, {Name: "europe", Clusters: named("east", "west")}}})
	if err != nil {
		t.Fatal(err)
	}
	for member, want := range map[string]struct {
		index int
		name  string
	}{
		"east":  {0, "canary"},
		"west":  {1, "europe"},
		"south": {2, Rest},
	} {
		if index, name := plan.WaveOf(selection.Member{Name: member}); index != want.index || name != want.name {
			t.Errorf("%s is in wave %d (%s), want wave %d (%s)", member, index, name, want.index, want.name)
		}
	}
}

func TestCompileNamesEachWrongField(t *testing.T) {
	t.Parallel()
	_, err := Compile(Strategy{
		ProgressDeadline: -time.Second, MaxUnavailable: amount("101%"), OnFailure: "Stop",
		Waves: []Wave{
			{Name: "a", Soak: -1, MaxFailures: -1, MaxConcurrent: amount("0")}, {Name: "a"}, {},
			{Name: Rest, Clusters: named("x")},
			{Name: "b", Clusters: &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Like"}}}}}},
		},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{
		"progressDeadlineSeconds", "maxUnavailable", "onFailure", "waves[0].soakSeconds", "waves[0].maxFailures", "waves[0].maxConcurrent",
		"waves[1].name", "waves[2].name", "waves[3].clusters", "waves[4].clusters",
	} {
		if !strings.Contains(err.Error(), "spec.rollout."+field+": ") {
			t.Errorf("no error names %s:\n%v", field, err)
		}
	}
}
