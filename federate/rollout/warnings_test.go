// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

func TestSettingsThatNeverActGetAWarning(t *testing.T) {
	all, most := new(intstr.FromString("100%")), new(intstr.FromString("99%"))
	placed := []selection.Member{{Name: "east"}, {Name: "north"}, {Name: "south"}}
	of := func(name string, maxFailures int, members ...string) Wave {
		w := Wave{Name: name, MaxFailures: maxFailures}
		if len(members) > 0 {
			w.Clusters = &v1alpha1.ClusterSelection{Names: members}
		}
		return w
	}
	const passed = " has no placed member now, so the rollout passes it at once: the members that it selects are not placed, or belong to an earlier wave"
	for name, test := range map[string]struct {
		strategy Strategy
		placed   []selection.Member
		want     []string
	}{
		"waves with members, and limits that act": {Strategy{MaxUnavailable: most, Waves: []Wave{of("canary", 0, "east"), of("last", 1)}}, placed, nil},
		"no waves": {Strategy{}, placed, nil},
		"a wave of a member that is not placed": {Strategy{Waves: []Wave{of("canary", 0, "moon"), of("last", 0)}}, placed,
			[]string{"spec.rollout.waves[0].clusters: wave canary" + passed}},
		"a wave whose members an earlier one has": {Strategy{Waves: []Wave{of("canary", 0, "east"), of("again", 2, "east"), of("last", 0)}}, placed,
			[]string{"spec.rollout.waves[1].clusters: wave again" + passed}},
		"nothing is placed":              {Strategy{Waves: []Wave{of("canary", 3, "moon"), of("last", 0)}}, nil, nil},
		"no member is left for the rest": {Strategy{Waves: []Wave{of("all", 0, "east", "north", "south"), of(Rest, 0)}}, placed, nil},
		"as many failures as members": {Strategy{Waves: []Wave{of("canary", 0, "east"), of("last", 2)}}, placed,
			[]string{"spec.rollout.waves[1].maxFailures: no failure in wave last stops the rollout, because maxFailures (2) is not less than the number of placed members that the wave has now (2)"}},
		"limits of all members": {Strategy{MaxUnavailable: all, Waves: []Wave{{Name: "all", MaxConcurrent: all}}}, placed, []string{
			"spec.rollout.maxUnavailable: 100% limits nothing: all members may change at the same time",
			"spec.rollout.waves[0].maxConcurrent: 100% limits nothing: all members of the wave may change at the same time"}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := Compile(test.strategy)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, plan.Warnings(test.placed)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
