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

// isRestarted reports whether these two probe results make the index list and watch again.
func (b *bench) isRestarted(was, is member.ProbeResult) bool {
	b.Probed(was, is)
	select {
	case <-b.follower.reconnect:
		return true
	default:
		return false
	}
}

// A proxy between host and member may keep a watch open and forward no events. Until the host writes to the member,
// such a watch looks like the watch of a member where nothing changes.
func TestAWatchThatMissesAWriteIsRestarted(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*bench)
		after     time.Duration
		restarted bool
	}{
		"no event arrives":                             {func(*bench) {}, watchTimeout, true},
		"the timeout has not passed":                   {func(*bench) {}, watchTimeout - time.Second, false},
		"the event of the write arrives":               {func(b *bench) { b.there(3) }, time.Hour, false},
		"the event arrived before the write was noted": {func(b *bench) { b.there(3); b.Written(web, "d", 3) }, time.Hour, false},
		"an older event arrives":                       {func(b *bench) { b.there(2) }, watchTimeout, true},
		"the deletion of the Delivery arrives":         {func(b *bench) { b.there(2); b.Remove(web.Delivery()) }, time.Hour, false},
		"the pair was forgotten":                       {func(b *bench) { b.Forget(web) }, time.Hour, false},
		"the last write was a deletion":                {func(b *bench) { b.Written(web, "", 0) }, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Written(web, "d", 3)
			test.meanwhile(b)
			b.clock.Step(test.after)
			if got := b.isRestarted(usable, usable); got != test.restarted {
				t.Errorf("the watch is restarted: %v", got)
			}
			if b.isRestarted(usable, usable) {
				t.Error("the next watch did not get the whole timeout")
			}
		})
	}
}

// During a list, a missing event does not show that the watch is dead. If a list lacks the Delivery, the event never
// comes, so a missing event does not show a dead watch then either.
func TestTheWatchIsNotRestartedDuringOrByAList(t *testing.T) {
	b := newBench(t)
	b.Written(web, "d", 3)
	b.liveness.setListing(true)
	b.clock.Step(watchTimeout)
	if b.isRestarted(usable, usable) {
		t.Error("the index interrupts a list")
	}
	b.liveness.setListing(false)
	if !b.isRestarted(usable, usable) {
		t.Error("the watch is not restarted after the list")
	}
	b.Replace()
	b.clock.Step(watchTimeout)
	if b.isRestarted(usable, usable) {
		t.Error("the index waits for a Delivery that the list does not have")
	}
}

func TestAWatchIsRestartedAfterAnOutage(t *testing.T) {
	for name, test := range map[string]struct {
		was, is   member.ProbeResult
		restarted bool
	}{
		"the first probe":      {member.ProbeResult{}, usable, false},
		"the member is lost":   {usable, lost, false},
		"the member is back":   {lost, usable, true},
		"the member was there": {usable, usable, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newBench(t).isRestarted(test.was, test.is); got != test.restarted {
				t.Errorf("the watch is restarted: %v", got)
			}
		})
	}
}
