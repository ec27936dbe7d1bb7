// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// smallFleets are fleets for which the test explores every reachable state. edits, faults, restarts and retries are how
// often each of these events happens at most. Each fleet has three waves, and the last one is Manual.
var smallFleets = []struct {
	name                             string
	members                          int
	waves                            [][]string
	budget                           string // maxUnavailable; "" for no limit
	concurrent                       string // maxConcurrent of each wave; "" for no limit
	onFailure                        FailureAction
	edits, faults, restarts, retries int
	serving                          bool // before the first event, every member is Healthy with the same revision
	reinstalls                       bool // the wrapper is an operator with rollback: Reinstall
	rereads                          bool // a restarted manager knows nothing of a member until it has read the member
	partial, labels, suspends        int  // more events: an edit that leaves one member as it is, a changed label, and spec.suspend: All
}{
	{"a fleet that has nothing", 3, [][]string{{"m0"}, {"m1"}}, "", "", Pause, 1, 1, 1, 0, false, false, false, 0, 0, 0},
	{"pause", 3, [][]string{{"m0"}, {"m1"}}, "1", "", Pause, 2, 1, 1, 1, true, false, false, 0, 0, 0},
	{"rollback", 3, [][]string{{"m0"}, {"m1"}}, "1", "", Rollback, 1, 2, 0, 0, true, false, false, 0, 0, 0},
	{"four members in pairs", 4, [][]string{{"m0", "m1"}, {"m2"}}, "2", "", Rollback, 1, 1, 1, 0, true, false, false, 0, 0, 0},
	{"a rollback that reinstalls", 3, [][]string{{"m0"}, {"m1"}}, "1", "", Rollback, 1, 1, 1, 0, true, true, true, 0, 0, 0},
	{"a rollback that reinstalls in pairs", 3, [][]string{{"m0", "m1"}}, "2", "", Rollback, 1, 1, 0, 0, true, true, false, 0, 0, 0},
	{"an undo that reinstalls", 3, [][]string{{"m0"}, {"m1"}}, "1", "", Pause, 2, 1, 0, 0, true, true, false, 0, 0, 0},
	{"a rollback that reinstalls one at a time", 3, [][]string{{"m0", "m1"}}, "", "1", Rollback, 1, 1, 0, 0, true, true, false, 0, 0, 0},
	{"a restart that reads one member after the other", 3, [][]string{{"m0"}, {"m1"}}, "1", "", Pause, 1, 1, 1, 1, true, false, true, 0, 0, 0},
	{"edits that leave a member as it is", 3, [][]string{{"m0"}, {"m1"}}, "1", "", Pause, 1, 1, 0, 0, true, false, false, 1, 0, 0},
	{"a rollback of an edit that leaves a member as it is", 3, [][]string{{"m0"}, {"m1"}}, "", "", Rollback, 1, 1, 0, 0, true, false, false, 1, 0, 0},
	{"labels that change", 3, [][]string{{"m0"}, {"m1"}}, "1", "", Pause, 1, 1, 1, 0, true, false, false, 0, 1, 0},
	{"all is suspended for a time", 3, [][]string{{"m0"}, {"m1"}}, "1", "", Rollback, 1, 1, 0, 0, true, false, false, 0, 0, 1},
	{"four members, two edits", 4, [][]string{{"m0"}, {"m1", "m2"}}, "1", "", Pause, 2, 1, 0, 0, true, false, false, 0, 0, 0},
}

func TestEveryOrderOfEventsInASmallFleetKeepsThePromises(t *testing.T) {
	t.Parallel()
	for _, f := range smallFleets {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := Strategy{ProgressDeadline: modelDeadline, OnFailure: f.onFailure}
			for i, names := range f.waves {
				s.Waves = append(s.Waves, Wave{Name: fmt.Sprintf("w%d", i), Clusters: named(names...), Soak: modelSoak})
			}
			s.Waves = append(s.Waves, Wave{Name: "last", Manual: true})
			for i := range s.Waves {
				if f.concurrent != "" {
					s.Waves[i].MaxConcurrent = amount(f.concurrent)
				}
			}
			if f.budget != "" {
				s.MaxUnavailable = amount(f.budget)
			}
			start := &world{
				members: make([]worldMember, f.members), edits: f.edits, faults: f.faults, restarts: f.restarts, retries: f.retries,
				reinstalls: f.reinstalls, rereads: f.rereads, partial: f.partial, labels: f.labels, suspends: f.suspends,
			}
			for i := range start.members {
				start.members[i] = worldMember{health: v1alpha1.StateProgressing, age: oldest, progress: oldest}
				if f.serving {
					start.members[i] = worldMember{told: rev(0), written: rev(0), toldOf: rev(0), writtenOf: rev(0), health: v1alpha1.StateHealthy, age: oldest, progress: oldest}
				}
			}
			if f.serving {
				start.state = State{Revision: rev(0), Phase: Complete, LastGood: rev(0)}
			}
			e := explorer{t: t, plan: compiled(t, s), seen: map[string]bool{}, ends: map[string]bool{}}
			e.explore(start)
			t.Logf("%d states", len(e.seen))
		})
	}
}

type explorer struct {
	t    *testing.T
	plan *Plan
	seen map[string]bool
	ends map[string]bool // keys of worlds from which the rollout ends if only good events follow
}

type visit struct {
	*world
	before *visit
	event  string
}

func (v *visit) String() string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%s\n  %s -> %s", v.before, v.event, v.key())
}

func (e *explorer) explore(start *world) {
	queue := []*visit{{world: start, event: "start"}}
	undecided := map[string]bool{}
	for len(queue) > 0 {
		v := queue[0]
		queue[0] = nil
		queue = queue[1:]
		key := v.key()
		if undecided[key] {
			continue
		}
		undecided[key] = true
		e.check(v)
		key = v.key()
		if e.seen[key] {
			continue
		}
		e.seen[key] = true
		e.checkSecond(v)
		e.checkEnd(v)
		for _, event := range v.events() {
			next := v.clone()
			event.apply(next)
			queue = append(queue, &visit{next, v, event.what})
		}
	}
}

// check makes a decision for a state of the world, and fails the test if the decision breaks a rule of the package.
func (e *explorer) check(v *visit) {
	before := v.clone()
	in, d := v.decide(e.plan)
	if problem := violation(e.plan, before.state, in, d); problem != "" {
		e.t.Fatalf("%s%s\ndecision: %+v", problem, v, d)
	}
}

// checkSecond fails the test if a second decision at the same time changes anything.
func (e *explorer) checkSecond(v *visit) {
	again, second := v.clone().decide(e.plan)
	for i := range second.Targets {
		if second.Targets[i].Rendering != again.Members[i].Target {
			e.t.Fatalf("a second decision moves %s to %q%s\n%+v", name(i), second.Targets[i].Rendering, v, second)
		}
	}
	if first := v.state; second.State.ID != first.ID || second.State.Wave != first.Wave || second.State.Phase != first.Phase {
		e.t.Fatalf("a second decision changes the state%s\n%+v\n%+v", v, first, second.State)
	}
}

// checkEnd lets only good events happen from this state on, and fails the test if the rollout does not end.
func (e *explorer) checkEnd(v *visit) {
	w := v.clone()
	path := []string{}
	for range 60 {
		key := w.key()
		if e.ends[key] {
			break
		}
		path = append(path, key)
		w.proceed()
		_, d := w.decide(e.plan)
		if w.hasEnded() {
			e.ends[w.key()] = true
			break
		}
		if len(path) == 60 {
			e.t.Fatalf("no end, without any further trouble: %s\n%+v\nfrom%s", w.key(), d, v)
		}
	}
	for _, key := range path {
		e.ends[key] = true
	}
}
