// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/member"
)

func TestTaskFor(t *testing.T) {
	for name, test := range map[string]struct {
		mode     v1alpha1.CollectorMode
		grants   []string
		stranger bool
		want     task
	}{
		"collector Host: the manager runs the collector":     {mode: v1alpha1.CollectorHost, grants: permissions.DefaultGrants(), want: task{inspect: true, observe: true}},
		"collector Host, every group granted":                {mode: v1alpha1.CollectorHost, grants: []string{"any"}, want: task{inspect: true, observe: true, letRead: true}},
		"collector External, every group granted":            {mode: v1alpha1.CollectorExternal, grants: []string{"any"}, want: task{inspect: true, letRead: true}},
		"collector External, some groups granted":            {mode: v1alpha1.CollectorExternal, grants: permissions.DefaultGrants(), want: task{inspect: true}},
		"collector External, grants unknown":                 {mode: v1alpha1.CollectorExternal, want: task{inspect: true}},
		"collector Member: the manager reads the Deployment": {mode: v1alpha1.CollectorMember, grants: permissions.DefaultGrants(), want: task{inspect: true, deployed: true}},
		"collector Member, every group granted":              {mode: v1alpha1.CollectorMember, grants: []string{"any"}, want: task{inspect: true, deployed: true, letRead: true}},
		"another cluster, collector Host":                    {mode: v1alpha1.CollectorHost, grants: []string{"any"}, stranger: true},
		"another cluster, collector External":                {mode: v1alpha1.CollectorExternal, grants: []string{"any"}, stranger: true},
		"another cluster, collector Member":                  {mode: v1alpha1.CollectorMember, stranger: true},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, taskFor(test.mode, member.ProbeResult{Ours: !test.stranger, Grants: test.grants}), cmp.AllowUnexported(task{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// crew is a Collectors whose tasks the test starts and ends.
type crew struct {
	*Collectors
	clock *clocktesting.FakeClock
	runs  chan *watch
	woken chan string
}

// watch is one run of a member's collector.
type watch struct {
	conn *member.Conn
	ctx  context.Context //nolint:containedctx // the test reads it
	ends chan error      // the test sends the error with which the run ends
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	clk := clocktesting.NewFakeClock(now)
	c := &crew{clock: clk, runs: make(chan *watch, 10), woken: make(chan string, 10)}
	c.Collectors = NewCollectors("v", 0, clk, func(name string) { c.woken <- name })
	c.begin = func(t task, _ string, conn *member.Conn) (func(context.Context) error, error) {
		return func(ctx context.Context) error {
			if !t.observe { // an inspection alone is no collector, so the test does not see it
				<-ctx.Done()
				return ctx.Err()
			}
			w := &watch{conn: conn, ctx: ctx, ends: make(chan error, 1)}
			c.runs <- w
			return <-w.ends
		}, nil
	}
	return c
}

// engage connects member east again. disengage ends that connection.
func (c *crew) engage(t *testing.T) (conn *member.Conn, disengage func()) {
	t.Helper()
	conn, err := member.Connect("east", &rest.Config{Host: "https://192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Engage(ctx, "east", conn); err != nil {
		t.Fatal(err)
	}
	return conn, cancel
}

func (c *crew) set(is member.ProbeResult) { c.Set("east", v1alpha1.CollectorHost, is) }

func (c *crew) next(t *testing.T) *watch {
	t.Helper()
	return receive(t, c.runs)
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(30 * time.Second):
		t.Fatal("no value arrives on the channel")
		panic("unreachable")
	}
}

// pauses waits until a task waits for its restart, and then moves the clock by d.
func (c *crew) pauses(t *testing.T, d time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !c.clock.HasWaiters(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("no goroutine waits for the clock")
		}
	}
	c.clock.Step(d)
}

// idle gives other goroutines time, and fails the test if one of them has started a collector meanwhile.
func (c *crew) idle(t *testing.T, why string) {
	t.Helper()
	for range 10_000 {
		runtime.Gosched()
	}
	if len(c.runs) > 0 {
		t.Error(why)
	}
}

func TestACollectorThatEndsIsRestartedWithABackoff(t *testing.T) {
	c := newCrew(t)
	conn, disengage := c.engage(t)
	c.set(well())
	if c.ended("east") != nil {
		t.Error("the task counts as ended before it began")
	}
	first := c.next(t)
	for i, test := range []struct {
		early, late time.Duration // the jitter is at most a tenth of the pause
		lasted      time.Duration
	}{
		{early: 990 * time.Millisecond, late: 120 * time.Millisecond},
		{early: 1990 * time.Millisecond, late: 220 * time.Millisecond},
		{early: 3990 * time.Millisecond, late: 420 * time.Millisecond},
		{early: 990 * time.Millisecond, late: 120 * time.Millisecond, lasted: resetAfter},
	} {
		c.clock.Step(test.lasted)
		why := errors.New("the cluster is another member")
		first.ends <- why
		if name := receive(t, c.woken); name != "east" {
			t.Errorf("end %d: news is called for member %s", i, name)
		}
		if e := c.ended("east"); e == nil || !errors.Is(e.err, why) || !e.at.Equal(c.clock.Now()) {
			t.Errorf("end %d: the recorded end is %+v", i, e)
		}
		c.pauses(t, test.early)
		c.idle(t, "it is started again too early")
		c.clock.Step(test.late)
		if first = c.next(t); first.conn != conn {
			t.Error("the restarted task uses another connection")
		}
	}

	first.ends <- nil // a task that ends without an error is restarted too
	receive(t, c.woken)
	if e := c.ended("east"); !errors.Is(e.err, errNoReason) {
		t.Errorf("%+v", e)
	}
	c.mu.Lock()
	through := c.running["east"].through
	c.mu.Unlock()
	disengage()
	receive(t, through) // the task ends at once, without the pause before a restart
	if len(c.runs) > 0 {
		t.Error("the task is started again although the connection has ended")
	}
}

func TestMakingACollectorIsRetried(t *testing.T) {
	c := newCrew(t)
	var mu sync.Mutex
	broken, works := true, c.begin
	c.begin = func(t task, name string, conn *member.Conn) (func(context.Context) error, error) {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			return nil, errors.New("no room")
		}
		return works(t, name, conn)
	}
	c.engage(t)
	c.set(well())
	receive(t, c.woken)
	mu.Lock()
	broken = false
	mu.Unlock()
	c.pauses(t, 2*time.Second)
	c.next(t).ends <- nil
}

func TestACollectorEndsWithItsConnectionOrItsTask(t *testing.T) {
	for name, end := range map[string]func(c *crew, disengage func()){
		"the connection ends":                    func(_ *crew, disengage func()) { disengage() },
		"the MemberCluster is deleted":           func(c *crew, _ func()) { c.Forget("east") },
		"a probe no longer finds the member":     func(c *crew, _ func()) { c.set(member.ProbeResult{Probed: true, Reachable: true}) },
		"the collector moves out of the manager": func(c *crew, _ func()) { c.Set("east", v1alpha1.CollectorExternal, well()) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t)
			_, disengage := c.engage(t)
			defer disengage()
			c.set(well())
			w := c.next(t)
			end(c, disengage)
			receive(t, w.ctx.Done())
			w.ends <- w.ctx.Err()
			c.idle(t, "it is started again")
			if len(c.woken) > 0 || c.ended("east") != nil {
				t.Error("the end of a cancelled task must not count as a failure")
			}
		})
	}
}

func TestAnOutageDoesNotEndACollector(t *testing.T) {
	c := newCrew(t)
	c.engage(t)
	c.set(well())
	w := c.next(t)
	lost := well()
	lost.Reachable, lost.Valid = false, false
	c.set(lost)
	c.idle(t, "another one is started")
	if w.ctx.Err() != nil {
		t.Error("the outage ended the task")
	}
	w.ends <- nil
}

func TestNoCollectorUsesANewConnectionBeforeItsFirstProbe(t *testing.T) {
	c := newCrew(t)
	_, end := c.engage(t)
	c.set(well())
	first := c.next(t)
	end()
	first.ends <- nil
	conn, end := c.engage(t)
	defer end()
	c.idle(t, "it is collected by")
	c.set(well())
	next := c.next(t)
	if next.conn != conn {
		t.Error("the task must use the new connection")
	}
	next.ends <- nil
}

func TestOnlyOneCollectorOfAMemberRunsAtATime(t *testing.T) {
	c := newCrew(t)
	_, end := c.engage(t)
	c.set(well())
	first := c.next(t)

	end()
	c.engage(t)
	c.set(well())
	receive(t, first.ctx.Done())
	_, end = c.engage(t) // another connection, while the first collector has not ended yet
	defer end()
	c.set(well())
	c.idle(t, "the next collector runs beside the last")

	first.ends <- first.ctx.Err()
	last := c.next(t)
	if last.ctx.Err() != nil || last.conn == first.conn {
		t.Error("the task of an earlier connection runs")
	}
	last.ends <- nil
}
