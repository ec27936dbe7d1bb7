// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

var stuck = plan.Outcome{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInvalid, Retry: plan.RetryLater}

func TestWhenAPairIsDue(t *testing.T) {
	for name, test := range map[string]struct {
		play func(*bench)
		want *Desired
		due  bool
	}{
		"nothing is wanted":                      {play: func(*bench) {}, want: nil},
		"what the member holds is not known yet": {play: func(b *bench) { b.unlisted() }, want: wish("1")},
		"nothing is there":                       {play: func(*bench) {}, want: wish("1"), due: true},
		"just what is wanted is there":           {play: func(b *bench) { b.there(1, "1", true) }, want: wish("1")},
		"something else is there":                {play: func(b *bench) { b.there(1, "0", true) }, want: wish("1"), due: true},
		"not all of it is there":                 {play: func(b *bench) { b.there(1, "1", false) }, want: wish("1"), due: true},
		"a pass has made it, and the news is not here yet": {
			play: func(b *bench) { b.ended(wish("1"), 2, plan.Outcome{Done: true}) }, want: wish("1"),
		},
		"a pass has made something else": {
			play: func(b *bench) { b.ended(wish("0"), 2, plan.Outcome{Done: true}) }, want: wish("1"), due: true,
		},
		"a pass got stuck, and nothing has changed since": {
			play: func(b *bench) { b.ended(wish("1"), 2, stuck); b.there(2, "1", false) }, want: wish("1"),
		},
		"a pass got stuck, and its own writes come by": {
			play: func(b *bench) { b.ended(wish("1"), 3, stuck); b.there(1, "1", false); b.there(2, "1", false) }, want: wish("1"),
		},
		"a pass got stuck, and somebody has changed the Delivery since": {
			play: func(b *bench) { b.ended(wish("1"), 2, stuck); b.there(3, "1", false) }, want: wish("1"), due: true,
		},
		"a pass got stuck, and its time has come": {
			play: func(b *bench) { b.ended(wish("1"), 2, stuck); b.there(2, "1", false); b.clock.Step(plan.RetryLater) }, want: wish("1"), due: true,
		},
		"a pass waits for a change, and none comes": {
			play: func(b *bench) {
				b.ended(wish("1"), 2, plan.Outcome{State: v1alpha1.StateWaiting, Reason: v1alpha1.ReasonAPINotServed})
				b.there(2, "1", false)
				b.clock.Step(24 * time.Hour)
			}, want: wish("1"),
		},
		"a pass waits for a kind, and it is served now": {
			play: func(b *bench) {
				b.ended(wish("1"), 2, plan.Outcome{State: v1alpha1.StateWaiting, Reason: v1alpha1.ReasonAPINotServed})
				b.there(2, "1", false, v1alpha1.ObjectStatus{Kind: "Crate", Name: "c", Reason: v1alpha1.ReasonAPIServed})
			}, want: wish("1"), due: true,
		},
		"the wire broke": {
			play: func(b *bench) { b.failed(web, wish("1"), errors.New("reset")) }, want: wish("1"), due: true,
		},
		"the Delivery was deleted after a pass": {
			play: func(b *bench) {
				b.ended(wish("1"), 2, plan.Outcome{Done: true})
				b.there(2, "1", true)
				b.deliveries.Remove(web.Delivery())
			},
			want: wish("1"), due: true,
		},
		"the Delivery was deleted and made by somebody else": {
			play: func(b *bench) {
				b.ended(wish("1"), 5, plan.Outcome{Done: true})
				d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Wrapper: webID}}
				d.Name, d.UID, d.Generation = web.Delivery(), "another", 1
				b.deliveries.Put(d)
			}, want: wish("1"), due: true,
		},
		"the member was restored from a backup of before the pass": {
			play: func(b *bench) {
				b.there(1, "0", true)
				b.ended(wish("1"), 3, plan.Outcome{Done: true})
				observer{b.memberQueue}.Listed(b.deliveries, map[string]int64{web.Delivery(): 1})
			}, want: wish("1"), due: true,
		},
		"the member was restored from a backup of before there was a Delivery": {
			play: func(b *bench) {
				b.ended(wish("1"), 3, plan.Outcome{Done: true})
				observer{b.memberQueue}.Listed(b.deliveries, nil)
			}, want: wish("1"), due: true,
		},
		"the host was behind the member and still is": {
			play: func(b *bench) {
				b.there(4, "0", true)
				b.ended(wish("1"), 4, plan.Outcome{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonHostBehindMember})
			}, want: wish("1"),
		},
		"the host was behind the member and has another generation of the same rendering": {
			play: func(b *bench) {
				b.there(4, "0", true)
				b.ended(wish("1"), 4, plan.Outcome{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonHostBehindMember})
			}, want: func() *Desired { w := wish("1"); w.Wrapper.Generation = 2; return w }(), due: true,
		},
		"the member is to be left": {play: func(b *bench) { b.there(1, "1", true) }, want: &Desired{Wrapper: webID}, due: true},
		"the member was left": {play: func(b *bench) { b.ended(&Desired{Wrapper: webID}, 0, plan.Outcome{Done: true}) },
			want: &Desired{Wrapper: webID}},
		"leaving waits, and its time has not come": {
			play: func(b *bench) {
				b.ended(&Desired{Wrapper: webID}, 2, plan.Outcome{Reason: v1alpha1.ReasonRemovalWaits, Retry: plan.RetrySoon})
				b.there(2, "", false)
			}, want: &Desired{Wrapper: webID},
		},
		"leaving waits, and its time has come": {
			play: func(b *bench) {
				b.ended(&Desired{Wrapper: webID}, 2, plan.Outcome{Reason: v1alpha1.ReasonRemovalWaits, Retry: plan.RetrySoon})
				b.there(2, "", false)
				b.clock.Step(plan.RetrySoon)
			}, want: &Desired{Wrapper: webID}, due: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			test.play(b)
			if _, due := b.due(web, test.want); due != test.due {
				t.Errorf("due: %v", due)
			}
		})
	}
}

func TestWhichDriftsAreRepaired(t *testing.T) {
	changed := drift(v1alpha1.DriftChanged, "7")
	a := plan.ObjectID{Kind: "ConfigMap", Name: "a"}
	report := wish("1")
	report.Drift = v1alpha1.DriftReport
	for name, test := range map[string]struct {
		play func(*bench)
		want *Desired
		due  bool
	}{
		"a drift":                         {play: func(b *bench) { b.there(1, "1", true, changed) }, due: true},
		"a drift that is only to be told": {play: func(b *bench) { b.there(1, "1", true, changed) }, want: report},
		"one that was repaired": {play: func(b *bench) {
			b.there(1, "1", true, changed)
			b.ended(wish("1"), 1, plan.Outcome{Done: true})
		}},
		"one after the one that was repaired": {play: func(b *bench) {
			b.there(1, "1", true, changed)
			b.ended(wish("1"), 1, plan.Outcome{Done: true})
			b.there(1, "1", true, drift(v1alpha1.DriftChanged, "8"))
		}, due: true},
		"the same one again, after the collector saw it well": {play: func(b *bench) {
			b.there(1, "1", true, changed)
			b.ended(wish("1"), 1, plan.Outcome{Done: true})
			b.there(1, "1", true)
			b.there(1, "1", true, changed)
		}, due: true},
		"one that could not be mended, before its time": {play: func(b *bench) {
			b.there(1, "1", true, changed)
			b.ended(wish("1"), 1, plan.Outcome{Reason: v1alpha1.ReasonRefused, Retry: plan.RetryLater, Unrepaired: []plan.ObjectID{a}})
		}},
		"one that could not be mended, when its time has come": {play: func(b *bench) {
			b.there(1, "1", true, changed)
			b.ended(wish("1"), 1, plan.Outcome{Reason: v1alpha1.ReasonRefused, Retry: plan.RetryLater, Unrepaired: []plan.ObjectID{a}})
			b.clock.Step(plan.RetryLater)
		}, due: true},
		"one that was mended by a pass that another object held up": {play: func(b *bench) {
			b.there(1, "1", true, changed)
			b.ended(wish("1"), 1, plan.Outcome{Reason: v1alpha1.ReasonRefused, Retry: plan.RetryLater})
			b.clock.Step(plan.RetryLater)
		}},
		"one that the wire kept from being repaired": {play: func(b *bench) {
			b.there(1, "1", true, changed)
			b.failed(web, wish("1"), errors.New("reset"))
		}, due: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			test.play(b)
			w := test.want
			if w == nil {
				w = wish("1")
			}
			todo, due := b.due(web, w)
			if _, repairs := todo.Drifted[a]; due != test.due || repairs != test.due {
				t.Errorf("due: %v, repairs: %v", due, todo.Drifted)
			}
		})
	}
}
