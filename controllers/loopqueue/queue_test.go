// SPDX-License-Identifier: Apache-2.0

package loopqueue

import (
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestAQueueDropsItemsUntilTheLoopStarts(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	of := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](), workqueue.TypedRateLimitingQueueConfig[string]{Clock: clk})
	defer of.ShutDown()
	var q Queue[string]
	q.Add("early")
	q.Start(of)
	q.Add("now")
	q.AddAfter("later", time.Minute)
	if of.Len() != 1 {
		t.Fatalf("%d items", of.Len())
	}
	if item, _ := of.Get(); item != "now" {
		t.Errorf("the first item is %s", item)
	}
	clk.Step(time.Minute)
	if item, _ := of.Get(); item != "later" {
		t.Errorf("the second item is %s", item)
	}
}
