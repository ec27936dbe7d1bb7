// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	rules "github.com/fairlead-dev/fairlead/federate/memberreport"
)

// A hostile member can change its messages with each event, and each new message is a new report. These limits keep it from filling
// the revisions of etcd. A write is a create, a change or a delete of a report.
const (
	// wrapperBurst is how many writes for one wrapper the loop may do at once: two for each of ten new reports. After that it may do
	// one write a second.
	wrapperBurst = 20
	// processBurst is how many writes for all wrappers together the loop may do at once, and processRate how many a second after that.
	// Wrappers that wait for this limit take turns.
	processBurst, processRate = 200, 10
)

// writeLimits bounds the writes of each wrapper and of all wrappers. It is safe for concurrent use.
type writeLimits struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// turns limits the writes of all wrappers together, and lets the wrappers that wait take turns.
	turns *rules.Turns
}

func newWriteLimits(clk clock.PassiveClock) *writeLimits {
	return &writeLimits{clock: clk, turns: rules.NewTurns(processBurst, processRate)}
}

// mayWrite takes n writes, one or two, out of the limits of the wrapper and of the process. If a limit does not allow them yet,
// mayWrite returns false, and the loop repeats the reconcile when the limit may allow them.
func (p *reconciliation) mayWrite(n int) bool {
	wait := p.limits.take(p.known, n)
	p.repeatAfter(wait)
	return wait <= 0
}

// take takes n writes out of the limit of one wrapper, and then out of the limit of the process. If a limit does not allow them yet,
// take returns the time until the next try. While a wrapper waits for the limit of the process, it keeps its place among the waiting
// wrappers.
func (l *writeLimits) take(wrapper *knownReports, n int) time.Duration {
	l.mu.Lock() // the limiters need times that do not go back
	defer l.mu.Unlock()
	now := l.clock.Now()
	own := wrapper.writes.ReserveN(now, n)
	if wait := own.DelayFrom(now); wait > 0 {
		own.CancelAt(now)
		return max(wait, membersEvery)
	}
	wait := l.turns.Take(&wrapper.turn, n, now)
	if wait > 0 {
		own.CancelAt(now)
	}
	return wait
}

// repeatAfter makes the loop repeat the reconcile after this time, unless it has to repeat the reconcile earlier. A time of 0 or less
// changes nothing.
func (p *reconciliation) repeatAfter(wait time.Duration) {
	if wait > 0 && (p.again == 0 || wait < p.again) {
		p.again = wait
	}
}
