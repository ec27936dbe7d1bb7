// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// restarts are the pauses before the manager restarts a task that ended by itself: 1 s, 2 s, 4 s … up to a minute.
var restarts = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 10, Cap: time.Minute}

// resetAfter is how long a task has to run before the next pause is one second again.
const resetAfter = 5 * time.Minute

// ending describes the last time that a task ended by itself, that is, although the manager had not stopped it.
type ending struct {
	err error
	// at is the time of the end, by the host's clock.
	at time.Time
}

// unlessHeardOf returns e, or nil if the collector has written a heartbeat since it ended: then the restarted collector
// works. heard is when the manager last read a new heartbeat.
func (e *ending) unlessHeardOf(heard time.Time) *ending {
	if e != nil && heard.After(e.at) {
		return nil
	}
	return e
}

var errNoReason = errors.New("the task ended without an error")

// keepRunning runs a task until ctx ends, and starts it again whenever it ends before that. It makes a new collector for
// each run, because a collector can run only once.
func (c *Collectors) keepRunning(ctx context.Context, name string, w *work, conn *member.Conn) {
	pauses := restarts
	for ctx.Err() == nil {
		began := c.clock.Now()
		err := c.run(ctx, w.task, name, conn)
		if ctx.Err() != nil {
			return
		}
		if c.clock.Since(began) >= resetAfter {
			pauses = restarts
		}
		pause := c.clock.NewTimer(pauses.Step())
		c.note(ctx, name, w, err)
		select {
		case <-ctx.Done():
		case <-pause.C():
		}
		pause.Stop()
	}
}

// run runs a task once. It always returns an error, because a task must not end before the manager stops it.
func (c *Collectors) run(ctx context.Context, t task, name string, conn *member.Conn) error {
	run, err := c.begin(t, name, conn)
	if err != nil {
		return err
	}
	if err := run(ctx); err != nil {
		return err
	}
	return errNoReason
}

func (c *Collectors) note(ctx context.Context, name string, w *work, err error) {
	log.FromContext(ctx).Error(err, "the task for the member ended by itself; the manager starts it again", "task", w.task)
	c.mu.Lock()
	w.ended = &ending{err: err, at: c.clock.Now()}
	c.mu.Unlock()
	c.onEnd(name)
}

// ended returns the last time that a member's collector inside the manager ended by itself; nil if it never did.
func (c *Collectors) ended(name string) *ending {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.running[name]; w != nil && w.task.observe {
		return w.ended
	}
	return nil
}
