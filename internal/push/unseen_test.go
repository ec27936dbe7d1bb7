// SPDX-License-Identifier: Apache-2.0

package push

import (
	"testing"
	"time"
)

// Something on the way may hold a watch open and pass nothing on. A member where nothing happens looks just the same, but
// for what we wrote there ourselves.
func TestAWatchThatDoesNotBringWhatWasWrittenIsBegunAnew(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*bench)
		after     time.Duration
		anew      bool
	}{
		"nothing comes":                      {func(*bench) {}, unseenFor, true},
		"it has time left":                   {func(*bench) {}, unseenFor - time.Second, false},
		"it comes":                           {func(b *bench) { b.there(3, "1", true) }, time.Hour, false},
		"something older comes":              {func(b *bench) { b.there(2, "1", true) }, unseenFor, true},
		"it comes that the Delivery is gone": {func(b *bench) { b.there(2, "1", true); b.vanish(web.Delivery()) }, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.ended(wish("1"), 3, Outcome{Done: true})
			test.meanwhile(b)
			b.clock.Step(test.after)
			b.probed(usable, usable)
			select {
			case <-b.reconnect:
				if !test.anew {
					t.Error("it is begun anew for nothing")
				}
			default:
				if test.anew {
					t.Error("it goes on")
				}
			}
			b.probed(usable, usable)
			select {
			case <-b.reconnect:
				t.Error("the new one was given no time")
			default:
			}
		})
	}
}

// What the watch has not brought is no sign while a list is under way, nor once that has shown that it is not there.
func TestAListIsGivenItsTimeAndItsWord(t *testing.T) {
	reconnects := func(b *bench) bool {
		b.clock.Step(unseenFor)
		b.probed(usable, usable)
		select {
		case <-b.reconnect:
			return true
		default:
			return false
		}
	}
	b := newBench(t)
	b.ended(wish("1"), 3, Outcome{Done: true})
	b.isListing(true)
	if reconnects(b) {
		t.Error("a list is cut off half-way")
	}
	b.isListing(false)
	if !reconnects(b) {
		t.Error("it is not begun anew after the list")
	}
	b.drop(web) // so that no pass writes it again
	b.unseen[web.Delivery()] = written{uid: "d", generation: 3, at: b.clock.Now()}
	if err := (&seenStore{lane: b.lane}).Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	if reconnects(b) {
		t.Error("a Delivery that is not there is waited for")
	}
}
