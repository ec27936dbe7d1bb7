// SPDX-License-Identifier: Apache-2.0

package boundedwatch

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

// Set runs the watches of one member. All of them share one memory budget.
type Set struct {
	// Refusals are the pauses of a watch after it has reported a refusal (403).
	Refusals wait.Backoff

	clock  clock.WithTicker
	budget *boundedread.Budget
}

// NewSet makes a Set without watches. Run starts them.
func NewSet(clk clock.WithTicker) *Set {
	return &Set{Refusals: refusals(), clock: clk, budget: boundedread.NewBudget(boundedread.MaxCached)}
}

// running is a running watch: how to stop it, and the channel that kicks it.
type running struct {
	stop context.CancelFunc
	kick chan struct{}
}

// Run runs watches until ctx ends, and returns when all of them have ended. The function wanted returns a constructor of each wanted
// watch, by name. Run calls it at first, and after each signal on changed or readmitted. Run then starts the watches that are wanted
// and not running, and stops those that are no longer wanted. A signal on readmitted means that the member answers again after an
// outage: Run then kicks all running watches.
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

// Signal puts a signal into a channel of capacity one. If a signal is in the channel already, Signal does nothing.
func Signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
