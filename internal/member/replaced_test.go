// SPDX-License-Identifier: Apache-2.0

package member

import (
	"runtime"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestALateResultOfAReplacedConnectionIsDropped(t *testing.T) {
	r, server := newRunning(t), newAPIServer(t)
	r.mustConnect(t, server, "a")
	r.next(t)
	old := r.members["east"]
	if err := r.Connect(t.Context(), "east", server.configAs("b"), ""); err != nil {
		t.Fatal(err)
	}
	r.next(t)

	// late is the result of a probe of the old connection, which ends only after the connection was replaced.
	late := ProbeResult{Probed: true, Reachable: true, Reason: v1alpha1.ReasonUnauthorized}
	if _, told := r.tell(old, ProbeResult{}, late); told {
		t.Error("the old prober does not learn that its connection was replaced")
	}
	if len(r.probes) != 0 {
		t.Errorf("listeners were told %+v", <-r.probes)
	}
	if standing, _ := r.LastProbe("east"); !standing.Usable() {
		t.Errorf("the last probe of the new connection: %+v", standing)
	}
}

func TestANewConnectionIsEngagedAfterTheListenersOfTheOldOneReturn(t *testing.T) {
	r, server := newRunning(t), newAPIServer(t)
	telling, release, engagedMeanwhile := make(chan struct{}), make(chan struct{}), 0
	first := true
	r.OnProbe(func(string, ProbeResult, ProbeResult) {
		if !first {
			return
		}
		first = false
		close(telling)
		<-release
		engagedMeanwhile = len(r.crew.engagements())
	})
	r.mustConnect(t, server, "a")
	await(t, telling)
	done := make(chan error)
	go func() { done <- r.Connect(t.Context(), "east", server.configAs("b"), "") }()
	await(t, r.crew.engagements()[0].ctx.Done())
	for range 10_000 { // give Connect time to engage the new connection too early
		runtime.Gosched()
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r.next(t)
	r.next(t)
	if engagedMeanwhile != 1 {
		t.Error("the new connection was engaged while listeners received a result of the old one")
	}
}

func await(t *testing.T, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing comes")
	}
}
