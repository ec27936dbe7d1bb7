// SPDX-License-Identifier: Apache-2.0

package loopqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// RetryLimiter returns the backoff of a loop for reconciles that returned an error: 200 ms, doubled at each failure, at most a minute.
// controller-runtime's own backoff goes up to 1,000 s. After a long outage of the host's API server, a loop would do nothing for up to
// that time.
func RetryLimiter[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](200*time.Millisecond, time.Minute)
}
