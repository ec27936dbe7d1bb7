// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
)

// lock simulates the lease on the API server. Each write moves the clock forward by takes. If fails is true, the lock
// refuses each write.
type lock struct {
	resourcelock.Interface
	clock  *clocktesting.FakeClock
	holder string
	takes  time.Duration
	fails  bool
	writes int
	during func()
	// reads is called at each read.
	reads func()
}

func (l *lock) Identity() string { return "host_pod-1_me" }

func (l *lock) Describe() string { return "the lease" }

func (l *lock) RecordEvent(string) {}

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if l.reads != nil {
		l.reads()
	}
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, []byte(l.holder), nil
}

func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

func (l *lock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.clock.Step(l.takes)
	l.writes++
	if l.during != nil {
		l.during()
	}
	if l.fails {
		return errors.New("no")
	}
	l.holder = record.HolderIdentity
	return nil
}

func newTestGuard(value string) (*Guard, *lock) {
	l := &lock{clock: clocktesting.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))}
	return &Guard{Interface: l, clock: l.clock, timing: Default(), proof: Proof{value: value}}, l
}

var mine, nobodys = resourcelock.LeaderElectionRecord{HolderIdentity: "host_pod-1_me"}, resourcelock.LeaderElectionRecord{}

func TestOnlyAManagerWithAFreshLeaseWrites(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(*Guard, *lock) error
		words   string // "" if the manager may write
	}{
		"before it has the lease":         {func(*Guard, *lock) error { return nil }, "does not hold the lease"},
		"as soon as it has it":            {func(g *Guard, _ *lock) error { return g.Create(t.Context(), mine) }, ""},
		"as soon as it has taken it over": {func(g *Guard, _ *lock) error { return g.Update(t.Context(), mine) }, ""},
		"after it has given it back": {func(g *Guard, _ *lock) error {
			return errors.Join(g.Create(t.Context(), mine), g.Update(t.Context(), nobodys))
		}, "does not hold the lease"},
		"after it could not tell whether it was given back": {func(g *Guard, l *lock) error {
			err := g.Create(t.Context(), mine)
			l.fails = true
			_ = g.Update(t.Context(), nobodys)
			return err
		}, "does not hold the lease"},
		"until the fence falls": {func(g *Guard, l *lock) error {
			defer l.clock.Step(9999 * time.Millisecond)
			return g.Create(t.Context(), mine)
		}, ""},
		"after it was frozen for longer": {func(g *Guard, l *lock) error {
			defer l.clock.Step(10 * time.Second)
			return g.Create(t.Context(), mine)
		}, "renewed 10s ago"},
		"counted from before the renewal": {func(g *Guard, l *lock) error { l.takes = 11 * time.Second; return g.Create(t.Context(), mine) }, "renewed 11s ago"},
		"after a renewal that failed":     {func(g *Guard, l *lock) error { l.fails = true; _ = g.Create(t.Context(), mine); return nil }, "does not hold the lease"},
		"a renewal that was not due counts no": {func(g *Guard, l *lock) error {
			err := g.Create(t.Context(), mine)
			l.clock.Step(4 * time.Second)
			err = errors.Join(err, g.Update(t.Context(), mine))
			l.clock.Step(6 * time.Second)
			return err
		}, "renewed 10s ago"},
		"when the machine's clock was moved": {func(g *Guard, l *lock) error {
			defer l.clock.SetTime(l.clock.Now().Add(time.Hour))
			return g.Create(t.Context(), mine)
		}, "renewed 1h0m0s ago"},
	} {
		t.Run(name, func(t *testing.T) {
			g, l := newTestGuard("")
			if err := test.happens(g, l); err != nil {
				t.Fatal(err)
			}
			err := g.Await(t.Context())
			if (err == nil) != (test.words == "") || err != nil && !strings.Contains(err.Error(), test.words) {
				t.Error(err)
			}
		})
	}
}

// The elector calls Update every second, but the API server gets a request only every 5 s.
func TestTheLeaseIsRenewedEveryFiveSeconds(t *testing.T) {
	g, l := newTestGuard("")
	for range 60 {
		if err := g.Update(t.Context(), mine); err != nil {
			t.Fatal(err)
		}
		l.clock.Step(time.Second)
	}
	if l.writes != 12 {
		t.Errorf("%d renewals within a minute", l.writes)
	}
}

// Another manager may begin as soon as the API server has stored the write that releases the lease, so this manager must
// stop before that write.
func TestTheWritesEndBeforeTheLeaseIsGivenBack(t *testing.T) {
	g, l := newTestGuard("")
	if err := g.Create(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	l.during = func() {
		if err := g.Await(t.Context()); err == nil || g.Left() != 0 {
			t.Errorf("it still writes while the lease is given back: %v, %s", err, g.Left())
		}
	}
	if err := g.Update(t.Context(), nobodys); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyTheLeaseOfADeadPredecessorIsTakenBack(t *testing.T) {
	for name, test := range map[string]struct {
		proof, holder string
		taken         bool
	}{
		"the process before in the same pod":        {"pod-1", "host_pod-1_other", true},
		"on a host that was renamed since":          {"pod-1", "another_pod-1_other", true},
		"another pod on the same host":              {"pod-1", "host_pod-2_other", false},
		"the same host, and no proof":               {"", "host_other", false},
		"a predecessor of a version without proofs": {"pod-1", "host_other", false},
		"a host whose name looks like a proof":      {"pod-1", "pod-1_other", false},
		"this process":                              {"pod-1", "host_pod-1_me", false},
		"nobody":                                    {"pod-1", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			g, l := newTestGuard(test.proof)
			l.holder = test.holder
			record, raw, err := g.Get(t.Context())
			if err != nil || string(raw) != test.holder {
				t.Fatal(err, raw)
			}
			if taken := record.HolderIdentity == "" && test.holder != ""; taken != test.taken {
				t.Errorf("the elector sees the holder %q", record.HolderIdentity)
			}
		})
	}
}

func TestAManagerThatTookItsLeaseBackWritesAfterAPause(t *testing.T) {
	g, l := newTestGuard("pod-1")
	l.holder = "host_pod-1_other"
	if _, _, err := g.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.fails = true
	_ = g.Update(t.Context(), mine) // another manager was faster
	l.fails, l.holder = false, "host_pod-2_other"
	if _, _, err := g.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g.takingBack {
		t.Error("it would take back the lease of another manager")
	}
	l.holder = "host_pod-1_other"
	if _, _, err := g.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.takes = time.Second
	if err := g.Update(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	began := l.clock.Now()
	written := make(chan error, 1)
	go func() { written <- g.Await(t.Context()) }()
	for range 49 {
		for waiting := false; !waiting; waiting = l.clock.HasWaiters() {
			select {
			case err := <-written:
				t.Fatalf("a write began %s after the lease was taken back: %v", l.clock.Since(began), err)
			case <-time.After(time.Millisecond):
			}
		}
		l.clock.Step(100 * time.Millisecond)
	}
	for !l.clock.HasWaiters() {
		<-time.After(time.Millisecond)
	}
	l.clock.Step(100 * time.Millisecond)
	if err := <-written; err != nil {
		t.Error(err)
	}
	// The pause does not begin again at a renewal or a later read.
	if err := g.Update(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if err := g.Await(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestThePauseEndsWithTheWrite(t *testing.T) {
	g, l := newTestGuard("pod-1")
	l.holder = "host_pod-1_other"
	_, _, _ = g.Get(t.Context())
	if err := g.Update(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Await(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The API server stores the write that takes the lease back, but its answer is lost. The next read shows the manager's own
// name, and the pause must still be kept.
func TestThePauseIsKeptWhenTheAnswerIsLost(t *testing.T) {
	g, l := newTestGuard("pod-1")
	l.holder = "host_pod-1_other"
	_, _, _ = g.Get(t.Context())
	l.fails, l.during = true, func() { l.holder = g.Identity() }
	if err := g.Update(t.Context(), mine); err == nil {
		t.Fatal("the answer came")
	}
	l.fails, l.during = false, nil
	if record, _, _ := g.Get(t.Context()); record.HolderIdentity != g.Identity() {
		t.Fatalf("the elector sees the holder %q", record.HolderIdentity)
	}
	if err := g.Update(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if v := g.judge(); v.Wait != Default().HoldOff {
		t.Errorf("%+v", v)
	}
}

// A manager must neither release a lease that another manager holds, nor take it back: both managers may be alive.
func TestAManagerThatReadsAnotherHolderStopsAtOnce(t *testing.T) {
	for name, other := range map[string]string{"another pod": "host_pod-2_other", "the same proof": "host_pod-1_other", "nobody": ""} {
		t.Run(name, func(t *testing.T) {
			g, l := newTestGuard("pod-1")
			if err := g.Create(t.Context(), mine); err != nil {
				t.Fatal(err)
			}
			l.holder = other
			record, _, err := g.Get(t.Context())
			if err != nil || record.HolderIdentity != other {
				t.Errorf("the elector sees the holder %q: %v", record.HolderIdentity, err)
			}
			if err := g.Await(t.Context()); err == nil || g.Left() != 0 {
				t.Errorf("it still writes: %v, %s", err, g.Left())
			}
			if err := g.Update(t.Context(), nobodys); err == nil || l.holder != other || l.writes != 1 {
				t.Errorf("%v: the holder is %q after %d writes", err, l.holder, l.writes)
			}
		})
	}
}

// Before it releases the lease, the elector reads the lease. But it decides by an earlier read, so without the Guard it
// would release the lease of another manager.
func TestALeaseThatAnotherManagerHoldsIsNotGivenBack(t *testing.T) {
	g, l := newTestGuard("")
	timing := Default()
	ctx, cancel := context.WithCancel(t.Context())
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{Lock: g, LeaseDuration: timing.Duration, RenewDeadline: timing.GiveUp,
		RetryPeriod: timing.Retry, ReleaseOnCancel: true, Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { cancel() }, OnStoppedLeading: func() {},
		}})
	if err != nil {
		t.Fatal(err)
	}
	l.during = func() { l.during, l.reads = nil, func() { l.holder = "host_pod-2_other" } }
	elector.Run(ctx)
	if l.holder != "host_pod-2_other" {
		t.Errorf("the holder is %q", l.holder)
	}
}
