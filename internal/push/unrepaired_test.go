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

// unrepairedDrift returns a queue with one pair. The pair's ConfigMap a has drifted, and the member refused its repair.
func unrepairedDrift(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.there(1, "1", true, drift(v1alpha1.DriftChanged, "7"))
	b.ended(wish("1"), 1, plan.Outcome{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Message: "webhook", Retry: plan.RetryLater,
		Unrepaired: []plan.ObjectID{objectA}})
	return b
}

func TestAFailedRepairIsTriedAgainAfterAnotherPass(t *testing.T) {
	secretDue := func(b *bench) plan.Work {
		b.dueSecrets.add(web, "s")
		todo, due := b.due(web, wish("1"))
		if !due {
			b.t.Fatal("the Secret is not due")
		}
		todo.Drifted[plan.SecretID("s")] = v1alpha1.DriftChanged
		return todo
	}
	for name, meanwhile := range map[string]func(*bench){
		"after the repair of a Secret": func(b *bench) {
			b.finished(web, plan.Outcome{Done: true, Desired: wish("1"), UID: "d", Generation: 1}, secretDue(b))
		},
		"after the repair of another object": func(b *bench) {
			other := drift(v1alpha1.DriftChanged, "8")
			other.Name = "b"
			b.there(1, "1", true, drift(v1alpha1.DriftChanged, "7"), other)
			b.ended(wish("1"), 1, plan.Outcome{Done: true})
		},
		"after a pass that a network error interrupted": func(b *bench) { b.failed(web, wish("1"), errors.New("reset")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := unrepairedDrift(t)
			meanwhile(b)
			b.clock.Step(plan.RetryLater)
			if todo, _ := b.due(web, wish("1")); todo.Drifted[objectA] == "" {
				t.Errorf("the object is not due any more: %v", todo.Drifted)
			}
		})
	}
}

func TestAnotherPassDoesNotHideAFailedRepair(t *testing.T) {
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
		t.Errorf("the drift is gone, and is still reported: %+v", out)
	}
}

// The member refused the repair of an object, and then the author drops the object from the wrapper.
func TestTheDriftOfAnObjectThatIsNoLongerDesiredIsForgotten(t *testing.T) {
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
		t.Errorf("due before the retry: %v", todo.Drifted)
	}
	b.clock.Step(plan.RetryLater)
	if todo, due := b.due(web, wish("1")); !due || todo.Drifted[plan.SecretID("s")] == "" {
		t.Errorf("due: %v, to repair: %v", due, todo.Drifted)
	}
}

func TestAFailedCheckOfASecretKeepsTheOutcomeOfThePair(t *testing.T) {
	b := unrepairedDrift(t)
	before := *b.histories.all[web]
	b.checkFailed(t.Context(), web, errors.New("reset"))
	if got := *b.histories.all[web]; !reflect.DeepEqual(got, before) {
		t.Errorf("%+v, and was %+v", got, before)
	}
	if !b.breaker.isOpen() {
		t.Error("the breaker is closed after a network error")
	}
}

func TestADriftReportedWhileTheHostWasBehindIsRepairedLater(t *testing.T) {
	b := newBench(t)
	b.there(4, "1", true, drift(v1alpha1.DriftChanged, "7"))
	b.ended(wish("1"), 4, plan.Outcome{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonHostBehindMember, Unrepaired: []plan.ObjectID{objectA}})
	if todo, due := b.due(web, wish("1")); due {
		t.Fatalf("due while the host is behind: %v", todo.Drifted)
	}
	caughtUp := wish("1")
	caughtUp.Wrapper.Generation++
	if todo, due := b.due(web, caughtUp); !due || todo.Drifted[objectA] == "" {
		t.Errorf("due: %v, to repair: %v", due, todo.Drifted)
	}
}

func TestSecretsAreCheckedWhileAnotherObjectOfThePairWaits(t *testing.T) {
	b := newBench(t)
	b.pusher.SetDesired("east", wish("1"))
	b.ended(wish("1"), 2, plan.Outcome{State: v1alpha1.StateWaiting, Reason: v1alpha1.ReasonAPINotServed})
	b.there(2, "1", false)
	at := plan.Pair{Member: "east", Key: web}
	if !b.pusher.secrets.mayCheck(at) {
		t.Fatal("the Secret may not be checked")
	}
	b.pusher.secrets.enqueue(plan.Turn{Pair: at, Name: "s"})
	if todo, due := b.due(web, wish("1")); !due || len(todo.Secrets) != 1 {
		t.Errorf("due: %v, Secrets to check: %v", due, todo.Secrets)
	}
	b.there(2, "0", false)
	if b.pusher.secrets.mayCheck(at) {
		t.Error("the Secret may be checked although another pass is due")
	}
}

// The drift report wakes the wrapper's controller before the queue decides that the object is contested. So the queue
// has to wake the controller again.
func TestTheQueueWakesTheWrapperWhenAnObjectBecomesContested(t *testing.T) {
	r := &otherClient{bench: newBench(t), kind: v1alpha1.DriftChanged}
	r.pusher.desired.set(web, "east", wish("1"))
	for range maxRepairs {
		r.changesAgain()
		r.clock.Step(time.Second)
	}
	r.changes++
	r.there(1, "1", true, r.reported())
	r.woken = nil
	r.push(t.Context(), web)
	if r.pusher.Pair(web, "east").Contested == "" || len(r.woken) != 1 {
		t.Errorf("contested %q, woken %v", r.pusher.Pair(web, "east").Contested, r.woken)
	}
}

func TestAnOutcomeListsTheDriftsThatThePassDidNotRepair(t *testing.T) {
	s := newSite(t)
	w := s.want(configMap("a", "1"), configMap("b", "1"))
	s.mustDeliver(w)
	unrepaired := func(w *Desired, drifted map[plan.ObjectID]v1alpha1.DriftKind) []plan.ObjectID {
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
	if diff := cmp.Diff([]plan.ObjectID{objectA}, unrepaired(&held, gone), cmp.AllowUnexported(plan.ObjectID{})); diff != "" {
		t.Errorf("a pass that is held (-want +got):\n%s", diff)
	}
	s.delete("v1", "ConfigMap", "a")
	s.create(configMap("a", "theirs"))
	if diff := cmp.Diff([]plan.ObjectID{objectA}, unrepaired(w, gone), cmp.AllowUnexported(plan.ObjectID{})); diff != "" {
		t.Errorf("another client's object has the name (-want +got):\n%s", diff)
	}
	s.delete("v1", "ConfigMap", "a")
	if got := unrepaired(w, gone); len(got) > 0 {
		t.Errorf("%v counts as not repaired", got)
	}
}
