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
)

// all is true if every point is run, as in `make crash`. Otherwise only some points are run.
var all = os.Getenv("CRASH") == "all"

func TestTheManagerMayDieAtAnyCall(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	f.mortal = func(t *testing.T, e end) *life { return born(t, manager, f.manager, e) }
	f.tryAll(t, maps.Clone(scenarios))
}

// Only the collector of east dies. The manager and the other collector keep running.
func TestTheCollectorMayDieAtAnyCall(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorExternal)
	f.mortal = func(t *testing.T, e end) *life { return born(t, collector, f.collectors["east"], e) }
	defer born(t, manager, f.manager, end{}).kill()
	defer born(t, collector, f.collectors["west"], end{}).kill()
	ofCollectors := maps.Clone(scenarios)
	maps.DeleteFunc(ofCollectors, func(_ string, s scenario) bool { return s.takeOver != "" || s.inTheWay != "" })
	f.tryAll(t, ofCollectors)
}

// tryAll runs all points of the scenarios, or some of them.
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
			if s.omits && !isWithoutIntent(whole) {
				t.Errorf("the manager writes an intent: %q", whole)
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

// pointCounter counts the points that were run and reports the progress.
type pointCounter struct {
	points, violations int
	// began is the start of the present part, and the number of points at that time.
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

// tell prints the progress for people. The test does not depend on it.
func (s *pointCounter) tell(part string) {
	if all {
		_, _ = fmt.Fprintf(os.Stderr, "• %s: %d points (%.0f s), %d violations by now\n",
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
	return map[proxyVerdict]string{through: "overtaken at", lost: "killed before", unanswered: "killed after", late: "killed and late at"}[is]
}

// play runs a scenario with a wrapper of its own. The first life that is killed begins when all is settled. The next
// lives continue its work, and are killed too. The last life is not killed. play compares the state of the members with
// the model. It returns the calls that led to the desired state.
func (f *proxiedFleet) play(t *testing.T, s scenario, ends ...end) []string {
	t.Helper()
	a := f.newAuthor(t)
	a.report, a.foreground = s.report, s.foreground
	a.approves = s.unmadeBefore || s.unmadeDead || s.restored
	if s.inTheWay != "" {
		a.takeOver("east", s.inTheWay)
	}
	l := f.mortal(t, end{})
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
	if s.refuses != 0 {
		accept = a.refuse(s.refuses)
	}
	if s.unmadeBefore {
		l.kill()
		a.unmake()
		e.since = a.shop
		l = f.mortal(t, end{})
	}
	l.count(e)
	for _, w := range s.during {
		a.write(w)
	}
	if s.changeByHand != nil {
		s.changeByHand(a)
	}
	if s.takeOver != "" {
		a.rest(s.before, s.during)
		return l.calls()
	}
	if s.refuses != 0 {
		a.eventually(t, "the status tells of the refusal", func(ctx context.Context) string {
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
	if s.restored { // the host has the states of before again
		dead = slices.Concat([]*desiredState{nil}, s.before, s.dead)
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
		a.kept = s.staysLater(a.atDeath)
		for _, w := range s.later {
			a.write(w)
		}
		a.rest(s.before, s.during, dead, s.later)
	}
	select {
	case <-heldBack: // the last life wrote nothing there
	default:
	}
	return calls
}

// lastLife starts the life that finishes the work. overtaken is the API server to which a request of the dead life is
// still on its way.
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
		a.eventually(t, "the other is served", func(ctx context.Context) string { // the status waits for a member that is away
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
