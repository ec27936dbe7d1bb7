// SPDX-License-Identifier: Apache-2.0

package push

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// As in plan.
const (
	maxFights   = 5
	fightWindow = 10 * time.Minute
	firstApart  = time.Minute
)

// rival is somebody who undoes every repair of ConfigMap a, and what the collector says of it.
type rival struct {
	*bench
	kind  v1alpha1.DriftKind
	blows int
}

func (r *rival) says() v1alpha1.ObjectStatus {
	o := drift(r.kind, strings.Repeat("i", r.blows)) // another resourceVersion, or uid, each time
	o.Drift.Manager, o.Drift.Fields = "other-operator", []string{".data.value"}
	return o
}

// strikes has the object drift once more, and says whether that is repaired.
func (r *rival) strikes(others ...v1alpha1.ObjectStatus) bool {
	r.blows++
	r.there(1, "1", true, append(others, r.says())...)
	return r.repairs()
}

// repairs makes the pass that is due, if one is.
func (r *rival) repairs() bool {
	r.t.Helper()
	r.settle(web)
	todo, due := r.due(web, wish("1"))
	if !due {
		return false
	}
	_, mends := todo.Drifted[plan.ObjectID{Kind: "ConfigMap", Name: "a"}]
	r.finished(web, plan.Outcome{Done: true, Desired: wish("1"), UID: "d", Generation: 1}, todo)
	return mends
}

func (r *rival) sixBlows() string {
	r.t.Helper()
	for i := range maxFights {
		if !r.strikes() {
			r.t.Fatalf("blow %d was not repaired at once", i+1)
		}
		if said := r.pusher.Pair(web, "east").Contested; said != "" {
			r.t.Fatalf("contested after blow %d: %s", i+1, said)
		}
		r.clock.Step(time.Second)
	}
	if r.strikes() {
		r.t.Fatal("the sixth blow was repaired at once")
	}
	return r.pusher.Pair(web, "east").Contested
}

func TestAnObjectThatIsChangedBackAgainAndAgainIsContested(t *testing.T) {
	for name, test := range map[string]struct {
		kind  v1alpha1.DriftKind
		words []string
	}{
		"changed": {v1alpha1.DriftChanged, []string{"ConfigMap a", "other-operator", ".data.value", "drift: Report"}},
		"deleted": {v1alpha1.DriftGone, []string{"ConfigMap a", "deleted", "drift: Report"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rival{bench: newBench(t), kind: test.kind}
			said := r.sixBlows()
			for _, word := range test.words {
				if !strings.Contains(said, word) {
					t.Errorf("it does not say %q: %s", word, said)
				}
			}
			r.clock.Step(firstApart - time.Second)
			if !r.repairs() {
				t.Fatal("its time has come, and it is not repaired")
			}
			if r.pusher.Pair(web, "east").Contested != said {
				t.Error("one repair passes for peace")
			}
			if r.strikes() {
				t.Error("the blow after was repaired at once")
			}
		})
	}
}

func TestTheOtherObjectsOfAContestedBundleGoOn(t *testing.T) {
	r := &rival{bench: newBench(t), kind: v1alpha1.DriftChanged}
	r.sixBlows()
	b := drift(v1alpha1.DriftChanged, "7")
	b.Name = "b"
	r.there(1, "1", true, r.says(), b)
	todo, due := r.due(web, wish("1"))
	want := map[plan.ObjectID]v1alpha1.DriftKind{{Kind: "ConfigMap", Name: "b"}: v1alpha1.DriftChanged}
	if diff := cmp.Diff(want, todo.Drifted, cmp.AllowUnexported(plan.ObjectID{})); !due || diff != "" {
		t.Errorf("due: %v, to repair (-want +got):\n%s", due, diff)
	}
}

func TestAContestEnds(t *testing.T) {
	for name, test := range map[string]struct {
		play func(*rival)
		want bool // still contested
	}{
		"with peace after a repair": {play: func(r *rival) {
			r.clock.Step(firstApart)
			r.repairs()
			r.there(1, "1", true)
			r.clock.Step(fightWindow)
		}},
		"not before": {want: true, play: func(r *rival) {
			r.clock.Step(firstApart)
			r.repairs()
			r.there(1, "1", true)
			r.clock.Step(fightWindow - time.Second)
		}},
		"with peace that the other side made": {play: func(r *rival) {
			r.there(1, "1", true)
			r.repairs()
			r.clock.Step(fightWindow)
		}},
		"not while it has drifted": {want: true, play: func(r *rival) { r.clock.Step(firstApart - time.Second) }},
		"with another wish":        {play: func(r *rival) { r.pusher.SetDesired("east", wish("2")) }},
		"not with the same wish said again": {want: true, play: func(r *rival) {
			again := wish("1")
			again.Wrapper.Generation++
			r.pusher.SetDesired("east", again)
		}},
		"with the pair": {play: func(r *rival) { r.pusher.RemoveDesired(web, "east") }},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rival{bench: newBench(t), kind: v1alpha1.DriftChanged}
			r.pusher.SetDesired("east", wish("1"))
			r.sixBlows()
			test.play(r)
			r.settle(web)
			if got := r.pusher.Pair(web, "east").Contested; (got != "") != test.want {
				t.Errorf("contested: %q", got)
			}
		})
	}
}

// Nothing happens on the member any more when a contest is over: the lane itself has to come up and tell.
func TestTheEndOfAContestIsTold(t *testing.T) {
	r := &rival{bench: newBench(t), kind: v1alpha1.DriftChanged}
	r.pusher.SetDesired("east", wish("1"))
	r.sixBlows()
	r.clock.Step(firstApart)
	r.repairs()
	r.there(1, "1", true)
	r.woken = nil
	for steps := 0; r.pusher.Pair(web, "east").Contested != ""; steps++ {
		if r.clock.Step(time.Second); steps > 24*3600 {
			t.Fatal("nobody came up to see that it is over")
		}
		for r.queue.Len() > 0 {
			key, _ := r.queue.Get()
			r.push(t.Context(), key)
			r.queue.Done(key)
		}
	}
	if diff := cmp.Diff([]Key{web}, r.woken); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
}

// The collector reports that the manager applied ConfigMap a and did not record it.
func TestAnUnfinishedPushIsAppliedAgainUnderEveryPolicyAndIsNoContest(t *testing.T) {
	for _, policy := range []v1alpha1.DriftPolicy{v1alpha1.DriftRepair, v1alpha1.DriftReport} {
		t.Run(string(policy), func(t *testing.T) {
			b := newBench(t)
			w := wish("1")
			w.Drift = policy
			for i := range 3 * maxFights {
				o := drift(v1alpha1.DriftChanged, strings.Repeat("i", 1+i))
				o.Reason = v1alpha1.ReasonUnfinished
				b.there(1, "1", true, o)
				b.settle(web)
				todo, due := b.due(web, w)
				if !due || todo.Drifted[objectA] != v1alpha1.DriftChanged {
					t.Fatalf("time %d: due: %v, to apply: %v", i+1, due, todo.Drifted)
				}
				b.finished(web, plan.Outcome{Done: true, Desired: w, UID: "d", Generation: 1}, todo)
				if todo, due := b.due(web, w); due {
					t.Fatalf("time %d: the same mark is due again: %v", i+1, todo.Drifted)
				}
			}
			if _, contested := b.histories.of(web); contested != "" {
				t.Errorf("it counts as a contest: %s", contested)
			}
			b.there(1, "1", true, drift(v1alpha1.DriftChanged, "by another client"))
			if _, due := b.due(web, w); due != (policy == v1alpha1.DriftRepair) {
				t.Errorf("a change of another client is repaired at once: %t", due)
			}
		})
	}
}

func TestAnUnfinishedPushThatIsRefusedIsTriedAgainWhereDriftIsOnlyTold(t *testing.T) {
	b := newBench(t)
	w := wish("1")
	w.Drift = v1alpha1.DriftReport
	o := drift(v1alpha1.DriftChanged, "7")
	o.Reason = v1alpha1.ReasonUnfinished
	b.there(1, "1", true, o)
	b.ended(w, 1, plan.Outcome{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Retry: plan.RetryLater, Unrepaired: []plan.ObjectID{objectA}})
	if todo, due := b.due(web, w); due {
		t.Errorf("before its time: %v", todo.Drifted)
	}
	b.clock.Step(plan.RetryLater)
	if todo, due := b.due(web, w); !due || todo.Drifted[objectA] == "" {
		t.Errorf("due: %v, to apply: %v", due, todo.Drifted)
	}
}
