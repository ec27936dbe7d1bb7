// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestUnknownOrphansLeaveTheStatusUnchanged(t *testing.T) {
	l := newLoop(t)
	mc := registered(v1alpha1.CollectorHost)
	said := v1alpha1.OrphanedDeliveries{Count: 2, Names: []string{"fed.shop.api", "fed.shop.web"}}
	mc.Status.Orphans = said
	l.reportOrphans(t.Context(), mc) // just after its start, the manager has not listed the Deliveries yet
	if diff := cmp.Diff(said, mc.Status.Orphans); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A person deletes the CRD of the wrappers, and every Delivery of the fleet becomes an orphan, one after the other.
func TestAThousandOrphansAreOneReconcile(t *testing.T) {
	l, clk := newLoop(t), clocktesting.NewFakeClock(now)
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](),
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Clock: clk})
	t.Cleanup(queue.ShutDown)
	if err := l.queue.start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		l.Tell("east")
	}
	if n := queue.Len(); n > 0 {
		t.Errorf("%d reconciles are queued at once, want one", n)
	}
	for !clk.HasWaiters() {
		// The queue's own goroutine has not received all the names yet.
	}
	clk.Step(orphansWithin + time.Millisecond)
	got, _ := queue.Get()
	queue.Done(got)
	if want := (reconcile.Request{NamespacedName: types.NamespacedName{Name: "east"}}); got != want || queue.Len() > 0 {
		t.Errorf("got %v, and %d more", got, queue.Len())
	}
}
