// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

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
