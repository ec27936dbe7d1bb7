// SPDX-License-Identifier: Apache-2.0

package loopqueue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Queue is the queue of a loop. It is safe for concurrent use. The zero value is the queue of a loop that has not started: it drops every
// item. So a loop may use it only for items that it reconciles at its start in any case.
type Queue[T comparable] struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[T]
}

// Start stores the queue that controller-runtime has made for the loop.
func (q *Queue[T]) Start(queue workqueue.TypedRateLimitingInterface[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = queue
}

// Add makes the loop reconcile an item.
func (q *Queue[T]) Add(item T) { q.AddAfter(item, 0) }

// AddAfter makes the loop reconcile an item after this time.
func (q *Queue[T]) AddAfter(item T, wait time.Duration) {
	q.mu.Lock()
	queue := q.queue
	q.mu.Unlock()
	if queue != nil {
		queue.AddAfter(item, wait)
	}
}
