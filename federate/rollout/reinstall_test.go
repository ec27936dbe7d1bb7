// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// The author sets rollback: Reinstall when the rollout is complete and members are ahead already. m0 is the first wave, m1 and m2 the
// second, and m3 the last one.
func TestWhoMayBeReinstalledAfterTheRollout(t *testing.T) {
	const (
		needed, kept, announced, begun = ReinstallNeeded, ReinstallKept, ReinstallAnnounced, ReinstallBegun
		settling, reported             = ReinstallSettling, ReinstallReported
		may                            = Reason("may")
	)
	for title, tc := range map[string]struct {
		is        []Reinstall
		budget    string
		most      string // maxConcurrent of the second wave
		change    func(*Input, *State)
		want      []Reason
		illMember int // an updated member that is not Healthy and not ahead; -1 for none
	}{
		"the first wave first":                     {is: []Reinstall{needed, needed, needed, needed}, want: []Reason{may, WaitsForWave, WaitsForWave, WaitsForWave}, illMember: -1},
		"then all members of the second":           {is: []Reinstall{0, needed, needed, needed}, want: []Reason{"", may, may, WaitsForWave}, illMember: -1},
		"within maxUnavailable":                    {is: []Reinstall{0, needed, needed, needed}, budget: "1", want: []Reason{"", may, WaitsForBudget, WaitsForWave}, illMember: -1},
		"within maxConcurrent of the wave":         {is: []Reinstall{0, needed, needed, needed}, most: "1", want: []Reason{"", may, WaitsForTurn, WaitsForWave}, illMember: -1},
		"one that has begun counts in it":          {is: []Reinstall{0, needed, begun, 0}, most: "1", want: []Reason{"", WaitsForTurn, may, ""}, illMember: -1},
		"one that has begun counts":                {is: []Reinstall{0, needed, begun, 0}, budget: "1", want: []Reason{"", WaitsForBudget, may, ""}, illMember: -1},
		"one of a later wave counts, too":          {is: []Reinstall{0, needed, 0, begun}, budget: "1", want: []Reason{"", WaitsForBudget, "", may}, illMember: -1},
		"an announced one keeps its turn":          {is: []Reinstall{0, needed, announced, 0}, budget: "1", want: []Reason{"", WaitsForBudget, may, ""}, illMember: -1},
		"of two announced ones, one loses it":      {is: []Reinstall{0, announced, announced, 0}, budget: "1", want: []Reason{"", may, WaitsForBudget, ""}, illMember: -1},
		"one that is kept takes no turn":           {is: []Reinstall{0, kept, needed, 0}, budget: "1", want: []Reason{"", may, may, ""}, illMember: -1},
		"one that is kept holds the waves after":   {is: []Reinstall{kept, needed, 0, 0}, want: []Reason{may, WaitsForWave, "", ""}, illMember: -1},
		"an ill canary holds the waves after":      {is: []Reinstall{0, needed, 0, 0}, want: []Reason{"", WaitsForWave, "", ""}, illMember: 0},
		"a skipped one does not":                   {is: []Reinstall{0, needed, 0, 0}, want: []Reason{"", may, "", ""}, illMember: 0, change: func(in *Input, _ *State) { in.Approvals.Skip = []string{"m0"} }},
		"no member while the wrapper is suspended": {is: []Reinstall{needed, 0, begun, 0}, want: []Reason{WaitsForSuspend, "", may, ""}, illMember: -1, change: func(in *Input, _ *State) { in.Suspended = true }},
		"no member after a failure":                {is: []Reinstall{needed, 0, begun, 0}, want: []Reason{WaitsAfterFailure, "", may, ""}, illMember: -1, change: func(_ *Input, s *State) { s.Phase, s.Failure = Paused, &Failure{Revision: "r1", At: epoch} }},
		"in a rollback the last wave first":        {is: []Reinstall{needed, needed, 0, needed}, want: []Reason{WaitsForWave, WaitsForWave, "", may}, illMember: -1, change: rollingBack},
		"and then the one before":                  {is: []Reinstall{needed, needed, 0, 0}, want: []Reason{WaitsForWave, may, "", ""}, illMember: -1, change: rollingBack},
		"one that cannot be reached has no turn":   {is: []Reinstall{needed, 0, 0, 0}, want: []Reason{WaitsForTurn, "", "", ""}, illMember: -1, change: func(in *Input, _ *State) { in.Members[0].State = v1alpha1.StateUnreachable }},
		"one that is not Healthy again counts":     {is: []Reinstall{0, needed, settling, 0}, budget: "1", want: []Reason{"", WaitsForBudget, may, ""}, illMember: -1},
		"and holds the waves after":                {is: []Reinstall{settling, needed, 0, 0}, want: []Reason{may, WaitsForWave, "", ""}, illMember: -1},
		"also in a rollback":                       {is: []Reinstall{0, needed, 0, settling}, want: []Reason{"", WaitsForWave, "", may}, illMember: -1, change: rollingBack},
		"none while a reinstalled one has failed":  {is: []Reinstall{0, needed, settling, 0}, want: []Reason{"", WaitsForHealth, may, ""}, illMember: -1, change: fails("m2")},
		"none in a rollback either":                {is: []Reinstall{0, needed, 0, settling}, want: []Reason{"", WaitsForWave, "", may}, illMember: -1, change: func(in *Input, s *State) { rollingBack(in, s); fails("m3")(in, s) }},
		"nor after one whose removal fails":        {is: []Reinstall{0, needed, begun, 0}, want: []Reason{"", WaitsForHealth, may, ""}, illMember: -1, change: fails("m2")},
		"unless a person skips the failed one":     {is: []Reinstall{0, needed, settling, 0}, want: []Reason{"", may, may, ""}, illMember: -1, change: func(in *Input, s *State) { fails("m2")(in, s); in.Approvals.Skip = []string{"m2"} }},
		"one that was lost holds its turn":         {is: []Reinstall{0, needed, begun, 0}, budget: "1", want: []Reason{"", WaitsForBudget, may, ""}, illMember: -1, change: func(in *Input, _ *State) { in.Members[2].State = v1alpha1.StateUnreachable }},
		"one that the manager has not looked at":   {is: []Reinstall{0, reported, needed, 0}, budget: "1", want: []Reason{"", WaitsForTurn, may, ""}, illMember: -1},
		"without one that is ahead none has one":   {is: []Reinstall{0, 0, 0, 0}, want: []Reason{"", "", "", ""}, illMember: -1},
	} {
		t.Run(title, func(t *testing.T) {
			s := Strategy{OnFailure: Rollback, Waves: []Wave{{Name: "w0", Clusters: named("m0")}, {Name: "w1", Clusters: named("m1", "m2")}}}
			if tc.budget != "" {
				s.MaxUnavailable = amount(tc.budget)
			}
			if tc.most != "" {
				s.Waves[1].MaxConcurrent = amount(tc.most)
			}
			plan := compiled(t, s)
			in, state := Input{Revision: "r1"}, State{ID: "a", Revision: "r1", Phase: Complete, LastGood: "r1", Plan: plan.identity, Since: ago(oldest)}
			for i, is := range tc.is {
				m := Member{Member: selection.Member{Name: name(i)}, Target: "r1", Revision: "r1", Newest: "r1", Good: "r1", State: v1alpha1.StateHealthy, Since: epoch, ProgressFrom: epoch, Reinstall: is}
				if is != NoReinstall || i == tc.illMember {
					m.State = v1alpha1.StateDegraded
				}
				in.Members = append(in.Members, m)
			}
			if tc.change != nil {
				tc.change(&in, &state)
			}
			var got []Reason
			for _, target := range plan.Decide(in, state, epoch).Targets {
				if target.MayReinstall {
					target.ReinstallWaits = may
				}
				got = append(got, target.ReinstallWaits)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// fails lets a member fail.
func fails(name string) func(*Input, *State) {
	return func(in *Input, _ *State) {
		for i := range in.Members {
			if in.Members[i].Name == name {
				in.Members[i].State = v1alpha1.StateStalled
			}
		}
	}
}

// rollingBack makes the rollout one that takes the members back from r2 to r1.
func rollingBack(in *Input, s *State) {
	in.Revision = "r2"
	s.Revision, s.Phase, s.LastGood, s.Failure = "r2", RollingBack, "r1", &Failure{Revision: "r2", At: epoch}
	for i := range in.Members {
		in.Members[i].Newest = "r2"
	}
}

func TestAWrapperWithoutWavesReinstallsOneMemberAfterTheOther(t *testing.T) {
	for name, tc := range map[string]struct {
		is        []Reinstall
		suspended bool
		want      []bool
	}{
		"the first":                       {is: []Reinstall{ReinstallNeeded, ReinstallNeeded}, want: []bool{true, false}},
		"the announced one":               {is: []Reinstall{ReinstallNeeded, ReinstallAnnounced}, want: []bool{false, true}},
		"no other while one is removed":   {is: []Reinstall{ReinstallNeeded, ReinstallBegun, ReinstallAnnounced}, want: []bool{false, true, false}},
		"none until that is Healthy":      {is: []Reinstall{ReinstallNeeded, ReinstallSettling, ReinstallAnnounced}, want: []bool{false, true, false}},
		"one that was not looked at":      {is: []Reinstall{ReinstallReported, ReinstallNeeded}, want: []bool{false, true}},
		"one that is kept takes no turn":  {is: []Reinstall{ReinstallKept, ReinstallNeeded}, want: []bool{true, true}},
		"none that needs none":            {is: []Reinstall{NoReinstall, ReinstallNeeded}, want: []bool{false, true}},
		"no member while it is suspended": {is: []Reinstall{ReinstallKept, ReinstallNeeded, ReinstallBegun}, suspended: true, want: []bool{false, false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var members []Member
			for _, is := range tc.is {
				members = append(members, Member{State: v1alpha1.StateDegraded, Reinstall: is})
			}
			var got []bool
			for _, target := range TurnsOfUnpaced(members, tc.suspended) {
				got = append(got, target.MayReinstall)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
