// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// runningClock follows the real time, unless it is frozen. The test can also move it forward.
type runningClock struct {
	*clocktesting.FakeClock
	mu     sync.Mutex
	frozen bool
}

func newRunning(t *testing.T) *runningClock {
	t.Helper()
	r := &runningClock{FakeClock: clocktesting.NewFakeClock(time.Now())}
	done := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		for last := time.Now(); ; {
			select {
			case <-done:
				return
			case now := <-time.After(5 * time.Millisecond):
				r.mu.Lock()
				if !r.frozen {
					r.Step(now.Sub(last))
				}
				r.mu.Unlock()
				last = now
			}
		}
	})
	t.Cleanup(func() { close(done); ticking.Wait() })
	return r
}

// freeze stops the clock, or starts it again.
func (r *runningClock) freeze(is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = is
}

// isProbe reports whether a request is the manager's probe of a member.
func isProbe(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/memberships/")
}

// cutOff makes the proxy break every connection of Fairlead's programs to this member. The result counts the probes that the
// manager sends from then on.
func (p *proxy) cutOff() *atomic.Int64 {
	tries := &atomic.Int64{}
	var cut misbehavior = func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		if isProbe(r) {
			tries.Add(1)
		}
		panic(http.ErrAbortHandler)
	}
	p.misbehavior.Store(&cut)
	p.server.CloseClientConnections()
	return tries
}

// After an hour without an answer, the manager must serve the member as soon as the next probe succeeds. It must need no
// restart, and no backoff that grew during the hour may delay it.
func TestAPartitionOfAnHourHealsWithinOneProbe(t *testing.T) {
	f, clk := newFleet(t, v1alpha1.CollectorHost), newRunning(t)
	l := born(t, managerBy(clk), f.manager, end{})
	defer l.kill()
	p := f.newPartition(t)

	tries := f.proxies["east"].cutOff()
	defer f.proxies["east"].misbehavior.Store(nil)
	p.change()
	for began := clk.Now(); clk.Since(began) < time.Hour; {
		before := tries.Load()
		clk.Step(member.RetryInterval)
		f.eventually(t, "the manager probes the unreachable member again", func(context.Context) string {
			if tries.Load() == before {
				return "nobody has"
			}
			return ""
		})
	}

	clk.freeze(true)
	heard := make(chan struct{})
	var once sync.Once
	var healed misbehavior = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if isProbe(r) {
			once.Do(func() { close(heard) })
		}
		next.ServeHTTP(w, r)
	}
	f.proxies["east"].count()
	f.proxies["east"].misbehavior.Store(&healed)
	clk.Step(member.RetryInterval)
	select {
	case <-heard:
	case <-time.After(settleWithin):
		t.Fatalf("the manager has not probed again within %s", member.RetryInterval)
	}
	clk.freeze(false)
	p.heals()
}

// This test makes a partition in real time. So it also meets the timeouts of the network, the kernel and the libraries, which
// TestAPartitionOfAnHourHealsWithinOneProbe skips with its simulated clock.
func TestAPartitionOfAMinuteHeals(t *testing.T) {
	if !all {
		t.Skip("takes a minute: run with CRASH=all")
	}
	f := newFleet(t, v1alpha1.CollectorHost)
	l := born(t, managerBy(clock.RealClock{}), f.manager, end{})
	defer l.kill()
	p := f.newPartition(t)

	f.proxies["east"].cutOff()
	defer f.proxies["east"].misbehavior.Store(nil)
	p.change()
	<-time.After(time.Minute)
	f.proxies["east"].count()
	f.proxies["east"].misbehavior.Store(nil)
	p.heals()
}

// partition has four authors with a wrapper each. While a member is unreachable, one of the wrappers is edited, one created, one
// deleted, and one stays unchanged.
type partition struct {
	*proxiedFleet
	t                                *testing.T
	edited, made, deleted, untouched *author
	third                            *desiredState
}

func (f *proxiedFleet) newPartition(t *testing.T) *partition {
	t.Helper()
	p := &partition{proxiedFleet: f, t: t, edited: f.newAuthor(t), made: f.newAuthor(t), deleted: f.newAuthor(t), untouched: f.newAuthor(t)}
	p.third = &desiredState{objects: map[string]string{"a": "3", "b": "1", "d": "1"}, members: both}
	for _, a := range []*author{p.edited, p.deleted, p.untouched} {
		a.write(first)
	}
	for _, a := range []*author{p.edited, p.deleted, p.untouched} {
		a.rest([]*desiredState{first})
	}
	return p
}

func (p *partition) change() {
	p.t.Helper()
	p.edited.write(&desiredState{objects: map[string]string{"a": "2", "b": "2"}, members: both})
	p.edited.eventually(p.t, "member west is served", func(ctx context.Context) string { return p.edited.served(ctx, "west") })
	p.edited.write(p.third)
	p.made.write(first)
	p.deleted.write(nil)
	for _, a := range []*author{p.edited, p.made} {
		a.eventually(p.t, "member west is served", func(ctx context.Context) string { return a.served(ctx, "west") })
	}
}

func (p *partition) heals() {
	p.t.Helper()
	p.edited.rest([]*desiredState{first, p.third})
	p.made.rest([]*desiredState{first})
	p.deleted.rest([]*desiredState{first, nil})
	p.untouched.rest([]*desiredState{first})
	writes := make(map[string]int)
	for _, call := range p.proxies["east"].counted() {
		if strings.Contains(call, p.untouched.shop) && !strings.HasPrefix(call, http.MethodGet) {
			p.t.Errorf("the manager sent %s, although the wrapper in that namespace has not changed", call)
		}
		if strings.Contains(call, "/configmaps/") && !strings.HasPrefix(call, http.MethodGet) {
			writes[call]++
		}
	}
	var twice []string
	for call, n := range writes {
		if n > 1 {
			twice = append(twice, call)
		}
	}
	if slices.Sort(twice); len(twice) > 0 || len(writes) == 0 {
		p.t.Errorf("of the manager's %d writes, these were sent twice: %v", len(writes), twice)
	}
	for _, a := range []*author{p.edited, p.made, p.untouched} {
		a.write(nil)
		a.rest([]*desiredState{first, nil})
	}
}
