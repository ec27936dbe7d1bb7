// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// slowList makes the member answer lists of Deliveries only after the test calls release. lists counts these requests.
func (p *proxy) slowList(t *testing.T) (lists *atomic.Int64, release func()) {
	t.Helper()
	lists, open := &atomic.Int64{}, make(chan struct{})
	var slow misbehavior = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/deliveries") && r.URL.Query().Get("watch") == "" {
			lists.Add(1)
			select {
			case <-open:
			case <-r.Context().Done():
				return
			}
		}
		next.ServeHTTP(w, r)
	}
	p.misbehavior.Store(&slow)
	t.Cleanup(func() { p.misbehavior.Store(nil) })
	return lists, func() { close(open); p.misbehavior.Store(nil) }
}

// wake changes an annotation of the wrapper, so that the manager reconciles it with an unchanged spec.
func (a *author) wake() {
	a.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		w := a.wrapper()
		if err := a.host.Get(a.t.Context(), client.ObjectKeyFromObject(w), w); err != nil {
			return err
		}
		w.Annotations = map[string]string{"test": fmt.Sprint(shops.Add(1))}
		return a.host.Update(a.t.Context(), w)
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

// writesAbout returns the life's writes to the host that concern objects in namespace shop, MemberClusters or events.
func (l *life) writesAbout(shop string) []string {
	var found []string
	for _, call := range l.calls() {
		about := strings.Contains(call, "/"+shop+"/") || strings.Contains(call, "/memberclusters/") || strings.HasSuffix(call, "/events")
		if about && !strings.HasPrefix(call, http.MethodGet) {
			found = append(found, call)
		}
	}
	return found
}

// The manager dies while every wrapper is Ready. After its restart it must write no status and no event, however long a member
// takes to list its Deliveries.
func TestARestartWithASlowMemberWritesNothingToTheHost(t *testing.T) {
	f, clk := newFleet(t, v1alpha1.CollectorHost), newRunning(t)
	before := born(t, managerBy(clk), f.manager, end{})
	a, other := f.newAuthor(t), f.newAuthor(t)
	a.write(first)
	a.rest([]*desiredState{first})
	before.kill()

	lists, release := f.proxies["west"].slowList(t)
	l := born(t, managerBy(clk), f.manager, end{})
	defer l.kill()
	f.eventually(t, "the manager lists the Deliveries of the slow member", func(context.Context) string {
		if lists.Load() == 0 {
			return "nobody has"
		}
		return ""
	})
	a.wake() // starts the interval in which the manager writes at most one status
	east := &desiredState{objects: map[string]string{"a": "1"}, members: []string{"east"}}
	other.write(east)
	other.rest([]*desiredState{east}) // the manager has had time to work on another wrapper
	clk.Step(2 * time.Second)         // more than the interval between two statuses, and far less than the grace period for a member that does not answer
	a.wake()
	east2 := &desiredState{objects: map[string]string{"a": "2"}, members: []string{"east"}}
	other.write(east2)
	other.rest([]*desiredState{east, east2})
	release()
	both := &desiredState{objects: map[string]string{"a": "3"}, members: both}
	other.write(both)
	other.rest([]*desiredState{east, east2, both}) // the wrapper is on both members, so this shows that the manager serves the slow member again
	if got := l.writesAbout(a.shop); len(got) > 0 {
		t.Errorf("the manager wrote to the host although only it restarted: %v", got)
	}
	a.rest([]*desiredState{first})
}

// One member is unreachable when the manager starts. The manager must report this in the wrapper's status, but only after the
// grace period.
func TestAMemberThatIsDownAtARestartIsReported(t *testing.T) {
	f, clk := newFleet(t, v1alpha1.CollectorHost), newRunning(t)
	before := born(t, managerBy(clk), f.manager, end{})
	a := f.newAuthor(t)
	a.write(first)
	a.rest([]*desiredState{first})
	before.kill()

	tries := f.proxies["west"].cutOff()
	defer f.proxies["west"].misbehavior.Store(nil)
	l := born(t, managerBy(clk), f.manager, end{})
	defer l.kill()
	f.eventually(t, "the manager lists the Deliveries of the member", func(context.Context) string {
		if tries.Load() == 0 {
			return "nobody has"
		}
		return ""
	})
	clk.Step(time.Minute)
	f.eventually(t, "the wrapper's status reports the member", func(ctx context.Context) string {
		a.wake()
		w := a.wrapper()
		if err := f.host.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
			return err.Error()
		}
		for _, line := range w.Status.Clusters {
			if line.Name == "west" && line.State == v1alpha1.StateUnreachable {
				return ""
			}
		}
		return fmt.Sprintf("%+v", w.Status.Clusters)
	})
	f.proxies["west"].misbehavior.Store(nil)
	clk.Step(time.Minute)
	a.rest([]*desiredState{first})
}
