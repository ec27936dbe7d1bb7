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
	// wrapperBurst is how many writes of one wrapper the loop may do at once: as many as ten new reports take. After that it may do
	// one a second.
	wrapperBurst = 20
	// processBurst is how many writes of all wrappers the loop may do at once, and processRate how many a second after that.
	// Wrappers that wait for it take turns.
	processBurst, processRate = 200, 10
)

// writeLimits bounds the writes of each wrapper and of all wrappers. It is safe for concurrent use.
type writeLimits struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// turns bounds the writes of all wrappers.
	turns *rules.Turns
}

func newWriteLimits(clk clock.PassiveClock) *writeLimits {
	return &writeLimits{clock: clk, turns: rules.NewTurns(processBurst, processRate)}
}

// mayWrite takes one or two writes out of the limits of the wrapper and of the process. If a limit does not allow them, mayWrite
// returns false, and the reconcile is repeated when it does.
func (p *reconciliation) mayWrite(n int) bool {
	wait := p.limits.take(p.known, n)
	p.repeatAfter(wait)
	return wait <= 0
}

// take takes n writes out of the limit of one wrapper, and then out of that of the process. If a limit does not allow them, it returns
// after which time the loop has to try again. The wrapper keeps its place among those that wait for the process.
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

// repeatAfter repeats the reconcile after this time, or earlier if it has to be repeated earlier. A time of 0 or less repeats nothing.
func (p *reconciliation) repeatAfter(wait time.Duration) {
	if wait > 0 && (p.again == 0 || wait < p.again) {
		p.again = wait
	}
}
