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

func selectors(key, value string) []metav1.LabelSelector {
	return []metav1.LabelSelector{{MatchLabels: map[string]string{key: value}}}
}

// TestDecide has a row for each rule. want has, for each member, "REVISION" or "REVISION:REASON".
func TestDecide(t *testing.T) {
	t.Parallel()
	two := Strategy{Waves: []Wave{{Name: "canary", Clusters: named("a", "b"), Soak: 10 * time.Minute}}}
	manual := Strategy{Waves: []Wave{{Name: "canary", Clusters: named("a", "b")}, {Name: "last", Manual: true}}}
	budget := func(s Strategy, most string) Strategy { s.MaxUnavailable = amount(most); return s }
	healthy := v1alpha1.StateHealthy
	old := func(name string) Member { return at(name, "r1", healthy, 60) }
	fresh := func(name string) Member { return at(name, "", "", 0) }
	canary := State{Wave: "canary", Begun: true}
	rest := State{Wave: Rest, Begun: true}
	for name, tc := range map[string]struct {
		strategy Strategy
		in       Input
		state    State
		want     string
		phase    Phase
		wave     string
		waits    Reason
		again    time.Duration
		check    func(State) bool
	}{
		"an edit begins with the first wave": {
			two, Input{Members: []Member{old("a"), old("b"), old("c")}}, State{ID: "z", Revision: "r1", Phase: Complete, LastGood: "r1"},
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 0, func(s State) bool { return s.ID != "z" && s.Begun },
		},
		"one at a time where only one may be unavailable": {
			budget(two, "1"), Input{Members: []Member{old("a"), old("b"), old("c")}}, underWay(canary),
			"r2 r1:MaxUnavailableReached r1:WaveHeld", Progressing, "canary", WaitsForBudget, 0, nil,
		},
		"a percentage of the budget is rounded up": {
			budget(two, "34%"), Input{Members: []Member{old("a"), old("b"), old("c")}}, underWay(canary),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 0, nil,
		},
		"a member that is ill already costs no budget, and goes first": {
			budget(two, "1"), Input{Members: []Member{old("a"), at("b", "r1", v1alpha1.StateDegraded, 5), old("c")}}, underWay(canary),
			"r1:MaxUnavailableReached r2 r1:WaveHeld", Progressing, "canary", WaitsForBudget, 5 * time.Minute, nil,
		},
		"removals use up the budget": {
			budget(two, "1"), Input{Removing: 1, Members: []Member{old("a"), old("b"), old("c")}}, underWay(canary),
			"r1:MaxUnavailableReached r1:MaxUnavailableReached r1:WaveHeld", Progressing, "canary", WaitsForBudget, 0, nil,
		},
		"the limit of the wave": {
			Strategy{Waves: []Wave{{Name: "canary", Clusters: named("a", "b"), MaxConcurrent: amount("1")}}},
			Input{Members: []Member{old("a"), at("b", "r2", v1alpha1.StateProgressing, 1), old("c")}}, underWay(canary),
			"r1:MaxConcurrentReached r2 r1:WaveHeld", Progressing, "canary", WaitsForTurn, 9 * time.Minute, nil,
		},
		"the wave soaks from when its last member became healthy": {
			two, Input{Members: []Member{at("a", "r2", healthy, 30), at("b", "r2", healthy, 4), old("c")}}, underWay(canary),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForSoak, 6 * time.Minute, nil,
		},
		"after the soak the next wave begins": {
			two, Input{Members: []Member{at("a", "r2", healthy, 30), at("b", "r2", healthy, 10), old("c")}}, underWay(canary),
			"r2 r2 r2", Progressing, Rest, WaitsForHealth, 0, nil,
		},
		"a manual wave waits for its approval": {
			manual, Input{Members: []Member{at("a", "r2", healthy, 30), at("b", "r2", healthy, 10), old("c")}}, underWay(canary),
			"r2 r2 r1:WaveNeedsApproval", Progressing, "last", WaitsForApproval, 0, func(s State) bool { return !s.Begun },
		},
		"and begins with it": {
			manual, Input{Approvals: Approvals{Waves: []string{"last"}}, Members: []Member{at("a", "r2", healthy, 30), at("b", "r2", healthy, 10), old("c")}}, underWay(State{Wave: "last"}),
			"r2 r2 r2", Progressing, "last", WaitsForHealth, 0, func(s State) bool { return s.Begun },
		},
		"a wave that has begun goes on without the approval": {
			manual, Input{Members: []Member{at("a", "r2", healthy, 30), at("b", "r2", healthy, 10), old("c")}}, underWay(State{Wave: "last", Begun: true}),
			"r2 r2 r2", Progressing, "last", WaitsForHealth, 0, nil,
		},
		"suspend holds the next wave": {
			two, Input{Suspended: true, Members: []Member{at("a", "r2", healthy, 30), at("b", "r2", healthy, 10), old("c")}}, underWay(canary),
			"r2 r2 r1:Suspended", Progressing, Rest, WaitsForSuspend, 0, nil,
		},
		"and lets the current one go on": {
			two, Input{Suspended: true, Members: []Member{old("a"), old("b"), old("c")}}, underWay(canary),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 0, nil,
		},
		"a stalled member pauses the rollout": {
			two, Input{Members: []Member{saying(at("a", "r2", v1alpha1.StateStalled, 1), "no such kind"), old("b"), old("c")}}, underWay(canary),
			"r2 r1:RolloutStopped r1:RolloutStopped", Paused, "canary", WaitsAfterFailure, 0, func(s State) bool {
				return s.Failure.Member == "a" && s.Failure.Message == "no such kind" && s.Failure.Count == 1
			},
		},
		"its failure keeps the first message": {
			two, Input{Members: []Member{saying(at("a", "r2", v1alpha1.StateStalled, 1), "try 7"), old("b"), old("c")}},
			underWay(State{Phase: Paused, Wave: "canary", Begun: true, Failure: &Failure{Revision: "r2", Member: "a", Message: "try 1", At: epoch.Add(-time.Minute)}}),
			"r2 r1:RolloutStopped r1:RolloutStopped", Paused, "canary", WaitsAfterFailure, 0, func(s State) bool { return s.Failure.Message == "try 1" },
		},
		"and so does one that is past its deadline": {
			two, Input{Members: []Member{at("a", "r2", v1alpha1.StateProgressing, 10), old("b"), old("c")}}, underWay(canary),
			"r2 r1:RolloutStopped r1:RolloutStopped", Paused, "canary", WaitsAfterFailure, 0, nil,
		},
		"a member that waits has no deadline": {
			two, Input{Members: []Member{at("a", "r2", v1alpha1.StateWaiting, 100), at("b", "r2", healthy, 60), old("c")}}, underWay(canary),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 0, nil,
		},
		"a failure in a wave that has passed pauses it, too": {
			two, Input{Members: []Member{at("a", "r2", v1alpha1.StateStalled, 1), at("b", "r2", healthy, 30), at("c", "r2", healthy, 1), old("d")}}, underWay(rest),
			"r2 r2 r2 r1:RolloutStopped", Paused, Rest, WaitsAfterFailure, 0, func(s State) bool { return s.Failure.Wave == "canary" && s.Failure.Member == "a" },
		},
		"as many may fail as the wave allows": {
			Strategy{Waves: []Wave{{Name: "canary", Clusters: named("a", "b"), MaxFailures: 1}}},
			Input{Members: []Member{at("a", "r2", v1alpha1.StateStalled, 1), at("b", "r2", healthy, 1), old("c")}}, underWay(canary),
			"r2 r2 r2", Progressing, Rest, WaitsForHealth, 9 * time.Minute, nil,
		},
		"a member that was skipped neither fails nor is waited for": {
			two, Input{Approvals: Approvals{Skip: []string{"a"}}, Members: []Member{at("a", "r2", v1alpha1.StateStalled, 1), at("b", "r2", healthy, 11), old("c")}}, underWay(canary),
			"r2 r2 r2", Progressing, Rest, WaitsForHealth, 9 * time.Minute, nil,
		},
		"a wave waits for a member that was lost": {
			two, Input{Members: []Member{at("a", "r1", v1alpha1.StateUnreachable, 2), at("b", "r2", healthy, 11), old("c")}}, underWay(canary),
			"r1:Unreachable r2 r1:WaveHeld", Progressing, "canary", WaitsForMember, 8 * time.Minute, nil,
		},
		"until its deadline": {
			two, Input{Members: []Member{at("a", "r1", v1alpha1.StateUnreachable, 10), at("b", "r2", healthy, 11), old("c")}}, underWay(canary),
			"r1:Unreachable r2 r2", Progressing, Rest, WaitsForMember, 0, nil,
		},
		"a member that was passed over gets the newest when it is back": {
			two, Input{Members: []Member{old("a"), at("b", "r2", healthy, 11), at("c", "r2", healthy, 5)}}, underWay(State{Phase: Complete}),
			"r2 r2 r2", Complete, "", WaitsForHealth, 0, func(s State) bool { return s.ID == "a" && s.LastGood == "r1" },
		},
		"a revision that is healthy everywhere is good": {
			two, Input{Members: []Member{at("a", "r2", healthy, 11), at("b", "r2", healthy, 11), at("c", "r2", healthy, 5)}}, underWay(rest),
			"r2 r2 r2", Complete, "", "", 0, func(s State) bool { return s.LastGood == "r2" },
		},
		"a member that joins a wave that passed gets the newest": {
			two, Input{Members: []Member{fresh("a"), at("b", "r2", healthy, 11), old("c")}}, underWay(rest),
			"r2 r2 r2", Progressing, Rest, WaitsForHealth, 0, nil,
		},
		"one that joins a later wave gets the last good revision": {
			two, Input{Members: []Member{at("a", "r2", v1alpha1.StateProgressing, 1), at("b", "r2", healthy, 1), fresh("c")}}, underWay(canary),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 9 * time.Minute, nil,
		},
		"and waits where there is none": {
			two, Input{Members: []Member{fresh("a"), fresh("b"), fresh("c")}}, State{},
			"r2 r2 :WaveHeld", Progressing, "canary", WaitsForWave, 0, nil,
		},
		"members that join use up the budget, too": {
			budget(two, "1"), Input{Members: []Member{at("a", "r2", healthy, 1), at("b", "r2", healthy, 1), fresh("c"), fresh("d")}}, underWay(canary),
			"r2 r2 r1:WaveHeld :WaveHeld", Progressing, "canary", WaitsForSoak, 9 * time.Minute, nil,
		},
		"a member that was stalled before the retry has its deadline again": {
			two, Input{Members: []Member{at("a", "r2", v1alpha1.StateStalled, 30), at("b", "r2", healthy, 30), old("c")}},
			underWay(State{Wave: "canary", Begun: true, Retried: epoch.Add(-time.Minute)}),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 9 * time.Minute, nil,
		},
		"a revision that failed somewhere is not good": {
			Strategy{Waves: []Wave{{Name: "canary", Clusters: named("a", "b"), MaxFailures: 1}}},
			Input{Members: []Member{at("a", "r2", v1alpha1.StateStalled, 1), at("b", "r2", healthy, 1), at("c", "r2", healthy, 1)}}, underWay(rest),
			"r2 r2 r2", Complete, "", WaitsForHealth, 9 * time.Minute, func(s State) bool { return s.LastGood == "r1" },
		},
		"a member that failed leaves its place in the wave": {
			Strategy{Waves: []Wave{{Name: "canary", Clusters: named("a", "b"), MaxFailures: 1, MaxConcurrent: amount("1")}}},
			Input{Members: []Member{at("a", "r2", v1alpha1.StateStalled, 1), old("b"), old("c")}}, underWay(canary),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 9 * time.Minute, nil,
		},
		"another rendering of the same revision is a rollout": {
			two, Input{Members: []Member{relabelled("a"), at("b", "r2", healthy, 60), at("c", "r2", healthy, 60)}},
			underWay(State{Phase: Complete}),
			"r2 r2 r2", Progressing, "canary", WaitsForHealth, 0, func(s State) bool { return s.ID != "a" },
		},
		"what cannot be rendered is told": {
			two, Input{Members: []Member{{Member: selection.Member{Name: "a"}, Target: "r1", Revision: "r1", State: healthy}, at("b", "r2", healthy, 60), old("c")}}, underWay(canary),
			"r1:RenderingLost r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 0, nil,
		},
		"rollback takes the later wave back first": {
			Strategy{Waves: two.Waves, OnFailure: Rollback},
			Input{Members: []Member{at("a", "r2", healthy, 30), at("b", "r2", healthy, 30), at("c", "r2", v1alpha1.StateStalled, 1)}}, underWay(rest),
			"r2:WaveHeld r2:WaveHeld r1", RollingBack, "", WaitsForWave, 10 * time.Minute, nil,
		},
		"and then the earlier one": {
			Strategy{Waves: two.Waves, OnFailure: Rollback},
			Input{Members: []Member{at("a", "r2", healthy, 30), at("b", "r2", healthy, 30), at("c", "r1", healthy, 1)}}, underWay(State{Phase: RollingBack, Failure: &Failure{Revision: "r2", Member: "c", At: epoch.Add(-time.Minute)}}),
			"r1 r1 r1", RollingBack, "", WaitsForHealth, 0, nil,
		},
		"a member that never left the good revision holds none back": {
			Strategy{Waves: two.Waves, OnFailure: Rollback},
			Input{Members: []Member{at("a", "r2", healthy, 30), at("b", "r2", healthy, 30), at("c", "r1", v1alpha1.StateDegraded, 5)}}, underWay(State{Phase: RollingBack, Failure: &Failure{Revision: "r2", Member: "a", At: epoch.Add(-time.Minute)}}),
			"r1 r1 r1", RollingBack, "", WaitsForHealth, 9 * time.Minute, nil,
		},
		"nor does one that waits": {
			Strategy{Waves: two.Waves, OnFailure: Rollback},
			Input{Members: []Member{at("a", "r2", healthy, 30), at("b", "r2", healthy, 30), at("c", "r1", v1alpha1.StateWaiting, 0)}}, underWay(State{Phase: RollingBack, Failure: &Failure{Revision: "r2", Member: "a", At: epoch.Add(-time.Minute)}}),
			"r1 r1 r1", RollingBack, "", WaitsForHealth, 0, nil,
		},
		"a fleet that is back is not tried again": {
			Strategy{Waves: two.Waves, OnFailure: Rollback},
			Input{Members: []Member{old("a"), old("b"), old("c")}}, underWay(State{Phase: RollingBack, Failure: &Failure{Revision: "r2", Member: "c", At: epoch.Add(-time.Minute)}}),
			"r1 r1 r1", RolledBack, "", WaitsAfterFailure, 0, nil,
		},
		"before a retry": {
			Strategy{Waves: two.Waves, OnFailure: Rollback},
			Input{Approvals: Approvals{Retry: epoch.Add(-time.Second)}, Members: []Member{old("a"), old("b"), old("c")}}, underWay(State{Phase: RolledBack, Failure: &Failure{Revision: "r2", Member: "c", At: epoch.Add(-time.Minute)}}),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 0, func(s State) bool { return s.Failure == nil },
		},
		"an older retry does not count": {
			two, Input{Approvals: Approvals{Retry: epoch.Add(-time.Hour)}, Members: []Member{old("a"), old("b"), old("c")}}, underWay(State{Phase: Paused, Wave: "canary", Begun: true, RetrySeen: epoch.Add(-time.Hour), Failure: &Failure{Revision: "r2", Member: "a", At: epoch.Add(-time.Minute)}}),
			"r1:RolloutStopped r1:RolloutStopped r1:RolloutStopped", Paused, "canary", WaitsAfterFailure, 0, nil,
		},
		"a retry of a host whose clock is behind the manager's counts": {
			two, Input{Approvals: Approvals{Retry: epoch.Add(-time.Hour)}, Members: []Member{old("a"), old("b"), old("c")}}, underWay(State{Phase: Paused, Wave: "canary", Begun: true, Failure: &Failure{Revision: "r2", Member: "a", At: epoch.Add(-time.Minute)}}),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 0, func(s State) bool { return s.RetrySeen.Equal(epoch.Add(-time.Hour)) },
		},
		"a member that was Stalled before a retry fails at its deadline only, also in the second of the retry": {
			two, Input{Members: []Member{{Member: selection.Member{Name: "a"}, Target: "r2", Revision: "r2", Newest: "r2", State: v1alpha1.StateStalled,
				Since: epoch.Add(time.Millisecond), BeforeRetry: true}, old("b"), old("c")}}, underWay(State{Wave: "canary", Begun: true, Retried: epoch}),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 10 * time.Minute, nil,
		},
		"an approval of the rollout before begins no wave of the next": {
			Strategy{Waves: []Wave{{Name: "canary", Clusters: two.Waves[0].Clusters, Manual: true}}},
			Input{Approvals: Approvals{Waves: []string{"canary"}}, Members: []Member{old("a"), old("b"), old("c")}}, State{ID: "a", Revision: "r1", Phase: Complete},
			"r1:WaveNeedsApproval r1:WaveNeedsApproval r1:WaveHeld", Progressing, "canary", WaitsForApproval, 0, nil,
		},
		"a member that is lost while it is updated keeps its place": {
			Strategy{Waves: []Wave{{Name: "canary", Clusters: two.Waves[0].Clusters, MaxConcurrent: amount("1")}}},
			Input{Members: []Member{at("a", "r2", v1alpha1.StateUnreachable, 3), old("b"), old("c")}}, underWay(State{Wave: "canary", Begun: true}),
			"r2 r1:MaxConcurrentReached r1:WaveHeld", Progressing, "canary", WaitsForTurn, 7 * time.Minute, nil,
		},
		"and fails at its deadline": {
			two, Input{Members: []Member{at("a", "r2", v1alpha1.StateUnreachable, 10), old("b"), old("c")}}, underWay(State{Wave: "canary", Begun: true}),
			"r2 r1:RolloutStopped r1:RolloutStopped", Paused, "canary", WaitsAfterFailure, 0, func(s State) bool { return s.Failure.Member == "a" },
		},
		"a manager that has just started calls no revision good": {
			two, Input{Members: []Member{at("a", "r2", v1alpha1.StateUnknown, 0), at("b", "r2", healthy, 20), at("c", "r2", healthy, 20)}}, underWay(State{Phase: Complete}),
			"r2 r2 r2", Complete, "", WaitsForHealth, 0, func(s State) bool { return s.LastGood == "r1" },
		},
		"a member that was ill before and is not changed fails nothing": {
			two, Input{Members: []Member{proven(at("a", "r2", v1alpha1.StateDegraded, 60)), at("b", "r2", healthy, 20), old("c")}}, underWay(State{Wave: "canary", Begun: true}),
			"r2 r2 r2", Progressing, Rest, WaitsForHealth, 0, nil,
		},
		"nor when the rollout begins": {
			two, Input{Members: []Member{proven(at("a", "r2", v1alpha1.StateStalled, 60)), old("b"), old("c")}}, State{ID: "a", Revision: "r1", Phase: Complete},
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 0, nil,
		},
		"what an unfinished rollout has brought has to become healthy, even if the next one does not change it": {
			two, Input{Members: []Member{at("a", "r2", v1alpha1.StateProgressing, 2), at("b", "r2", v1alpha1.StateProgressing, 2), old("c")}},
			State{ID: "a", Revision: "an edit before", Phase: Progressing, Wave: "canary", Begun: true, LastGood: "r1"},
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 8 * time.Minute, func(s State) bool { return s.ID != "a" },
		},
		"and to soak": {
			two, Input{Members: []Member{at("a", "r2", healthy, 2), at("b", "r2", healthy, 3), old("c")}},
			State{ID: "a", Revision: "an edit before", Phase: Progressing, Wave: "canary", Begun: true, LastGood: "r1"},
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForSoak, 8 * time.Minute, nil,
		},
		"what has failed fails again, if an edit does not change it": {
			two, Input{Members: []Member{at("a", "r2", v1alpha1.StateStalled, 2), at("b", "r2", healthy, 20), old("c")}},
			State{ID: "a", Revision: "an edit before", Phase: Paused, Wave: "canary", Begun: true, LastGood: "r1",
				Failure: &Failure{Revision: "an edit before", Member: "a", At: epoch.Add(-time.Minute)}},
			"r2 r2 r1:RolloutStopped", Paused, "canary", WaitsAfterFailure, 0, func(s State) bool { return s.ID != "a" && s.Failure.Revision == "r2" },
		},
		"no wave passes before a member is placed": {
			two, Input{}, State{}, "", Progressing, "canary", WaitsForPlacement, 0, func(s State) bool { return !s.Begun },
		},
		"so the first delivery is one in waves": {
			two, Input{Members: []Member{fresh("a"), fresh("c")}}, underWay(canary), "r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 0, nil,
		},
		"another rendering in a passed wave begins with the first wave, and needs the approvals again": {
			manual, Input{Approvals: Approvals{Waves: []string{"last"}}, Members: []Member{relabelled("a"), at("b", "r2", healthy, 20), at("c", "r2", v1alpha1.StateProgressing, 1), old("d")}},
			underWay(State{Wave: "last", Begun: true}),
			"r2 r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 9 * time.Minute, func(s State) bool { return s.ID != "a" },
		},
		"but not in the wave that is under way": {
			two, Input{Members: []Member{relabelled("a"), at("b", "r2", healthy, 20), old("c")}}, underWay(canary),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 0, func(s State) bool { return s.ID == "a" },
		},
		"nor for a rendering that cannot be made": {
			two, Input{Members: []Member{{Member: selection.Member{Name: "a"}, Target: "r2", Revision: "r2", State: healthy, Since: epoch.Add(-time.Hour)}, at("b", "r2", healthy, 20), at("c", "r2", healthy, 1)}},
			underWay(State{Phase: Complete}),
			"r2:RenderingLost r2 r2", Complete, "", WaitsNoRendering, 0, func(s State) bool { return s.ID == "a" },
		},
		"a retry in the second in which a member became Stalled does not fail at once": {
			two, Input{Approvals: Approvals{Retry: epoch}, Members: []Member{at("a", "r2", v1alpha1.StateStalled, 0), old("b"), old("c")}},
			underWay(State{Phase: Paused, Wave: "canary", Begun: true, Failure: &Failure{Revision: "r2", Member: "a", At: epoch}}),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 10 * time.Minute, nil,
		},
		"another rendering elsewhere does not take the deadline that a retry gave": {
			two, Input{Members: []Member{at("a", "r2", v1alpha1.StateStalled, 30), relabelled("b"), old("c")}},
			underWay(State{Wave: Rest, Begun: true, Retried: epoch.Add(-time.Minute)}),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 9 * time.Minute, func(s State) bool { return s.ID != "a" },
		},
		"a member that was lost in a passed wave has the whole deadline again in a new rollout": {
			two, Input{Members: []Member{at("a", "r2", v1alpha1.StateUnreachable, 60), at("b", "r2", healthy, 60), old("c")}},
			State{ID: "a", Revision: "an edit before", Phase: Progressing, Wave: Rest, Begun: true, LastGood: "r1"},
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 10 * time.Minute, nil,
		},
		"no deadline runs where pushes are suspended": {
			two, Input{Members: []Member{heldUp(at("a", "r2", v1alpha1.StateProgressing, 60)), at("b", "r2", healthy, 60), old("c")}}, underWay(canary),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForWave, 0, nil,
		},
		"nothing fails and nothing passes while all is suspended": {
			two, Input{Suspended: true, AllSuspended: true, Members: []Member{at("a", "r2", v1alpha1.StateStalled, 30), at("b", "r2", healthy, 30), old("c")}}, underWay(canary),
			"r2 r2 r1:WaveHeld", Progressing, "canary", WaitsForSuspend, 0, nil,
		},
		"a wave out of reach needs its approval before it is passed over": {
			manual, Input{Members: []Member{at("a", "r2", healthy, 60), at("b", "r2", healthy, 60), at("c", "r1", v1alpha1.StateUnreachable, 60)}}, underWay(State{Wave: "last"}),
			"r2 r2 r1:WaveNeedsApproval", Progressing, "last", WaitsForApproval, 0, nil,
		},
		"no wave is passed over while the manager can reach no member": {
			two, Input{Members: []Member{at("a", "r1", v1alpha1.StateUnreachable, 60), at("b", "r1", v1alpha1.StateUnreachable, 60), at("c", "r1", v1alpha1.StateUnreachable, 60)}},
			underWay(State{Wave: "canary", Begun: true}), "r1:Unreachable r1:Unreachable r1:WaveHeld", Progressing, "canary", WaitsForMember, 0, nil,
		},
		"a member that was not read since the start takes its place": {
			Strategy{Waves: []Wave{{Name: "canary", Clusters: two.Waves[0].Clusters, MaxConcurrent: amount("1")}}},
			Input{Members: []Member{old("a"), func() Member {
				m := fresh("b")
				m.State = v1alpha1.StateUnknown
				return m
			}(), old("c")}}, underWay(State{Wave: "canary", Begun: true}),
			"r1:MaxConcurrentReached :Unreachable r1:WaveHeld", Progressing, "canary", WaitsForTurn, 0, nil,
		},
		"a fleet that is back stays so when a member falls ill": {
			Strategy{Waves: two.Waves, OnFailure: Rollback},
			Input{Members: []Member{at("a", "r1", v1alpha1.StateDegraded, 1), old("b"), old("c")}}, underWay(State{Phase: RolledBack, Failure: &Failure{Revision: "r2", Member: "c", At: epoch.Add(-time.Hour)}}),
			"r1 r1 r1", RolledBack, "", WaitsForHealth, 9 * time.Minute, nil,
		},
		"a restart does not call the fleet back": {
			Strategy{Waves: two.Waves, OnFailure: Rollback},
			Input{Members: []Member{at("a", "", v1alpha1.StateUnknown, 0), at("b", "", v1alpha1.StateUnknown, 0), at("c", "", v1alpha1.StateUnknown, 0)}},
			underWay(State{Phase: RollingBack, Failure: &Failure{Revision: "r2", Member: "c", At: epoch.Add(-time.Hour)}}),
			":Unreachable :Unreachable :Unreachable", RollingBack, "", WaitsForMember, 0, nil,
		},
		"a member that is lost in a passed wave fails nothing": {
			two, Input{Members: []Member{at("a", "r2", v1alpha1.StateUnreachable, 10), at("b", "r2", healthy, 20), old("c")}}, underWay(State{Wave: Rest, Begun: true}),
			"r2 r2 r2", Progressing, Rest, WaitsForHealth, 0, nil,
		},
		"rollback without a good revision is a pause": {
			Strategy{Waves: two.Waves, OnFailure: Rollback},
			Input{Members: []Member{at("a", "r2", v1alpha1.StateStalled, 1), fresh("b"), fresh("c")}}, State{ID: "a", Revision: "r2", Phase: Progressing, Wave: "canary", Begun: true},
			"r2 :RolloutStopped :RolloutStopped", Paused, "canary", WaitsAfterFailure, 0, func(s State) bool { return s.Failure.NoGoodRevision },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := compiled(t, tc.strategy)
			if tc.state.ID == "a" {
				tc.state.Plan = plan.identity
			}
			tc.in.Revision = "r2"
			d := plan.Decide(tc.in, tc.state, epoch)
			var got []string
			for _, target := range d.Targets {
				text := target.Rendering
				if target.Reason != "" {
					text += ":" + string(target.Reason)
				}
				got = append(got, text)
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("targets: %s, want %s", strings.Join(got, " "), tc.want)
			}
			if d.State.Phase != tc.phase || d.State.Wave != tc.wave || d.Waits != tc.waits {
				t.Errorf("phase %s, wave %q, waits for %q; want %s, %q, %q", d.State.Phase, d.State.Wave, d.Waits, tc.phase, tc.wave, tc.waits)
			}
			if again := max(0, d.Again.Sub(epoch)); again != tc.again {
				t.Errorf("looks again in %s, want %s", again, tc.again)
			}
			if tc.check != nil && !tc.check(d.State) {
				t.Errorf("state: %+v, failure: %+v", d.State, d.State.Failure)
			}
		})
	}
}
