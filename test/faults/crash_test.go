// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// all makes the tests run every point, as `make crash` does. Without it the tests run about one point in thirteen.
var all = os.Getenv("CRASH") == "all"

func TestTheManagerMayDieAtAnyCall(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	f.mortal = func(t *testing.T, e end) *life { return born(t, manager, f.manager, e) }
	f.tryAll(t, maps.Clone(scenarios))
}

// This test kills only the collector of east. The manager and the collector of west keep running. It leaves out the
// scenarios with objects of another owner.
func TestTheCollectorMayDieAtAnyCall(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorExternal)
	f.mortal = func(t *testing.T, e end) *life { return born(t, collector, f.collectors["east"], e) }
	defer born(t, manager, f.manager, end{}).kill()
	defer born(t, collector, f.collectors["west"], end{}).kill()
	ofCollectors := maps.Clone(scenarios)
	maps.DeleteFunc(ofCollectors, func(_ string, s scenario) bool { return s.takeOver != "" || s.inTheWay != "" })
	f.tryAll(t, ofCollectors)
}

// tryAll plays each scenario once without a kill, which gives the list of the program's calls. Then it plays the scenario
// again for the points in this list: for all of them if the variable all is set, and
// otherwise for every 13th.
func (f *proxiedFleet) tryAll(t *testing.T, scenarios map[string]scenario) {
	t.Helper()
	step := 13
	if all {
		step = 1
	}
	var sum pointCounter
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		s := scenarios[name]
		sum.begin()
		t.Run(name, func(t *testing.T) {
			whole := f.play(t, s)
			if s.shares && !isShared(whole) {
				t.Errorf("wrapper web must share its intent, but the manager writes it alone: %q", whole)
			}
			if s.omits && !isWithoutIntent(whole) {
				t.Errorf("this update must need no intent, but the manager writes one first: %q", whole)
			}
			for at := 1 + sum.points%max(1, min(step, len(whole))); at <= len(whole); at += step {
				for _, how := range s.ends() {
					sum.add(t.Run(fmt.Sprintf("%s call %d of %d %s", how, at, len(whole), whole[at-1]), func(t *testing.T) {
						f.play(t, s, end{at: at, how: how})
					}))
				}
			}
		})
		sum.tell(name)
	}
	sum.tellAll(t.Name())
}

type pointCounter struct {
	points, violations int
	// began is the time at which the present scenario began. pointed is the value of the field points at that time.
	began   time.Time
	pointed int
	first   time.Time
}

func (s *pointCounter) begin() {
	if s.began = time.Now(); s.first.IsZero() {
		s.first = s.began
	}
	s.pointed = s.points
}

func (s *pointCounter) add(ok bool) {
	if s.points++; !ok {
		s.violations++
	}
}

func (s *pointCounter) tell(part string) {
	if all {
		_, _ = fmt.Fprintf(os.Stderr, "• %s: %d points (%.0f s), %d violations until now\n",
			part, s.points-s.pointed, time.Since(s.began).Seconds(), s.violations)
	}
}

func (s *pointCounter) tellAll(of string) {
	if all {
		_, _ = fmt.Fprintf(os.Stderr, "= %s: %d points, %d violations, %.0f s\n", of, s.points, s.violations, time.Since(s.first).Seconds())
	}
}

func (s *scenario) ends() []proxyVerdict {
	if s.takeOver != "" {
		return []proxyVerdict{through}
	}
	if s.late {
		return []proxyVerdict{late}
	}
	return []proxyVerdict{lost, unanswered}
}

func (is proxyVerdict) String() string {
	return map[proxyVerdict]string{through: "object replaced before", lost: "killed before", unanswered: "killed after", late: "killed before the late"}[is]
}

// play runs one scenario, in this order:
//
//  1. A first life brings the members to the states of s.before.
//  2. The author writes the states of s.during. The first life dies as ends[0] tells.
//  3. The author writes the states of s.dead.
//  4. One life for each further end starts, works, and dies as its end tells.
//  5. The last life finishes the work, and play compares the members with the model.
//
// Without ends, the first life dies when it has finished step 2. With s.takeOver, play ends after step 2, and no life dies at
// a call. play returns the calls of the first life in step 2.
func (f *proxiedFleet) play(t *testing.T, s scenario, ends ...end) []string {
	t.Helper()
	a := f.newAuthor(t)
	a.report, a.foreground = s.report, s.foreground
	a.approves = s.unmadeBefore || s.unmadeDead || s.restored
	if s.inTheWay != "" {
		a.takeOver("east", s.inTheWay)
	}
	if began := time.Now(); s.omits && began.Sub(f.heartbeats) > member.HeartbeatTimeout/2 {
		earlier := f.mortal(t, end{})
		f.awaitHeartbeats(t, began)
		earlier.kill()
	}
	first, held := f.mortal, (*heldPass)(nil)
	if s.shares {
		held = newHeldPass(t)
		first = func(t *testing.T, e end) *life { return born(t, managerBy(held.clk), f.manager, e) }
	}
	l := first(t, end{})
	defer func() { l.kill() }()
	for i, w := range s.before {
		a.write(w)
		a.rest(s.before[:i+1])
	}
	if len(ends) == 0 {
		ends = []end{{}}
	}
	e := ends[0]
	if s.takeOver != "" {
		e.meanwhile = func() { a.takeOver("east", s.takeOver) }
	}
	a.kept, a.settled = s.leaves, a.recorded()
	restore, accept := func() {}, func() {}
	if s.restored {
		restore = a.snapshot()
	}
	if s.refuses != 0 || s.shares {
		accept = a.refuse(s.refuses, held)
	}
	if s.unmadeBefore {
		l.kill()
		a.unmake()
		e.since = a.shop
		l = f.mortal(t, end{})
	}
	if held != nil {
		held.clk.freeze(true)
	}
	l.count(e)
	for i, w := range s.during {
		a.write(w)
		if held != nil && i == 0 {
			held.awaitBegin(l)
		}
	}
	if held != nil {
		held.letShare(a, l, len(s.during)-1)
	}
	if s.changeByHand != nil {
		s.changeByHand(a)
	}
	if s.takeOver != "" {
		a.rest(s.before, s.during)
		return l.calls()
	}
	if s.refuses != 0 {
		a.eventually(t, "the wrapper's status reports the refusal", func(ctx context.Context) string {
			if is := a.statusLines(ctx); !strings.Contains(is, refusalMessage) && !l.isDead() {
				return is
			}
			return ""
		})
	} else {
		a.restOr(l.died, s.before, s.during)
	}
	calls := l.calls()
	l.kill()
	a.died(&s)
	accept()
	restore()
	if s.unmadeDead {
		a.unmake()
	}
	dead := s.dead
	if s.restored { // the history begins again: the restore took back the states of during
		undone := []*desiredState{nil}
		for _, w := range s.during {
			if w.of() != web {
				undone = append(undone, &desiredState{wrapper: w.of(), absent: true})
			}
		}
		dead = slices.Concat(undone, s.before, s.dead)
	}
	for _, w := range s.dead {
		a.write(w)
	}
	for _, e := range ends[1:] {
		l = f.mortal(t, e)
		a.restOr(l.died, s.before, s.during, dead)
		l.kill()
	}
	l = f.lastLife(t, &s, a, l.late)
	a.rest(s.before, s.during, dead)
	if a.approves {
		a.checkAsked(&s, a.history(dead).last()[web])
	}
	if s.restored && len(s.before) == 0 && len(a.atDeath["east"].Entries) > 0 {
		a.eventually(t, "the Delivery is reported as an orphan", a.orphaned)
		a.rest(s.before, s.during, dead)
	}
	if s.later != nil {
		if s.staysLater != nil {
			a.kept = s.staysLater(a.atDeath)
		}
		for _, w := range s.later {
			a.write(w)
		}
		a.rest(s.before, s.during, dead, s.later)
	}
	select {
	case <-heldBack: // remove the late request from the channel: the last life did not have to write to its API server
	default:
	}
	return calls
}

// lastLife starts the life that finishes the work. If a request of the dead life is still on its way, overtaken is the
// host of the API server to which it goes; otherwise overtaken is "".
func (f *proxiedFleet) lastLife(t *testing.T, s *scenario, a *author, overtaken string) *life {
	t.Helper()
	switch {
	case s.patient:
		clk := newRunning(t)
		a.poll = func() { clk.Step(5 * time.Second) }
		return born(t, managerBy(clk), f.manager, end{})
	case s.away:
		east := f.proxies["east"]
		east.cutOff()
		defer east.misbehavior.Store(nil)
		l := f.mortal(t, end{})
		a.eventually(t, "member west is served", func(ctx context.Context) string { // the wrapper's status would not do: it also waits for east, which is unreachable
			is, err := a.look(ctx)
			if err != nil {
				return err.Error()
			}
			return cmp.Diff(model(history{states: s.dead})["west"], is["west"])
		})
		return l
	case overtaken != "":
		l := born(t, manager, f.manager, end{})
		l.mu.Lock()
		defer l.mu.Unlock()
		l.overtaken = overtaken
		return l
	}
	return f.mortal(t, end{})
}
