// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"time"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// Observes reports whether the manager can rely on a member's collector to report unfinished pushes. The collector has
// to work. It also has to run inside this manager or have the manager's version: a collector of another version may
// report them in another way.
func (r *Reconciler) Observes(name string) bool {
	probe, _ := r.fleet.LastProbe(name)
	isHere := r.collectors.runs(name) && r.collectors.ended(name).unlessHeardOf(probe.HeartbeatChanged) == nil
	return isObserved(probe, isHere, r.version, r.clock.Now())
}

// isObserved decides for Observes. isHere is true if the collector runs inside this manager.
func isObserved(probe member.ProbeResult, isHere bool, version string, now time.Time) bool {
	switch {
	case !probe.Usable() || probe.CollectorRefused:
		return false
	case probe.Heartbeat.IsZero() || now.Sub(probe.HeartbeatChanged) > member.HeartbeatTimeout:
		return false
	case probe.There(now).Sub(probe.Heartbeat) > member.HeartbeatTimeout:
		return false // a manager that has just started sets HeartbeatChanged to now even for an old heartbeat
	}
	return isHere || version != "" && probe.CollectorVersion == version
}

// runs reports whether the collector of a member runs inside this manager.
func (c *Collectors) runs(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.running[name]
	return w != nil && w.task.observe
}
