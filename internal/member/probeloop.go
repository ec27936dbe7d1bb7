// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
)

// keepProbing probes a member until its connection ends.
func (f *Fleet) keepProbing(ctx context.Context, t *tracked) {
	unsettled, was := 0, ProbeResult{}
	for ctx.Err() == nil {
		found := t.conn.prober.probe(ctx, f.host, was, f.clock.Now())
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
