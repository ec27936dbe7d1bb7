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

// These values are copies of the constants in package plan.
const (
	maxRepairs   = 5
	repairWindow = 10 * time.Minute
	firstApart   = time.Minute
)

// otherClient is another client of the member. It changes ConfigMap a back after every repair.
type otherClient struct {
	*bench
	kind v1alpha1.DriftKind
	// changes is how often the other client has changed ConfigMap a.
	changes int
}

// reported returns the drift that the collector reports after the other client's last change.
func (r *otherClient) reported() v1alpha1.ObjectStatus {
	o := drift(r.kind, strings.Repeat("i", r.changes)) // each change brings another resourceVersion or uid
	o.Drift.Manager, o.Drift.Fields = "other-operator", []string{".data.value"}
	return o
}

// changesAgain makes the other client change ConfigMap a once more, and reports whether the manager repairs that at
// once.
func (r *otherClient) changesAgain(others ...v1alpha1.ObjectStatus) bool {
	r.changes++
	r.there(1, "1", true, append(others, r.reported())...)
	return r.repairs()
}

// repairs makes the pass that is due, if any, and reports whether that pass repairs ConfigMap a.
func (r *otherClient) repairs() bool {
	r.t.Helper()
	r.settle(web)
	todo, due := r.due(web, wish("1"))
	if !due {
		return false
	}
	_, repaired := todo.Drifted[plan.ObjectID{Kind: "ConfigMap", Name: "a"}]
	r.finished(web, plan.Outcome{Done: true, Desired: wish("1"), UID: "d", Generation: 1}, todo)
	return repaired
}

// sixChanges makes the other client change ConfigMap a six times, so that the ConfigMap is contested. It returns the
// status message.
func (r *otherClient) sixChanges() string {
	r.t.Helper()
	for i := range maxRepairs {
		if !r.changesAgain() {
			r.t.Fatalf("change %d was not repaired at once", i+1)
		}
		if message := r.pusher.Pair(web, "east").Contested; message != "" {
			r.t.Fatalf("contested after change %d: %s", i+1, message)
		}
		r.clock.Step(time.Second)
	}
	if r.changesAgain() {
		r.t.Fatal("the sixth change was repaired at once")
	}
	return r.pusher.Pair(web, "east").Contested
}

func TestAnObjectThatAnotherClientKeepsChangingBackIsContested(t *testing.T) {
	for name, test := range map[string]struct {
		kind  v1alpha1.DriftKind
		words []string
	}{
		"changed": {v1alpha1.DriftChanged, []string{"ConfigMap a", "other-operator", ".data.value", "drift: Report"}},
		"deleted": {v1alpha1.DriftGone, []string{"ConfigMap a", "deleted", "drift: Report"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &otherClient{bench: newBench(t), kind: test.kind}
			message := r.sixChanges()
			for _, word := range test.words {
				if !strings.Contains(message, word) {
					t.Errorf("the message lacks %q: %s", word, message)
				}
			}
			r.clock.Step(firstApart - time.Second)
			if !r.repairs() {
				t.Fatal("the pause is over, and the object is not repaired")
			}
			if r.pusher.Pair(web, "east").Contested != message {
				t.Error("one repair ended the contest")
			}
			if r.changesAgain() {
				t.Error("the next change was repaired at once")
			}
		})
	}
}

func TestAContestedObjectDoesNotDelayTheOtherObjects(t *testing.T) {
	r := &otherClient{bench: newBench(t), kind: v1alpha1.DriftChanged}
	r.sixChanges()
	b := drift(v1alpha1.DriftChanged, "7")
	b.Name = "b"
	r.there(1, "1", true, r.reported(), b)
	todo, due := r.due(web, wish("1"))
	want := map[plan.ObjectID]v1alpha1.DriftKind{{Kind: "ConfigMap", Name: "b"}: v1alpha1.DriftChanged}
	if diff := cmp.Diff(want, todo.Drifted, cmp.AllowUnexported(plan.ObjectID{})); !due || diff != "" {
		t.Errorf("due: %v, to repair (-want +got):\n%s", due, diff)
	}
}

func TestWhenAnObjectIsNoLongerContested(t *testing.T) {
	for name, test := range map[string]struct {
		play func(*otherClient)
		want bool // whether the object is still contested
	}{
		"unchanged for long enough after a repair": {play: func(r *otherClient) {
			r.clock.Step(firstApart)
			r.repairs()
			r.there(1, "1", true)
			r.clock.Step(repairWindow)
		}},
		"still contested just before that": {want: true, play: func(r *otherClient) {
			r.clock.Step(firstApart)
			r.repairs()
			r.there(1, "1", true)
			r.clock.Step(repairWindow - time.Second)
		}},
		"unchanged for long enough after the other client undid its change": {play: func(r *otherClient) {
			r.there(1, "1", true)
			r.repairs()
			r.clock.Step(repairWindow)
		}},
		"still contested while it drifts": {want: true, play: func(r *otherClient) { r.clock.Step(firstApart - time.Second) }},
		"another desired state":           {play: func(r *otherClient) { r.pusher.SetDesired("east", wish("2")) }},
		"still contested after an equal desired state": {want: true, play: func(r *otherClient) {
			again := wish("1")
			again.Wrapper.Generation++
			r.pusher.SetDesired("east", again)
		}},
		"the pair has no desired state any more": {play: func(r *otherClient) { r.pusher.RemoveDesired(web, "east") }},
	} {
		t.Run(name, func(t *testing.T) {
			r := &otherClient{bench: newBench(t), kind: v1alpha1.DriftChanged}
			r.pusher.SetDesired("east", wish("1"))
			r.sixChanges()
			test.play(r)
			r.settle(web)
			if got := r.pusher.Pair(web, "east").Contested; (got != "") != test.want {
				t.Errorf("contested: %q", got)
			}
		})
	}
}

// No event of the member tells that an object is not contested any more, because that depends only on the time. So the
// queue itself has to wake the wrapper's controller.
func TestTheQueueWakesTheWrapperWhenAnObjectIsNoLongerContested(t *testing.T) {
	r := &otherClient{bench: newBench(t), kind: v1alpha1.DriftChanged}
	r.pusher.SetDesired("east", wish("1"))
	r.sixChanges()
	r.clock.Step(firstApart)
	r.repairs()
	r.there(1, "1", true)
	r.woken = nil
	for steps := 0; r.pusher.Pair(web, "east").Contested != ""; steps++ {
		if r.clock.Step(time.Second); steps > 24*3600 {
			t.Fatal("the queue did not wake the wrapper within a day")
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

// The collector reports that the manager itself applied ConfigMap a without recording it. No other client is involved,
// so neither the drift policy nor the drift backoff applies.
func TestAnUnfinishedPushIsAppliedAgainUnderEveryDriftPolicy(t *testing.T) {
	for _, policy := range []v1alpha1.DriftPolicy{v1alpha1.DriftRepair, v1alpha1.DriftReport} {
		t.Run(string(policy), func(t *testing.T) {
			b := newBench(t)
			w := wish("1")
			w.Drift = policy
			for i := range 3 * maxRepairs {
				o := drift(v1alpha1.DriftChanged, strings.Repeat("i", 1+i))
				o.Reason = v1alpha1.ReasonUnfinished
				b.there(1, "1", true, o)
				b.settle(web)
				todo, due := b.due(web, w)
				if !due || todo.Drifted[objectA] != v1alpha1.DriftChanged {
					t.Fatalf("report %d: due: %v, to apply: %v", i+1, due, todo.Drifted)
				}
				b.finished(web, plan.Outcome{Done: true, Desired: w, UID: "d", Generation: 1}, todo)
				if todo, due := b.due(web, w); due {
					t.Fatalf("report %d: the same drift is due again: %v", i+1, todo.Drifted)
				}
			}
			if _, contested := b.histories.of(web); contested != "" {
				t.Errorf("the object counts as contested: %s", contested)
			}
			b.there(1, "1", true, drift(v1alpha1.DriftChanged, "by another client"))
			if _, due := b.due(web, w); due != (policy == v1alpha1.DriftRepair) {
				t.Errorf("a change of another client is due: %t", due)
			}
		})
	}
}

func TestARefusedUnfinishedPushIsTriedAgainUnderDriftReport(t *testing.T) {
	b := newBench(t)
	w := wish("1")
	w.Drift = v1alpha1.DriftReport
	o := drift(v1alpha1.DriftChanged, "7")
	o.Reason = v1alpha1.ReasonUnfinished
	b.there(1, "1", true, o)
	b.ended(w, 1, plan.Outcome{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Retry: plan.RetryLater, Unrepaired: []plan.ObjectID{objectA}})
	if todo, due := b.due(web, w); due {
		t.Errorf("due before the retry: %v", todo.Drifted)
	}
	b.clock.Step(plan.RetryLater)
	if todo, due := b.due(web, w); !due || todo.Drifted[objectA] == "" {
		t.Errorf("due: %v, to apply: %v", due, todo.Drifted)
	}
}
