// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/inflight"
)

// queue has names: either the names of Deliveries to judge, or the names of API groups whose discovery the collector
// has to read.
type queue = workqueue.TypedRateLimitingInterface[string]

func newQueue(c clock.WithTicker, retry time.Duration) queue {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](retry, 30*time.Second),
		workqueue.TypedRateLimitingQueueConfig[string]{Clock: c})
}

// drain calls the function do for each name of the queue until the queue is shut down. limit sets how many calls run at
// the same time. If a call fails, drain queues the name again, with a backoff.
func drain(ctx context.Context, q queue, limit *inflight.Limit, do func(context.Context, string) error) {
	inflight.Serve(ctx, q, limit, func(item string) {
		err := do(ctx, item)
		switch {
		case err == nil:
			q.Forget(item)
		case ctx.Err() != nil:
		default:
			klog.FromContext(ctx).V(1).Info("Judging a Delivery or reading an API group failed; the collector tries again", "item", item, "reason", err.Error())
			q.AddRateLimited(item)
		}
	})
}

// lookQueue has the names of the Deliveries to judge. An event on the member queues the Deliveries that the event
// concerns.
type lookQueue struct {
	queue
	index *index
}

// addListing adds the Deliveries that list an object.
func (q *lookQueue) addListing(ref deliveryindex.Ref) { q.addAll(q.index.Listing(ref)) }

// addUsing adds the Deliveries that list objects of a resource.
func (q *lookQueue) addUsing(gr schema.GroupResource) { q.addAll(q.index.Using(gr)) }

// addWaitingFor adds the Deliveries that wait for a kind.
func (q *lookQueue) addWaitingFor(gk schema.GroupKind) { q.addAll(q.index.WaitingFor(gk)) }

func (q *lookQueue) addAll(names []string) {
	for _, name := range names {
		q.Add(name)
	}
}
