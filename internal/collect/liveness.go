// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// silentAfter is how old the last heartbeat of a collector may be that counts as ready. The host calls it silent then.
	silentAfter = 3 * time.Minute
	// stuckAfter is how long the loop of the heartbeat may take for one turn. A turn ends also when the member does not
	// answer, so a longer one means that the process hangs.
	stuckAfter = 5 * time.Minute
)

// liveness is when the loop of the heartbeat last ended a turn, and when it last wrote a heartbeat; zero before that. Any goroutine may
// read it.
type liveness struct{ turned, renewed atomic.Pointer[time.Time] }

func (l *liveness) note(now time.Time, err error) {
	l.turned.Store(&now)
	if err == nil {
		l.renewed.Store(&now)
	}
}

// Ready returns an error unless the collector has written a heartbeat within three minutes.
func (c *Collector) Ready() error {
	renewed := c.heartbeat.liveness.renewed.Load()
	switch {
	case renewed == nil:
		return errors.New("the collector has not written a heartbeat yet")
	case c.clock.Since(*renewed) > silentAfter:
		return fmt.Errorf("the collector has written no heartbeat since %s", renewed.UTC().Format(time.RFC3339))
	}
	return nil
}

// Alive returns an error if the collector hangs. A member that does not answer is no reason: a restart would not help.
func (c *Collector) Alive() error {
	if turned := c.heartbeat.liveness.turned.Load(); turned != nil && c.clock.Since(*turned) > stuckAfter {
		return fmt.Errorf("the collector hangs since %s", turned.UTC().Format(time.RFC3339))
	}
	return nil
}
