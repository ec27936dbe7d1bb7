// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/controllers/loopqueue"
)

// memberQueue is the loop's queue for the news of probes, tasks and orphans. It holds names of members. Before the loop starts, it drops
// every name. No reconcile is lost, because the loop reconciles all members when it starts.
type memberQueue struct {
	queue loopqueue.Queue[reconcile.Request]
}

// start stores the queue. The manager calls it when the loop starts.
func (q *memberQueue) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	q.queue.Start(queue)
	return nil
}

// add makes the loop reconcile a member.
func (q *memberQueue) add(name string) { q.addAfter(name, 0) }

// addAfter makes the loop reconcile a member after this time.
func (q *memberQueue) addAfter(name string, wait time.Duration) {
	q.queue.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}, wait)
}
