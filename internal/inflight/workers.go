// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// Serve calls the function do with each item of a queue. The limit bounds the concurrent calls. When the queue is shut
// down or ctx ends, Serve starts no further call, waits for the calls that are under way, and returns.
func Serve[T comparable](ctx context.Context, queue workqueue.TypedInterface[T], limit *Limit, do func(T)) {
	var underWay sync.WaitGroup
	defer underWay.Wait()
	for {
		item, shut := queue.Get()
		if shut || limit.Enter(ctx) != nil {
			return
		}
		underWay.Go(func() {
			defer limit.Leave()
			defer queue.Done(item)
			do(item)
		})
	}
}
