// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

var objectA = plan.ObjectID{Kind: "ConfigMap", Name: "a"}

// unrepairedDrift is a pair whose ConfigMap a has drifted, and whose repair was refused.
func unrepairedDrift(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.there(1, "1", true, drift(v1alpha1.DriftChanged, "7"))
	b.ended(wish("1"), 1, plan.Outcome{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Message: "webhook", Retry: plan.RetryLater,
		Unrepaired: []plan.ObjectID{objectA}})
	return b
}

func TestADriftThatCouldNotBeMendedIsNotForgotten(t *testing.T) {
	secretDue := func(b *bench) plan.Work {
		b.dueSecrets.add(web, "s")
		todo, due := b.due(web, wish("1"))
		if !due {
			b.t.Fatal("the Secret is not looked at")
		}
		todo.Drifted[plan.SecretID("s")] = v1alpha1.DriftChanged
		return todo
	}
	for name, meanwhile := range map[string]func(*bench){
		"over a Secret that was put right": func(b *bench) {
			b.finished(web, plan.Outcome{Done: true, Desired: wish("1"), UID: "d", Generation: 1}, secretDue(b))
		},
		"over another drift that was mended": func(b *bench) {
			other := drift(v1alpha1.DriftChanged, "8")
			other.Name = "b"
			b.there(1, "1", true, drift(v1alpha1.DriftChanged, "7"), other)
			b.ended(wish("1"), 1, plan.Outcome{Done: true})
		},
		"over a pass that the wire broke off": func(b *bench) { b.failed(web, wish("1"), errors.New("reset")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := unrepairedDrift(t)
			meanwhile(b)
			b.clock.Step(plan.RetryLater)
			if todo, _ := b.due(web, wish("1")); todo.Drifted[objectA] == "" {
				t.Errorf("nobody repairs it any more: %v", todo.Drifted)
			}
		})
	}
}

func TestAnotherPassDoesNotHideADriftThatCouldNotBeMended(t *testing.T) {
	b := unrepairedDrift(t)
	other := drift(v1alpha1.DriftChanged, "8")
	other.Name = "b"
	b.there(1, "1", true, drift(v1alpha1.DriftChanged, "7"), other)
	b.pusher.desired.set(web, "east", wish("1"))
	b.ended(wish("1"), 1, plan.Outcome{Done: true})
	out := b.pusher.Pair(web, "east").Outcome
	if out == nil || out.Done || out.Reason != v1alpha1.ReasonPushError || !out.LeftDrift() {
		t.Errorf("%+v", out)
	}
	b.there(1, "1", true, other)
	b.there(1, "1", true, func() v1alpha1.ObjectStatus {
		o := other
		o.Drift = &v1alpha1.Drift{Kind: v1alpha1.DriftChanged, ResourceVersion: "9"}
		return o
	}())
	b.ended(wish("1"), 1, plan.Outcome{Done: true})
	if out := b.pusher.Pair(web, "east").Outcome; out == nil || !out.Done {
		t.Errorf("it went by itself, and is still told: %+v", out)
	}
}

// Nobody tells of a Secret, so its own outcome is all there is to come back for.
// As when somebody makes an object anew that is dropped at that very moment.
func TestADriftOfWhatIsNotWantedAnyMoreIsForgotten(t *testing.T) {
	b := unrepairedDrift(t)
	without := wish("2")
	made, _ := without.Rendering.Render()
	made.Objects = made.Objects[1:]
	b.ended(without, 2, plan.Outcome{Done: true})
	if got := b.last(); !got.Done || got.LeftDrift() {
		t.Errorf("%+v", got)
	}
}

func TestASecretWhoseRepairWasRefusedIsTriedAgain(t *testing.T) {
	b := newBench(t)
	b.there(1, "1", true)
	b.pusher.SetDesired("east", wish("1"))
	b.dueSecrets.add(web, "s")
	todo, _ := b.due(web, wish("1"))
	todo.Drifted[plan.SecretID("s")] = v1alpha1.DriftChanged
	b.finished(web, plan.Outcome{Reason: v1alpha1.ReasonRefused, Retry: plan.RetryLater, Desired: wish("1"), UID: "d", Generation: 1,
		Unrepaired: []plan.ObjectID{plan.SecretID("s")}}, todo)
	if todo, due := b.due(web, wish("1")); due {
		t.Errorf("before its time: %v", todo.Drifted)
	}
	b.clock.Step(plan.RetryLater)
	if todo, due := b.due(web, wish("1")); !due || todo.Drifted[plan.SecretID("s")] == "" {
		t.Errorf("due: %v, to repair: %v", due, todo.Drifted)
	}
}

func TestALookThatTheWireBrokeOffSaysNothingOfThePair(t *testing.T) {
	b := unrepairedDrift(t)
	before := *b.histories.all[web]
	b.checkFailed(t.Context(), web, errors.New("reset"))
	if got := *b.histories.all[web]; !reflect.DeepEqual(got, before) {
		t.Errorf("%+v, and was %+v", got, before)
	}
	if !b.breaker.isOpen() {
		t.Error("the way is open though the wire broke")
	}
}

func TestADriftSeenWhileTheHostWasBehindIsRepairedWhenItHasCaughtUp(t *testing.T) {
	b := newBench(t)
	b.there(4, "1", true, drift(v1alpha1.DriftChanged, "7"))
	b.ended(wish("1"), 4, plan.Outcome{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonHostBehindMember, Unrepaired: []plan.ObjectID{objectA}})
	if todo, due := b.due(web, wish("1")); due {
		t.Fatalf("while it is behind: %v", todo.Drifted)
	}
	caughtUp := wish("1")
	caughtUp.Wrapper.Generation++
	if todo, due := b.due(web, caughtUp); !due || todo.Drifted[objectA] == "" {
		t.Errorf("due: %v, to repair: %v", due, todo.Drifted)
	}
}

func TestSecretsAreLookedAfterWhileSomethingElseOfThePairWaits(t *testing.T) {
	b := newBench(t)
	b.pusher.SetDesired("east", wish("1"))
	b.ended(wish("1"), 2, plan.Outcome{State: v1alpha1.StateWaiting, Reason: v1alpha1.ReasonAPINotServed})
	b.there(2, "1", false)
	at := plan.Pair{Member: "east", Key: web}
	if !b.pusher.secrets.mayCheck(at) {
		t.Fatal("it may not be looked at")
	}
	b.pusher.secrets.enqueue(plan.Turn{Pair: at, Name: "s"})
	if todo, due := b.due(web, wish("1")); !due || len(todo.Secrets) != 1 {
		t.Errorf("due: %v, to look at: %v", due, todo.Secrets)
	}
	b.there(2, "0", false)
	if b.pusher.secrets.mayCheck(at) {
		t.Error("it may be looked at though something else is delivered")
	}
}

// The collector's news woke the wrapper before the lane had judged them.
func TestTheBeginningOfAContestIsTold(t *testing.T) {
	r := &rival{bench: newBench(t), kind: v1alpha1.DriftChanged}
	r.pusher.desired.set(web, "east", wish("1"))
	for range maxFights {
		r.strikes()
		r.clock.Step(time.Second)
	}
	r.blows++
	r.there(1, "1", true, r.says())
	r.woken = nil
	r.push(t.Context(), web)
	if r.pusher.Pair(web, "east").Contested == "" || len(r.woken) != 1 {
		t.Errorf("contested %q, woken %v", r.pusher.Pair(web, "east").Contested, r.woken)
	}
}

// What a pass says of itself.
func TestAPassSaysWhichDriftItDidNotMend(t *testing.T) {
	s := newSite(t)
	w := s.want(configMap("a", "1"), configMap("b", "1"))
	s.mustDeliver(w)
	unmended := func(w *Desired, drifted map[plan.ObjectID]v1alpha1.DriftKind) []plan.ObjectID {
		t.Helper()
		out, err := (&pass{conn: s.conn, want: w, drifted: drifted}).run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return out.Unrepaired
	}
	gone := map[plan.ObjectID]v1alpha1.DriftKind{objectA: v1alpha1.DriftGone}

	held := *w
	held.Suspended = true
	if diff := cmp.Diff([]plan.ObjectID{objectA}, unmended(&held, gone), cmp.AllowUnexported(plan.ObjectID{})); diff != "" {
		t.Errorf("a pass that is held (-want +got):\n%s", diff)
	}
	s.delete("v1", "ConfigMap", "a")
	s.create(configMap("a", "somebody's"))
	if diff := cmp.Diff([]plan.ObjectID{objectA}, unmended(w, gone), cmp.AllowUnexported(plan.ObjectID{})); diff != "" {
		t.Errorf("somebody is in the way (-want +got):\n%s", diff)
	}
	s.delete("v1", "ConfigMap", "a")
	if got := unmended(w, gone); len(got) > 0 {
		t.Errorf("%v was mended", got)
	}
}
