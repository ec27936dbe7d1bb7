// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/internal/member"
)

var (
	usable = member.ProbeResult{Probed: true, Reachable: true, Valid: true}
	lost   = member.ProbeResult{Probed: true, Reason: "Unreachable"}
)

// beginsAnew reports whether the watch begins anew after these probes.
func (b *bench) beginsAnew(was, is member.ProbeResult) bool {
	b.Probed(was, is)
	select {
	case <-b.reconnect:
		return true
	default:
		return false
	}
}

// Something between host and member may hold a watch open and forward nothing. That looks like a member where nothing changes,
// until the host writes there.
func TestAWatchThatMissesAWriteIsRestarted(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*bench)
		after     time.Duration
		anew      bool
	}{
		"nothing comes":                      {func(*bench) {}, watchTimeout, true},
		"it has time left":                   {func(*bench) {}, watchTimeout - time.Second, false},
		"it comes":                           {func(b *bench) { b.there(3) }, time.Hour, false},
		"it came before the write was known": {func(b *bench) { b.there(3); b.Written(web, "d", 3) }, time.Hour, false},
		"something older comes":              {func(b *bench) { b.there(2) }, watchTimeout, true},
		"it comes that the Delivery is gone": {func(b *bench) { b.there(2); b.Remove(web.Delivery()) }, time.Hour, false},
		"it is waited for no more":           {func(b *bench) { b.Forget(web) }, time.Hour, false},
		"the last write was a deletion":      {func(b *bench) { b.Written(web, "", 0) }, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Written(web, "d", 3)
			test.meanwhile(b)
			b.clock.Step(test.after)
			if got := b.beginsAnew(usable, usable); got != test.anew {
				t.Errorf("it begins anew: %v", got)
			}
			if b.beginsAnew(usable, usable) {
				t.Error("the new one was given no time")
			}
		})
	}
}

// A Delivery that the watch has not brought proves nothing while a list is under way, or after a list without it.
func TestTheWatchIsNotRestartedDuringOrByAList(t *testing.T) {
	b := newBench(t)
	b.Written(web, "d", 3)
	b.liveness.setListing(true)
	b.clock.Step(watchTimeout)
	if b.beginsAnew(usable, usable) {
		t.Error("a list is cut off half-way")
	}
	b.liveness.setListing(false)
	if !b.beginsAnew(usable, usable) {
		t.Error("it is not begun anew after the list")
	}
	b.Replace()
	b.clock.Step(watchTimeout)
	if b.beginsAnew(usable, usable) {
		t.Error("a Delivery that is not there is waited for")
	}
}

func TestAWatchIsRestartedAfterAnOutage(t *testing.T) {
	for name, test := range map[string]struct {
		was, is member.ProbeResult
		anew    bool
	}{
		"the first probe":      {member.ProbeResult{}, usable, false},
		"the member is lost":   {usable, lost, false},
		"the member is back":   {lost, usable, true},
		"the member was there": {usable, usable, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newBench(t).beginsAnew(test.was, test.is); got != test.anew {
				t.Errorf("it begins anew: %v", got)
			}
		})
	}
}
