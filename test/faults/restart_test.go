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

// slowList delays a member's answers to lists of Deliveries until release is called, and counts the lists.
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

// wake makes the manager reconcile the wrapper without a change of its spec.
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

// writesAbout returns the writes of a life to a namespace of the host, and to MemberClusters.
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

// A manager that was killed while all was healthy writes no status and no event after its restart, however long a member takes to list its
// Deliveries.
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
	f.eventually(t, "the Deliveries of the slow member are asked for", func(context.Context) string {
		if lists.Load() == 0 {
			return "nobody has"
		}
		return ""
	})
	a.wake() // starts the interval between statuses
	east := &desiredState{objects: map[string]string{"a": "1"}, members: []string{"east"}}
	other.write(east)
	other.rest([]*desiredState{east}) // the manager is at work
	clk.Step(2 * time.Second)         // more than the interval between statuses, and far less than the grace
	a.wake()
	east2 := &desiredState{objects: map[string]string{"a": "2"}, members: []string{"east"}}
	other.write(east2)
	other.rest([]*desiredState{east, east2})
	release()
	both := &desiredState{objects: map[string]string{"a": "3"}, members: both}
	other.write(both)
	other.rest([]*desiredState{east, east2, both}) // the slow one is served again
	if got := l.writesAbout(a.shop); len(got) > 0 {
		t.Errorf("the manager wrote about its restart: %v", got)
	}
	a.rest([]*desiredState{first})
}

// The manager reports a member that is unreachable at its start once the grace is over, and not before.
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
	f.eventually(t, "the wrapper reports the member", func(ctx context.Context) string {
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
