// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestACollectorIsReadyWhileItWritesHeartbeats(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	refused := errors.New("refused")
	for name, tc := range map[string]struct {
		// turns are the results of the turns of the heartbeat's loop, one a minute; nil for a heartbeat that was
		// written.
		turns        []error
		wait         time.Duration
		ready, alive bool
	}{
		"before the first turn":         {alive: true},
		"after a heartbeat":             {turns: []error{nil}, ready: true, alive: true},
		"one is refused":                {turns: []error{nil, refused}, ready: true, alive: true},
		"the member refuses for long":   {turns: []error{nil, refused, refused, refused, refused}, alive: true},
		"it never succeeded":            {turns: []error{refused}, alive: true},
		"a turn does not end":           {turns: []error{nil}, wait: 6 * time.Minute},
		"it writes again":               {turns: []error{nil, refused, refused, refused, refused, nil}, ready: true, alive: true},
		"a turn that takes two minutes": {turns: []error{nil}, wait: 2 * time.Minute, ready: true, alive: true},
	} {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakeClock(began)
			c := &Collector{clock: clk, heartbeat: &heartbeat{}}
			for i, err := range tc.turns {
				if i > 0 {
					clk.Step(time.Minute)
				}
				c.heartbeat.liveness.note(clk.Now(), err)
			}
			clk.Step(tc.wait)
			if ready, alive := c.Ready(), c.Alive(); (ready == nil) != tc.ready || (alive == nil) != tc.alive {
				t.Errorf("ready %v, alive %v", ready, alive)
			}
		})
	}
}
