// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// silentAfter is the age of the last heartbeat from which a collector is not ready. The host calls the collector
	// silent at the same age.
	silentAfter = 3 * time.Minute
	// stuckAfter is the longest time for one turn of the heartbeat's loop. A turn also ends when the member does not
	// answer. So a longer turn means that the process hangs.
	stuckAfter = 5 * time.Minute
)

// liveness holds the time when the heartbeat's loop last ended a turn, and the time of the last heartbeat that it
// wrote. Both are nil before the first. Any goroutine may read them.
type liveness struct{ turned, renewed atomic.Pointer[time.Time] }

func (l *liveness) note(now time.Time, err error) {
	l.turned.Store(&now)
	if err == nil {
		l.renewed.Store(&now)
	}
}

// Ready returns an error unless the collector has written a heartbeat within the last three minutes.
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

// Alive returns an error if the collector hangs. A member that does not answer is no reason, because a restart would
// not help.
func (c *Collector) Alive() error {
	if turned := c.heartbeat.liveness.turned.Load(); turned != nil && c.clock.Since(*turned) > stuckAfter {
		return fmt.Errorf("the collector has hung since %s", turned.UTC().Format(time.RFC3339))
	}
	return nil
}
