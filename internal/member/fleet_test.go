// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// crew is a multicluster-aware part of the manager. It records each connection that the fleet engages it with.
type crew struct {
	mu   sync.Mutex
	all  []engaged
	fail error
}

type engaged struct {
	ctx  context.Context //nolint:containedctx // the test reads it
	conn *Conn
}

func (c *crew) Engage(ctx context.Context, _ multicluster.ClusterName, cl cluster.Cluster) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return c.fail
	}
	c.all = append(c.all, engaged{ctx, cl.(*Conn)}) //nolint:forcetypeassert // the fleet has no other type
	return nil
}

func (c *crew) engagements() []engaged {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]engaged(nil), c.all...)
}

// probed is the result of one probe as a listener gets it.
type probed struct{ was, is ProbeResult }

// running is a fleet that has started, with a crew and a clock that the test moves.
type running struct {
	*Fleet
	crew   *crew
	clock  *clocktesting.FakeClock
	probes chan probed
}

func newRunning(t *testing.T) *running {
	t.Helper()
	clk := clocktesting.NewFakeClock(now)
	r := &running{Fleet: NewFleet(thisHost, clk), crew: &crew{}, clock: clk, probes: make(chan probed, 100)}
	r.OnProbe(func(_ string, was, is ProbeResult) { r.probes <- probed{was, is} })
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { _ = r.Start(ctx, r.crew) })
	t.Cleanup(func() { cancel(); done.Wait() })
	return r
}

func (r *running) next(t *testing.T) probed {
	t.Helper()
	select {
	case p := <-r.probes:
		return p
	case <-time.After(30 * time.Second):
		t.Fatal("no probe")
		return probed{}
	}
}

// waits moves the clock by d as soon as the prober waits for the clock.
func (r *running) waits(t *testing.T, d time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !r.clock.HasWaiters(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the prober does not wait")
		}
	}
	r.clock.Step(d)
}

func (r *running) mustConnect(t *testing.T, server *apiServer, token string) {
	t.Helper()
	r.mustConnectAs(t, server, token, "")
}

func (r *running) mustConnectAs(t *testing.T, server *apiServer, token string, joined types.UID) {
	t.Helper()
	if err := r.Connect(t.Context(), "east", server.config(token), joined); err != nil {
		t.Fatal(err)
	}
}

func TestAConnectedMemberIsEngagedAndProbed(t *testing.T) {
	r, server := newRunning(t), newAPIServer(t)
	r.mustConnect(t, server, "a")
	first := r.next(t)
	if first.was.Probed || !first.is.Usable() {
		t.Errorf("first probe: %+v", first)
	}
	if standing, ok := r.LastProbe("east"); !ok || !standing.Usable() {
		t.Errorf("the last probe: %+v %v", standing, ok)
	}
	r.waits(t, ProbeInterval)
	if second := r.next(t); !second.was.Usable() {
		t.Errorf("second probe: %+v", second)
	}

	r.mustConnect(t, server, "a")
	if got := len(r.crew.engagements()); got != 1 {
		t.Errorf("the same configuration is engaged %d times", got)
	}
	got, err := r.Get(t.Context(), "east")
	if err != nil || got != cluster.Cluster(r.crew.engagements()[0].conn) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := r.Get(t.Context(), "west"); !errors.Is(err, multicluster.ErrClusterNotFound) {
		t.Errorf("an unknown member: %v", err)
	}
}

// Each new configuration replaces the connection. The end of the old connection must not remove the new one.
func TestAMemberWithAnotherConfigurationIsConnectedAgain(t *testing.T) {
	r, server := newRunning(t), newAPIServer(t)
	agents := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, agent := range agents {
		if err := r.Connect(t.Context(), "east", server.configAs(agent), ""); err != nil {
			t.Fatal(err)
		}
		if !r.next(t).is.Usable() {
			t.Fatal("not usable")
		}
	}
	all := r.crew.engagements()
	if len(all) != len(agents) {
		t.Fatalf("%d engagements", len(all))
	}
	for i, e := range all {
		if over, last := e.ctx.Err() != nil, i == len(all)-1; over == last {
			t.Errorf("engagement %d of %d is over: %v", i+1, len(all), over)
		}
	}
	if got, err := r.Get(t.Context(), "east"); err != nil || got != cluster.Cluster(all[len(all)-1].conn) {
		t.Errorf("the fleet has %v, %v", got, err)
	}
}

func TestADisconnectedMemberIsDisengaged(t *testing.T) {
	r, server := newRunning(t), newAPIServer(t)
	r.mustConnect(t, server, "a")
	r.next(t)
	r.Disconnect("east")
	r.Disconnect("east") // a second call does nothing
	if r.crew.engagements()[0].ctx.Err() == nil {
		t.Error("it is still engaged")
	}
	if _, ok := r.LastProbe("east"); ok || r.Conn("east") != nil {
		t.Error("it is still known")
	}
	r.ProbeNow("east")
}

func TestAMemberThatCannotBeEngagedIsNotConnected(t *testing.T) {
	r, server := newRunning(t), newAPIServer(t)
	r.crew.fail = errors.New("no room")
	if err := r.Connect(t.Context(), "east", server.config("a"), ""); !errors.Is(err, r.crew.fail) {
		t.Errorf("got %v", err)
	}
	if r.Conn("east") != nil {
		t.Error("it is connected all the same")
	}
}

func TestProbeNowProbesAtOnceAndAnUnreachableMemberIsProbedMoreOften(t *testing.T) {
	r, server := newRunning(t), newAPIServer(t)
	r.mustConnect(t, server, "a")
	r.next(t)

	server.says(membershipPath, apierrors.NewInternalError(errors.New("etcd")))
	r.ProbeNow("east") // this starts the probe at once; the clock does not move
	lost := r.next(t)
	if lost.is.Usable() || lost.is.Reason != v1alpha1.ReasonUnreachable {
		t.Errorf("%+v", lost.is)
	}
	r.waits(t, time.Second)
	if p := r.next(t); p.is.Usable() {
		t.Errorf("%+v", p.is)
	}
	server.says(membershipPath, membership("host-uid", "east"))
	r.waits(t, RetryInterval)
	back := r.next(t)
	if back.was.Usable() || !back.is.Usable() {
		t.Errorf("%+v", back)
	}
}

// The collector has not written a heartbeat yet. `hostctl join` waits for the first one, so the fleet probes more
// often.
func TestAMemberWithoutAHeartbeatIsProbedMoreOften(t *testing.T) {
	r, server := newRunning(t), newAPIServer(t)
	silent := membership("host-uid", "east")
	silent.Status.RenewTime = metav1.MicroTime{}
	server.says(membershipPath, silent)
	r.mustConnect(t, server, "a")
	r.next(t)
	server.says(membershipPath, membership("host-uid", "east"))
	r.waits(t, time.Second)
	if p := r.next(t); p.is.Heartbeat.IsZero() {
		t.Errorf("%+v", p.is)
	}
}
