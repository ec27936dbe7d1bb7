// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/inflight"
)

func TestPassesStayWithinTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, items = 3, 10
		queue := newQueue(clock.RealClock{}, time.Second)
		for i := range items {
			queue.Add(strconv.Itoa(i))
		}
		var underWay, done atomic.Int64
		goOn, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			drain(t.Context(), queue, inflight.New(clock.RealClock{}, places), func(context.Context, string) error {
				underWay.Add(1)
				defer underWay.Add(-1)
				<-goOn
				done.Add(1)
				return nil
			})
		}()
		for left := items; left > 0; left-- {
			if synctest.Wait(); underWay.Load() != int64(min(places, left)) {
				t.Errorf("%d are under way, and %d are left", underWay.Load(), left)
			}
			goOn <- struct{}{}
		}
		queue.ShutDown()
		if <-ended; done.Load() != items {
			t.Errorf("%d of %d were done", done.Load(), items)
		}
	})
}
