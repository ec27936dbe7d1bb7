// SPDX-License-Identifier: Apache-2.0

package boundedwatch

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

// Set runs the watches of one member. They share one budget of memory.
type Set struct {
	// Refusals are the pauses of a watch while the member refuses it.
	Refusals wait.Backoff

	clock  clock.WithTicker
	budget *boundedread.Budget
}

// NewSet makes a Set that runs nothing yet.
func NewSet(clk clock.WithTicker) *Set {
	return &Set{Refusals: refusals(), clock: clk, budget: boundedread.NewBudget(boundedread.MaxCached)}
}

// running is a watch that runs.
type running struct {
	stop context.CancelFunc
	kick chan struct{}
}

// Run keeps exactly the watches of wanted running. It returns after ctx has ended and all of them have ended. It calls
// wanted again after each signal on changed. A signal on readmitted means that the member answers again; Run then kicks
// all watches.
func (s *Set) Run(ctx context.Context, wanted func() map[string]func() *Watch, changed, readmitted <-chan struct{}) {
	run := map[string]running{}
	var watches sync.WaitGroup
	defer watches.Wait()
	for {
		want := wanted()
		for name, w := range run {
			if _, ok := want[name]; !ok {
				w.stop()
				delete(run, name)
			}
		}
		for name, build := range want {
			if _, ok := run[name]; ok {
				continue
			}
			w := build()
			w.clock, w.refusals, w.budget = s.clock, s.Refusals, s.budget
			if w.Kick == nil {
				w.Kick = make(chan struct{}, 1)
			}
			watchCtx, stop := context.WithCancel(ctx)
			run[name] = running{stop, w.Kick}
			watches.Go(func() { w.run(watchCtx) })
		}
		select {
		case <-ctx.Done():
			for _, w := range run {
				w.stop()
			}
			return
		case <-readmitted:
			for _, w := range run {
				Signal(w.kick)
			}
		case <-changed:
		}
	}
}

// Signal sends to a channel of capacity one, unless a signal is already in it.
func Signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
