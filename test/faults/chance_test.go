// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// TestTheManagerMayDieInAnyHistory generates random histories, and kills the manager up to three times in each. A failed run
// can be repeated: the same SEED generates the same histories.
func TestTheManagerMayDieInAnyHistory(t *testing.T) {
	seed, histories, points := uint64(1), 2, 3
	if all {
		histories, points = 20, 8
	}
	if s := os.Getenv("SEED"); s != "" {
		given, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("SEED is a number, not %q", s)
		}
		seed = given
	}
	f := newFleet(t, v1alpha1.CollectorHost)
	f.mortal = func(t *testing.T, e end) *life { return born(t, manager, f.manager, e) }
	var sum pointCounter
	for n := range histories {
		chance := rand.New(rand.NewPCG(seed, uint64(n))) //nolint:gosec // the histories must be repeatable
		s := randomHistory(chance)
		sum.begin()
		t.Run(fmt.Sprintf("history %d of seed %d: %s", n+1, seed, s.String()), func(t *testing.T) {
			whole := len(f.play(t, s))
			for range points {
				ends := []end{{at: 1 + chance.IntN(max(1, whole)), how: death(chance)}}
				for range chance.IntN(3) {
					ends = append(ends, end{at: 1 + chance.IntN(2*whole+10), how: death(chance)})
				}
				sum.add(t.Run(fmt.Sprint(ends), func(t *testing.T) { f.play(t, s, ends...) }))
			}
		})
		sum.tell(s.String())
	}
	sum.tellAll(fmt.Sprintf("%s, seed %d", t.Name(), seed))
}

func death(chance *rand.Rand) proxyVerdict { return []proxyVerdict{lost, unanswered}[chance.IntN(2)] }

// String describes an end in the name of a subtest.
func (e end) String() string { return fmt.Sprintf("%s call %d", e.how, e.at) }

// String lists the states of each phase.
func (s *scenario) String() string {
	words := ""
	for _, phase := range []struct {
		name   string
		states []*desiredState
	}{{"", s.before}, {" | ", s.during}, {" | dead: ", s.dead}} {
		words += phase.name
		for i, w := range phase.states {
			if i > 0 {
				words += ", "
			}
			words += w.String()
		}
	}
	return words
}

// String describes a desired state in a few characters.
func (w *desiredState) String() string {
	if w == nil {
		return "nothing"
	}
	return fmt.Sprintf("%v on %v", w.objects, w.members)
}

// randomHistory returns a random history. An author cannot create a wrapper again while the manager still deletes the old
// one, so randomHistory deletes a wrapper only when no push is under way, or at the end. The model does not know the end
// of a history in which the API server refuses an object, so the last state never has such an object.
func randomHistory(chance *rand.Rand) scenario {
	var s scenario
	for range chance.IntN(3) {
		s.before = append(s.before, randomState(chance, len(s.before) > 0, false))
	}
	if n := len(s.before); n > 1 && s.before[n-1] == nil && s.before[n-2] == nil {
		s.before = s.before[:n-1]
	}
	there := len(s.before) > 0 && s.before[len(s.before)-1] != nil
	goesOn := chance.IntN(2) == 0
	for range 1 + chance.IntN(2) {
		s.during = append(s.during, randomState(chance, false, goesOn))
	}
	if !goesOn {
		if there && chance.IntN(4) == 0 {
			s.during = append(s.during, nil)
		}
		return s
	}
	return scenario{before: s.before, during: s.during, dead: []*desiredState{randomState(chance, true, false)}}
}

func randomState(chance *rand.Rand, mayDelete, mayRefuse bool) *desiredState {
	if mayDelete && chance.IntN(4) == 0 {
		return nil
	}
	w := &desiredState{objects: make(map[string]string), members: [][]string{{"east"}, {"west"}, both, both}[chance.IntN(4)]}
	names := []string{"a", "b", "c", "d"}
	for _, i := range chance.Perm(len(names))[:1+chance.IntN(len(names))] {
		w.objects[names[i]] = strconv.Itoa(1 + chance.IntN(3))
		if mayRefuse && chance.IntN(8) == 0 {
			w.objects[names[i]] = refused
		}
	}
	return w
}
