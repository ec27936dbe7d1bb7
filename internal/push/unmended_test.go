// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

var objectA = identity{kind: "ConfigMap", name: "a"}

// unmendedDrift is a pair whose ConfigMap a has drifted, and whose repair was refused.
func unmendedDrift(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.there(1, "1", true, drift(v1alpha1.DriftChanged, "7"))
	b.ended(wish("1"), 1, Outcome{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Message: "webhook", Retry: retryLater,
		unmended: []identity{objectA}})
	return b
}

func TestADriftThatCouldNotBeMendedIsNotForgotten(t *testing.T) {
	secretDue := func(b *bench) work {
		b.looks[web] = sets.New("s")
		todo, due := b.due(web, wish("1"))
		if !due {
			b.t.Fatal("the Secret is not looked at")
		}
		todo.drifted[secretID("s")] = v1alpha1.DriftChanged
		return todo
	}
	for name, meanwhile := range map[string]func(*bench){
		"over a Secret that was put right": func(b *bench) {
			b.finished(web, Outcome{Done: true, want: wish("1"), uid: "d", generation: 1}, secretDue(b))
		},
		"over another drift that was mended": func(b *bench) {
			other := drift(v1alpha1.DriftChanged, "8")
			other.Name = "b"
			b.there(1, "1", true, drift(v1alpha1.DriftChanged, "7"), other)
			b.ended(wish("1"), 1, Outcome{Done: true})
		},
		"over a pass that the wire broke off": func(b *bench) { b.failed(web, wish("1"), errors.New("reset")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := unmendedDrift(t)
			meanwhile(b)
			b.clock.Step(retryLater)
			if todo, _ := b.due(web, wish("1")); todo.drifted[objectA] == "" {
				t.Errorf("nobody repairs it any more: %v", todo.drifted)
			}
		})
	}
}

func TestAnotherPassDoesNotHideADriftThatCouldNotBeMended(t *testing.T) {
	b := unmendedDrift(t)
	other := drift(v1alpha1.DriftChanged, "8")
	other.Name = "b"
	b.there(1, "1", true, drift(v1alpha1.DriftChanged, "7"), other)
	b.pusher.wants[web] = map[string]*Want{"east": wish("1")}
	b.ended(wish("1"), 1, Outcome{Done: true})
	out := b.pusher.Pair(web, "east").Outcome
	if out == nil || out.Done || out.Reason != v1alpha1.ReasonPushError || !out.IsUnmended() {
		t.Errorf("%+v", out)
	}
	b.there(1, "1", true, other)
	b.there(1, "1", true, func() v1alpha1.ObjectStatus {
		o := other
		o.Drift = &v1alpha1.Drift{Kind: v1alpha1.DriftChanged, ResourceVersion: "9"}
		return o
	}())
	b.ended(wish("1"), 1, Outcome{Done: true})
	if out := b.pusher.Pair(web, "east").Outcome; out == nil || !out.Done {
		t.Errorf("it went by itself, and is still told: %+v", out)
	}
}

// Nobody tells of a Secret, so its own outcome is all there is to come back for.
// As when somebody makes an object anew that is dropped at that very moment.
func TestADriftOfWhatIsNotWantedAnyMoreIsForgotten(t *testing.T) {
	b := unmendedDrift(t)
	without := wish("2")
	made, _ := without.Rendering.Render()
	made.Objects = made.Objects[1:]
	b.ended(without, 2, Outcome{Done: true})
	if got := b.outcomes[web]; !got.Done || got.IsUnmended() {
		t.Errorf("%+v", got)
	}
}

func TestASecretWhoseRepairWasRefusedIsTriedAgain(t *testing.T) {
	b := newBench(t)
	b.there(1, "1", true)
	b.pusher.Want("east", wish("1"))
	b.looks[web] = sets.New("s")
	todo, _ := b.due(web, wish("1"))
	todo.drifted[secretID("s")] = v1alpha1.DriftChanged
	b.finished(web, Outcome{Reason: v1alpha1.ReasonRefused, Retry: retryLater, want: wish("1"), uid: "d", generation: 1,
		unmended: []identity{secretID("s")}}, todo)
	if todo, due := b.due(web, wish("1")); due {
		t.Errorf("before its time: %v", todo.drifted)
	}
	b.clock.Step(retryLater)
	if todo, due := b.due(web, wish("1")); !due || todo.drifted[secretID("s")] == "" {
		t.Errorf("due: %v, to repair: %v", due, todo.drifted)
	}
}

func TestALookThatTheWireBrokeOffSaysNothingOfThePair(t *testing.T) {
	b := unmendedDrift(t)
	before := b.outcomes[web]
	failures := b.failures[web]
	b.lookFailed(t.Context(), web, errors.New("reset"))
	if got := b.outcomes[web]; got.Reason != before.Reason || got.again != before.again || b.failures[web] != failures {
		t.Errorf("%+v, %d failures", got, b.failures[web])
	}
	if !b.broken {
		t.Error("the way is open though the wire broke")
	}
}

func TestADriftSeenWhileTheHostWasBehindIsRepairedWhenItHasCaughtUp(t *testing.T) {
	b := newBench(t)
	b.there(4, "1", true, drift(v1alpha1.DriftChanged, "7"))
	b.ended(wish("1"), 4, Outcome{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonHostBehindMember, unmended: []identity{objectA}})
	if todo, due := b.due(web, wish("1")); due {
		t.Fatalf("while it is behind: %v", todo.drifted)
	}
	caughtUp := wish("1")
	caughtUp.Wrapper.Generation++
	if todo, due := b.due(web, caughtUp); !due || todo.drifted[objectA] == "" {
		t.Errorf("due: %v, to repair: %v", due, todo.drifted)
	}
}

func TestSecretsAreLookedAfterWhileSomethingElseOfThePairWaits(t *testing.T) {
	b := newBench(t)
	b.pusher.Want("east", wish("1"))
	b.ended(wish("1"), 2, Outcome{State: v1alpha1.StateWaiting, Reason: v1alpha1.ReasonAPINotServed})
	b.there(2, "1", false)
	at := place{"east", web}
	if !b.pusher.mayLook(at) {
		t.Fatal("it may not be looked at")
	}
	b.pusher.look(turn{place: at, name: "s"})
	if todo, due := b.due(web, wish("1")); !due || len(todo.secrets) != 1 {
		t.Errorf("due: %v, to look at: %v", due, todo.secrets)
	}
	b.there(2, "0", false)
	if b.pusher.mayLook(at) {
		t.Error("it may be looked at though something else is delivered")
	}
}

// The collector's news woke the wrapper before the lane had judged them.
func TestTheBeginningOfAContestIsTold(t *testing.T) {
	r := &rival{bench: newBench(t), kind: v1alpha1.DriftChanged}
	r.pusher.wants[web] = map[string]*Want{"east": wish("1")}
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
	unmended := func(w *Want, drifted map[identity]v1alpha1.DriftKind) []identity {
		t.Helper()
		out, err := (&pass{conn: s.conn, want: w, drifted: drifted}).run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return out.unmended
	}
	gone := map[identity]v1alpha1.DriftKind{objectA: v1alpha1.DriftGone}

	held := *w
	held.Suspended = true
	if diff := cmp.Diff([]identity{objectA}, unmended(&held, gone), cmp.AllowUnexported(identity{})); diff != "" {
		t.Errorf("a pass that is held (-want +got):\n%s", diff)
	}
	s.delete("v1", "ConfigMap", "a")
	s.create(configMap("a", "somebody's"))
	if diff := cmp.Diff([]identity{objectA}, unmended(w, gone), cmp.AllowUnexported(identity{})); diff != "" {
		t.Errorf("somebody is in the way (-want +got):\n%s", diff)
	}
	s.delete("v1", "ConfigMap", "a")
	if got := unmended(w, gone); len(got) > 0 {
		t.Errorf("%v was mended", got)
	}
}
