// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"slices"
)

// keepProbing probes a member until its connection ends.
func (f *Fleet) keepProbing(ctx context.Context, t *tracked) {
	unsettled, was := 0, ProbeResult{}
	for ctx.Err() == nil {
		found := t.conn.probe(ctx, f.host, was, f.clock.Now())
		if ctx.Err() != nil {
			return
		}
		is, told := f.tell(t, was, found)
		if !told {
			return
		}
		switch {
		case is.settled():
			unsettled = 0
		case is.Usable() != was.Usable(): // the member became usable or unusable, so the backoff begins again
			unsettled = 1
		default:
			unsettled++
		}
		was = is
		timer := f.clock.NewTimer(nextProbe(unsettled))
		select {
		case <-ctx.Done():
		case <-t.probeRequested:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// tell stores the result of a probe and passes it to the listeners. If another connection has replaced the probed one,
// tell drops the result and told is false. A listener gets only the member's name, so with an old result it would open
// or close the circuit breaker of the new connection. Disconnect waits until the listeners have returned.
func (f *Fleet) tell(t *tracked, was, found ProbeResult) (is ProbeResult, told bool) {
	t.telling.Lock()
	defer t.telling.Unlock()
	if t.ended {
		return was, false
	}
	f.mu.Lock()
	if t.joined == "" && found.Usable() {
		t.joined = found.UID
	}
	is = found.joinedAs(t.conn.name, t.joined)
	t.lastProbe = is
	listeners := slices.Clone(f.listeners)
	f.mu.Unlock()
	for _, listener := range listeners {
		listener(t.conn.name, was, is)
	}
	return is, true
}
