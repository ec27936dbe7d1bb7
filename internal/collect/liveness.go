// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// silentAfter is the age of the last heartbeat at which a collector stops being ready. At this age, the host
	// reports reason NoHeartbeat.
	silentAfter = 3 * time.Minute
	// stuckAfter is the longest time that one turn of the heartbeat's loop may take. A turn ends even when the member
	// does not answer, so a longer turn means that the process hangs.
	stuckAfter = 5 * time.Minute
)

// liveness shows whether the heartbeat's loop runs. turned is when the loop last ended a turn. renewed is when the
// collector last wrote a heartbeat. Each is nil before the first time. Any goroutine may read these fields.
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

// Alive returns an error if the collector hangs. It returns nil if only the member does not answer, because a restart
// of the collector would not help.
func (c *Collector) Alive() error {
	if turned := c.heartbeat.liveness.turned.Load(); turned != nil && c.clock.Since(*turned) > stuckAfter {
		return fmt.Errorf("the collector has hung since %s", turned.UTC().Format(time.RFC3339))
	}
	return nil
}
