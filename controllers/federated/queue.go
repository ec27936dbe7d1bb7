// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/controllers/loopqueue"
)

// wrapperQueue is the loop's queue, which also knows when the loop started. It is safe for concurrent use. Before the loop starts, it drops
// every request: the loop reconciles all wrappers when it starts.
type wrapperQueue struct {
	loopqueue.Queue[reconcile.Request]

	mu sync.Mutex
	// started is when this process became leader and the loop began to work.
	started time.Time
}

// start stores the queue when the loop starts.
func (q *wrapperQueue) start(queue workqueue.TypedRateLimitingInterface[reconcile.Request], now time.Time) {
	q.mu.Lock()
	q.started = now
	q.mu.Unlock()
	q.Start(queue)
}

// remainsOf returns how much of a period that began with the loop is left; 0 when it is over, and before the loop starts.
func (q *wrapperQueue) remainsOf(period time.Duration, now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.started.IsZero() {
		return 0
	}
	return max(0, q.started.Add(period).Sub(now))
}
