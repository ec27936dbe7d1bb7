// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"time"

	"golang.org/x/time/rate"
)

// A hostile member can change its messages with each event, and each new message is a new report. These limits keep it from filling
// the revisions of etcd. A write is a create, a change or a delete of a report.
const (
	// wrapperBurst is how many writes of one wrapper the loop may do at once: as many as ten new reports take. After that it may do
	// one a second.
	wrapperBurst = 20
	// processBurst is how many writes of all wrappers the loop may do at once, and processRate how many a second after that.
	processBurst, processRate = 200, 10
)

// newWrites makes the limit for the writes of all wrappers.
func newWrites() *rate.Limiter { return rate.NewLimiter(processRate, processBurst) }

// mayWrite takes n writes out of the limits of the wrapper and of the process. If a limit does not allow them, mayWrite takes none and
// returns false, and the reconcile is repeated later.
func (p *reconciliation) mayWrite(n int) bool {
	wait := p.take(p.known.writes, n)
	p.repeatAfter(wait)
	return wait <= 0
}

// take takes n writes out of the limit of one wrapper and out of that of the process. If a limit does not allow them, it takes none and
// returns after which time the loop has to try again.
func (r *Reconciler) take(wrapper *rate.Limiter, n int) time.Duration {
	r.mu.Lock() // the limiters need times that do not go back
	defer r.mu.Unlock()
	now := r.clock.Now()
	own, all := wrapper.ReserveN(now, n), r.writes.ReserveN(now, n)
	waitOwn, waitAll := own.DelayFrom(now), all.DelayFrom(now)
	if waitOwn <= 0 && waitAll <= 0 {
		return 0
	}
	own.CancelAt(now)
	all.CancelAt(now)
	if waitAll > 0 {
		return evidenceEvery // thousands of wrappers may wait, and all of them would try again within the same second
	}
	return max(waitOwn, membersEvery)
}

// repeatAfter repeats the reconcile after this time, or earlier if it has to be repeated earlier. A time of 0 or less repeats nothing.
func (p *reconciliation) repeatAfter(wait time.Duration) {
	if wait > 0 && (p.again == 0 || wait < p.again) {
		p.again = wait
	}
}
