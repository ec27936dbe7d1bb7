// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

var inTrouble = plan.Outcome{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInvalid, Retry: plan.RetryLater}

func TestWhenAPairIsDue(t *testing.T) {
	for name, test := range map[string]struct {
		before func(*bench)
		want   *Desired
		due    bool
	}{
		"there is no desired state":          {before: func(*bench) {}, want: nil},
		"the Deliveries are not listed yet":  {before: func(b *bench) { b.unlisted() }, want: wish("1")},
		"there is no Delivery":               {before: func(*bench) {}, want: wish("1"), due: true},
		"the Delivery has the desired state": {before: func(b *bench) { b.there(1, "1", true) }, want: wish("1")},
		"the Delivery has another state":     {before: func(b *bench) { b.there(1, "0", true) }, want: wish("1"), due: true},
		"the Delivery is not complete":       {before: func(b *bench) { b.there(1, "1", false) }, want: wish("1"), due: true},
		"a pass is done, and its watch event has not arrived": {
			before: func(b *bench) { b.ended(wish("1"), 2, plan.Outcome{Done: true}) }, want: wish("1"),
		},
		"a pass for another desired state is done": {
			before: func(b *bench) { b.ended(wish("0"), 2, plan.Outcome{Done: true}) }, want: wish("1"), due: true,
		},
		"a pass had trouble, and nothing has changed since": {
			before: func(b *bench) { b.ended(wish("1"), 2, inTrouble); b.there(2, "1", false) }, want: wish("1"),
		},
		"a pass had trouble, and the watch events for its writes arrive": {
			before: func(b *bench) { b.ended(wish("1"), 3, inTrouble); b.there(1, "1", false); b.there(2, "1", false) }, want: wish("1"),
		},
		"a pass had trouble, and another client has changed the Delivery since": {
			before: func(b *bench) { b.ended(wish("1"), 2, inTrouble); b.there(3, "1", false) }, want: wish("1"), due: true,
		},
		"a pass had trouble, and its retry is due": {
			before: func(b *bench) {
				b.ended(wish("1"), 2, inTrouble)
				b.there(2, "1", false)
				b.clock.Step(plan.RetryLater)
			}, want: wish("1"), due: true,
		},
		"a pass waits for a change, and nothing changes": {
			before: func(b *bench) {
				b.ended(wish("1"), 2, plan.Outcome{State: v1alpha1.StateWaiting, Reason: v1alpha1.ReasonAPINotServed})
				b.there(2, "1", false)
				b.clock.Step(24 * time.Hour)
			}, want: wish("1"),
		},
		"a pass waits for a kind, and it is served now": {
			before: func(b *bench) {
				b.ended(wish("1"), 2, plan.Outcome{State: v1alpha1.StateWaiting, Reason: v1alpha1.ReasonAPINotServed})
				b.there(2, "1", false, v1alpha1.ObjectStatus{Kind: "Crate", Name: "c", Reason: v1alpha1.ReasonAPIServed})
			}, want: wish("1"), due: true,
		},
		"a network error interrupted a pass": {
			before: func(b *bench) { b.failed(web, wish("1"), errors.New("reset")) }, want: wish("1"), due: true,
		},
		"the Delivery was deleted after a pass": {
			before: func(b *bench) {
				b.ended(wish("1"), 2, plan.Outcome{Done: true})
				b.there(2, "1", true)
				b.deliveries.Remove(web.Delivery())
			},
			want: wish("1"), due: true,
		},
		"the Delivery was deleted, and another client made it again": {
			before: func(b *bench) {
				b.ended(wish("1"), 5, plan.Outcome{Done: true})
				d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Wrapper: webID}}
				d.Name, d.UID, d.Generation = web.Delivery(), "another", 1
				b.deliveries.Put(d)
			}, want: wish("1"), due: true,
		},
		"the member was restored from a backup of before the pass": {
			before: func(b *bench) {
				b.there(1, "0", true)
				b.ended(wish("1"), 3, plan.Outcome{Done: true})
				observer{b.memberQueue}.Listed(b.deliveries, map[string]int64{web.Delivery(): 1})
			}, want: wish("1"), due: true,
		},
		"the member was restored from a backup of before there was a Delivery": {
			before: func(b *bench) {
				b.ended(wish("1"), 3, plan.Outcome{Done: true})
				observer{b.memberQueue}.Listed(b.deliveries, nil)
			}, want: wish("1"), due: true,
		},
		"the host was behind the member and still is": {
			before: func(b *bench) {
				b.there(4, "0", true)
				b.ended(wish("1"), 4, plan.Outcome{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonHostBehindMember})
			}, want: wish("1"),
		},
		"the host was behind the member and has another generation of the same rendering": {
			before: func(b *bench) {
				b.there(4, "0", true)
				b.ended(wish("1"), 4, plan.Outcome{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonHostBehindMember})
			}, want: func() *Desired { w := wish("1"); w.Wrapper.Generation = 2; return w }(), due: true,
		},
		"the wrapper leaves": {before: func(b *bench) { b.there(1, "1", true) }, want: &Desired{Wrapper: webID}, due: true},
		"the wrapper has left": {before: func(b *bench) { b.ended(&Desired{Wrapper: webID}, 0, plan.Outcome{Done: true}) },
			want: &Desired{Wrapper: webID}},
		"a removal waits, and its retry is not due": {
			before: func(b *bench) {
				b.ended(&Desired{Wrapper: webID}, 2, plan.Outcome{Reason: v1alpha1.ReasonRemovalWaits, Retry: plan.RetrySoon})
				b.there(2, "", false)
			}, want: &Desired{Wrapper: webID},
		},
		"a removal waits, and its retry is due": {
			before: func(b *bench) {
				b.ended(&Desired{Wrapper: webID}, 2, plan.Outcome{Reason: v1alpha1.ReasonRemovalWaits, Retry: plan.RetrySoon})
				b.there(2, "", false)
				b.clock.Step(plan.RetrySoon)
			}, want: &Desired{Wrapper: webID}, due: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			test.before(b)
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
		before func(*bench)
		want   *Desired
		due    bool
	}{
		"a drift":                     {before: func(b *bench) { b.there(1, "1", true, changed) }, due: true},
		"a drift under drift: Report": {before: func(b *bench) { b.there(1, "1", true, changed) }, want: report},
		"a drift that was repaired": {before: func(b *bench) {
			b.there(1, "1", true, changed)
			b.ended(wish("1"), 1, plan.Outcome{Done: true})
		}},
		"another drift after a repair": {before: func(b *bench) {
			b.there(1, "1", true, changed)
			b.ended(wish("1"), 1, plan.Outcome{Done: true})
			b.there(1, "1", true, drift(v1alpha1.DriftChanged, "8"))
		}, due: true},
		"the same drift again, after a report without drift": {before: func(b *bench) {
			b.there(1, "1", true, changed)
			b.ended(wish("1"), 1, plan.Outcome{Done: true})
			b.there(1, "1", true)
			b.there(1, "1", true, changed)
		}, due: true},
		"a repair that failed, before its retry": {before: func(b *bench) {
			b.there(1, "1", true, changed)
			b.ended(wish("1"), 1, plan.Outcome{Reason: v1alpha1.ReasonRefused, Retry: plan.RetryLater, Unrepaired: []plan.ObjectID{a}})
		}},
		"a repair that failed, at its retry": {before: func(b *bench) {
			b.there(1, "1", true, changed)
			b.ended(wish("1"), 1, plan.Outcome{Reason: v1alpha1.ReasonRefused, Retry: plan.RetryLater, Unrepaired: []plan.ObjectID{a}})
			b.clock.Step(plan.RetryLater)
		}, due: true},
		"a drift that was repaired by a pass with other trouble": {before: func(b *bench) {
			b.there(1, "1", true, changed)
			b.ended(wish("1"), 1, plan.Outcome{Reason: v1alpha1.ReasonRefused, Retry: plan.RetryLater})
			b.clock.Step(plan.RetryLater)
		}},
		"a drift whose repair a network error prevented": {before: func(b *bench) {
			b.there(1, "1", true, changed)
			b.failed(web, wish("1"), errors.New("reset"))
		}, due: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			test.before(b)
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
