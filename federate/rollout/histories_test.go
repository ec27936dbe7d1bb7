// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

func TestRandomHistoriesKeepThePromises(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]struct {
		histories, members, events int
		maxUnavailable             string // "" for a random one
	}{
		"20 members":                            {10_000, 20, 60, ""},
		"1,000 members":                         {20, 1_000, 200, ""},
		"1,000 members, 1 % may be unavailable": {10, 1_000, 300, "1%"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ends := map[Phase]int{} // the number of histories that end in the phase
			for seed := range uint64(size.histories) {
				r := rand.New(rand.NewPCG(seed, 7))
				members := size.members
				if members <= 20 {
					members = 1 + r.IntN(members)
				}
				s := randomStrategy(r, members)
				if size.maxUnavailable != "" {
					s.MaxUnavailable = amount(size.maxUnavailable)
				}
				end, problem := runHistory(r, compiled(t, s), members, size.events)
				if problem != "" {
					t.Fatalf("seed %d: %s", seed, problem)
				}
				ends[end]++
			}
			t.Logf("%d histories end in %v", size.histories, ends)
			for _, phase := range []Phase{Complete, Paused, RolledBack} {
				if ends[phase] == 0 {
					t.Errorf("no history ends in %s: they show nothing about it", phase)
				}
			}
		})
	}
}

// runHistory lets random events happen to a fleet, and then only good ones until the rollout ends. It returns the phase in which the
// rollout ends, and the first rule that a decision broke; "" if no decision broke one.
func runHistory(r *rand.Rand, plan *Plan, members, events int) (end Phase, problem string) {
	w := &world{members: make([]worldMember, members), edits: 3, partial: 1, labels: 2, suspends: 1, faults: 1 + members/4, restarts: 2, retries: 2, rereads: true}
	serving := r.IntN(2) == 0
	for i := range w.members {
		w.members[i] = worldMember{health: v1alpha1.StateProgressing, age: oldest, progress: oldest}
		if serving {
			w.members[i] = worldMember{told: rev(0), written: rev(0), toldOf: rev(0), writtenOf: rev(0), health: v1alpha1.StateHealthy, age: oldest, progress: oldest}
		}
	}
	if serving {
		w.state = State{Revision: rev(0), Phase: Complete, LastGood: rev(0)}
	}
	decide := func() string {
		before := w.clone()
		in, d := w.decide(plan)
		if problem := violation(plan, before.state, in, d); problem != "" {
			return fmt.Sprintf("%s\nbefore: %+v\ndecision: %+v", problem, before, d)
		}
		return ""
	}
	for range events {
		if problem := decide(); problem != "" {
			return "", problem
		}
		for range 1 + r.IntN(1+members/50) { // a large fleet has several events between two decisions
			can := w.events()
			can[r.IntN(len(can))].apply(w)
		}
	}
	for range 60 + 2*members {
		w.proceed()
		if problem := decide(); problem != "" {
			return "", problem
		}
		if w.hasEnded() {
			return w.state.Phase, ""
		}
	}
	return "", fmt.Sprintf("no end, although nothing further goes wrong: %+v", w)
}

func randomStrategy(r *rand.Rand, members int) Strategy {
	s := Strategy{ProgressDeadline: modelDeadline, OnFailure: []FailureAction{Pause, Rollback}[r.IntN(2)]}
	if r.IntN(4) > 0 {
		s.MaxUnavailable = amount([]string{"1", "2", "1%", "10%", "30%"}[r.IntN(5)])
	}
	for i := range r.IntN(4) {
		var names []string
		for j := range members {
			if r.IntN(4) == 0 {
				names = append(names, name(j))
			}
		}
		w := Wave{Name: fmt.Sprintf("w%d", i), Clusters: named(names...), MaxFailures: r.IntN(2)}
		if r.IntN(2) == 0 {
			w.Soak = modelSoak
		}
		if r.IntN(2) == 0 {
			w.MaxConcurrent = amount([]string{"1", "3", "25%"}[r.IntN(3)])
		}
		s.Waves = append(s.Waves, w)
	}
	return withLast(s, r.IntN(2) == 0)
}

// withLast adds a last wave to a strategy. The events of the world can approve only a wave of this name.
func withLast(s Strategy, manual bool) Strategy {
	s.Waves = append(s.Waves, Wave{Name: "last", Manual: manual})
	return s
}

// amid returns what a decision needs in the middle of a rollout over 1,000 members in ten waves.
func amid(tb testing.TB) (*Plan, Input, State) {
	var s Strategy
	for i := range 9 {
		s.Waves = append(s.Waves, Wave{
			Name: strconv.Itoa(i), MaxConcurrent: amount("25%"), Soak: time.Minute,
			Clusters: &v1alpha1.ClusterSelection{Selectors: selectors("wave", strconv.Itoa(i))},
		})
	}
	s.MaxUnavailable = amount("1%")
	plan := compiled(tb, s)
	in := Input{Revision: rev(1)}
	for i := range 1000 {
		m := Member{
			Member: selection.Member{Name: fmt.Sprintf("member-%04d", i), Labels: map[string]string{"wave": strconv.Itoa(i % 10), "region": "eu"}},
			Target: rev(0), Revision: rev(0), Newest: rev(1), Good: rev(0), State: v1alpha1.StateHealthy, Since: epoch.Add(-time.Hour), ProgressFrom: epoch.Add(-time.Hour),
		}
		if i%10 < 5 {
			m.Target, m.Revision = rev(1), rev(1)
		}
		in.Members = append(in.Members, m)
	}
	return plan, in, State{ID: "a", Revision: rev(1), Phase: Progressing, Wave: "5", Begun: true, Plan: plan.identity, LastGood: rev(0)}
}

func TestADecisionDoesNotAllocateForEachMember(t *testing.T) {
	plan, in, state := amid(t)
	if found := testing.AllocsPerRun(10, func() { plan.Decide(in, state, epoch) }); found > 20 {
		t.Errorf("%.0f allocations for %d members", found, len(in.Members))
	}
}

func BenchmarkDecide(b *testing.B) {
	plan, in, state := amid(b)
	b.ReportAllocs()
	for b.Loop() {
		if d := plan.Decide(in, state, epoch); d.Waits == "" {
			b.Fatal("the rollout is over")
		}
	}
}
