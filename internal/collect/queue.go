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

// queue holds names: of Deliveries to judge, or of API groups whose discovery to read.
type queue = workqueue.TypedRateLimitingInterface[string]

func newQueue(c clock.WithTicker, retry time.Duration) queue {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](retry, 30*time.Second),
		workqueue.TypedRateLimitingQueueConfig[string]{Clock: c})
}

// drain works on a queue until it is shut, with as many concurrent workers as limit allows. It queues failed names
// again, with a backoff.
func drain(ctx context.Context, q queue, limit *inflight.Limit, do func(context.Context, string) error) {
	inflight.Serve(ctx, q, limit, func(item string) {
		err := do(ctx, item)
		switch {
		case err == nil:
			q.Forget(item)
		case ctx.Err() != nil:
		default:
			klog.FromContext(ctx).V(1).Info("A pass over a Delivery or an API group failed; the collector tries again", "item", item, "reason", err.Error())
			q.AddRateLimited(item)
		}
	})
}

// lookQueue holds the names of the Deliveries to judge. An event on the member queues the Deliveries that it concerns.
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
