// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/push/reinstall"
)

// listing is a rendering that has every object.
type listing string

func (l listing) Digest() string                   { return string(l) }
func (listing) Lists(_, _, _ string) bool          { return true }
func (listing) Render() (*render.Rendering, error) { return &render.Rendering{}, nil }

// reinstallBench is the manager's memory of the reinstalls of one pair, without a member.
type reinstallBench struct {
	*reinstalls
	clock   *clocktesting.FakeClock
	key     Key
	desired *plan.Desired
}

func newReinstallBench() *reinstallBench {
	clk := clocktesting.NewFakeClock(time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC))
	return &reinstallBench{reinstalls: &reinstalls{clock: clk}, clock: clk, key: KeyOf(v1alpha1.WrapperIdentity{Kind: "Federated", Namespace: "shop", Name: "db"}), desired: &plan.Desired{Rendering: listing("d"), Reinstalls: true, MayReinstall: true}}
}

// attempt makes an attempt that ends with this decision.
func (b *reinstallBench) attempt(t *testing.T, is upgrade.Reinstall, underWay bool) time.Duration {
	t.Helper()
	if due, _, _ := b.begin(b.key, b.desired, "db: CSVMissing", upgrade.RecordOpen); !due {
		t.Fatal("no attempt is due")
	}
	result := &reinstall.Result{Reinstall: is, Subscription: "db", IsUnderWay: underWay, IsJudged: true, Removed: "sub-1"}
	if is.Forbids {
		result.Forbidden = []string{"db"}
	}
	return b.end(b.key, b.desired, result)
}

func TestARefusedCreationUsesTheBackOffOfThePasses(t *testing.T) {
	b, id := newReinstallBench(), subscriptionID("db")
	create := upgrade.Reinstall{Step: upgrade.Create, Message: "creating"}
	if wait := b.attempt(t, create, true); wait != time.Millisecond {
		t.Errorf("the first pass follows after %s", wait)
	}
	todo := plan.Work{}
	if !b.addOwed(b.key, b.desired, &todo, false, &plan.Outcome{}) || todo.Drifted[id] != v1alpha1.DriftGone || todo.Gone[id] != "sub-1" {
		t.Fatalf("the pass does not create the Subscription: %+v", todo)
	}
	refused := plan.Outcome{Desired: b.desired, Unrepaired: []plan.ObjectID{id}, Message: "a policy refuses it", Again: b.clock.Now().Add(2 * time.Minute)}
	b.created(b.key, &todo, &refused, "")
	says := func() {
		t.Helper()
		if is := b.of(b.key, b.desired); is == nil || is.Reason != v1alpha1.ReasonReinstalling || is.State != v1alpha1.StateDegraded || !strings.Contains(is.Message, "a policy refuses it") {
			t.Errorf("the line says %+v", is)
		}
	}
	says()
	for b.clock.Now().Before(refused.Again) {
		if b.addOwed(b.key, b.desired, &plan.Work{}, false, &refused) {
			t.Fatal("the manager tries again before the back-off ends")
		}
		b.clock.Step(30 * time.Second)
		if wait := b.attempt(t, create, true); wait < reinstallInterval {
			t.Fatalf("the manager looks again after %s", wait)
		}
		says()
	}
	if todo = (plan.Work{}); !b.addOwed(b.key, b.desired, &todo, false, &refused) {
		t.Fatal("the manager does not try again when the back-off ends")
	}
	if b.created(b.key, &todo, &plan.Outcome{Desired: b.desired, Done: true}, "") == 0 || b.of(b.key, b.desired) != nil {
		t.Error("a creation that succeeds is not the end")
	}
	if b.addOwed(b.key, b.desired, &plan.Work{}, false, &plan.Outcome{Desired: b.desired, Done: true}) {
		t.Error("the Subscription is created twice")
	}
}

func TestAnErrorOfThePassDuringTheCreationIsVisible(t *testing.T) {
	b := newReinstallBench()
	b.attempt(t, upgrade.Reinstall{Step: upgrade.Create, Message: "creating"}, true)
	todo := plan.Work{}
	b.addOwed(b.key, b.desired, &todo, false, &plan.Outcome{})
	b.created(b.key, &todo, &plan.Outcome{}, "the member does not answer")
	if is := b.of(b.key, b.desired); is == nil || !strings.Contains(is.Message, "the member does not answer") {
		t.Errorf("the line says %+v", is)
	}
}

// While the Subscription was gone, another client created one for the same package.
func TestAnOwedSubscriptionIsDroppedForAnotherOne(t *testing.T) {
	b, id := newReinstallBench(), subscriptionID("db")
	b.attempt(t, upgrade.Reinstall{Step: upgrade.Create, Message: "creating"}, true)
	b.clock.Step(time.Minute)
	b.attempt(t, upgrade.Reinstall{Step: upgrade.Keep, Forbids: true, Message: "Subscription db2 installs package db now"}, false)
	todo := plan.Work{Drifted: map[plan.ObjectID]v1alpha1.DriftKind{id: v1alpha1.DriftGone}}
	if b.addOwed(b.key, b.desired, &todo, true, &plan.Outcome{}) || len(todo.Drifted) > 0 {
		t.Errorf("the manager creates a second Subscription: %+v", todo)
	}
	if is := b.of(b.key, b.desired); is == nil || is.Reason != v1alpha1.ReasonReinstallRefused || !strings.Contains(is.Message, "db2") {
		t.Errorf("the line says %+v", is)
	}
	b.clock.Step(time.Minute)
	b.attempt(t, upgrade.Reinstall{Step: upgrade.Create, Message: "creating"}, true)
	if !b.addOwed(b.key, b.desired, &todo, false, &plan.Outcome{}) {
		t.Error("when the other one is gone, the manager does not create its own")
	}
}

// The package of a removed Subscription has another one. Meanwhile the manager reinstalls the second operator of the wrapper, and then
// cannot read the namespace any more.
func TestAForbiddenSubscriptionStaysSoUntilTheManagerReadsThatItIsNot(t *testing.T) {
	b, id := newReinstallBench(), subscriptionID("db")
	b.attempt(t, upgrade.Reinstall{Step: upgrade.Create, Message: "creating"}, true)
	for i, result := range []reinstall.Result{
		{Reinstall: upgrade.Reinstall{Step: upgrade.AwaitRemoval}, Subscription: "web", IsUnderWay: true, IsJudged: true, Forbidden: []string{"db"}},
		{Reinstall: upgrade.Reinstall{Step: upgrade.AwaitRemoval}, Subscription: "web", IsUnderWay: true},
	} {
		b.clock.Step(time.Minute)
		if due, _, _ := b.begin(b.key, b.desired, "web: CSVMissing", upgrade.RecordOpen); !due {
			t.Fatal("no attempt is due")
		}
		b.end(b.key, b.desired, &result)
		todo := plan.Work{Drifted: map[plan.ObjectID]v1alpha1.DriftKind{id: v1alpha1.DriftGone}}
		if b.addOwed(b.key, b.desired, &todo, true, &plan.Outcome{}) || len(todo.Drifted) > 0 {
			t.Errorf("attempt %d: the manager creates a second Subscription: %+v", i, todo)
		}
	}
}

// A member whose attempts end in errors must not hold the turn of others.
func TestAnAttemptThatFailsIsVisibleAndEndsTheAnnouncement(t *testing.T) {
	for name, tc := range map[string]struct {
		underWay bool
		recorded upgrade.RecordState
		want     string
	}{
		"nothing has begun":             {false, upgrade.NothingRecorded, v1alpha1.ReasonReinstallRefused},
		"it has begun":                  {true, upgrade.RecordOpen, v1alpha1.ReasonReinstalling},
		"it has begun before a restart": {false, upgrade.RecordOpen, v1alpha1.ReasonReinstalling},
	} {
		t.Run(name, func(t *testing.T) {
			b := newReinstallBench()
			b.attempt(t, upgrade.Reinstall{Step: upgrade.Announce, Message: "in 30s"}, tc.underWay)
			b.clock.Step(reinstallInterval)
			_, announced, _ := b.begin(b.key, b.desired, "db: CSVMissing", tc.recorded)
			if len(announced) != 1 {
				t.Fatal("nothing is announced")
			}
			wait := b.failed(b.key, tc.recorded, errors.New("the answer is no list"))
			if is := b.of(b.key, b.desired); is == nil || is.Reason != tc.want || is.State != v1alpha1.StateDegraded || !strings.Contains(is.Message, "the answer is no list") {
				t.Errorf("the line says %+v", is)
			}
			b.clock.Step(wait)
			if due, announced, _ := b.begin(b.key, b.desired, "db: CSVMissing", tc.recorded); !due || len(announced) > 0 {
				t.Error("the announcement stands")
			}
		})
	}
}

func TestNothingIsReinstalledWhileThePairIsHeld(t *testing.T) {
	desired := &plan.Desired{Rendering: listing("d"), Wrapper: v1alpha1.WrapperIdentity{UID: "u", Generation: 4}}
	held := plan.Outcome{Desired: desired, State: v1alpha1.StateHeld}
	for name, tc := range map[string]struct {
		there v1alpha1.WrapperIdentity
		last  plan.Outcome
		want  bool
	}{
		"the member has the generation of the host": {v1alpha1.WrapperIdentity{UID: "u", Generation: 4}, plan.Outcome{}, false},
		"the host was restored":                     {v1alpha1.WrapperIdentity{UID: "u", Generation: 5}, plan.Outcome{}, true},
		"the last pass was held":                    {v1alpha1.WrapperIdentity{UID: "u", Generation: 4}, held, true},
		"that was for another desired state":        {v1alpha1.WrapperIdentity{UID: "u", Generation: 4}, plan.Outcome{Desired: &plan.Desired{Rendering: listing("e")}, State: v1alpha1.StateHeld}, false},
	} {
		if is := isHeldBack(&deliveries.Summary{Wrapper: tc.there}, desired, &tc.last); is != tc.want {
			t.Errorf("%s: %v", name, is)
		}
	}
}

// A restarted manager looks at an open record also if the collector reports nothing, for example because it is dead.
func TestAnOpenRecordIsEnoughForAnAttempt(t *testing.T) {
	for recorded, want := range map[upgrade.RecordState]bool{upgrade.NothingRecorded: false, upgrade.RecordUnsettled: true, upgrade.RecordOpen: true} {
		b := newReinstallBench()
		if due, _, _ := b.begin(b.key, b.desired, "", recorded); due != want {
			t.Errorf("record %d: due %v", recorded, due)
		}
	}
}

func TestAWrapperThatKeepsEverythingFinishesBeforeItLeaves(t *testing.T) {
	leaving := func(policy v1alpha1.DeletionPolicy) *plan.Desired { return &plan.Desired{OnDelete: policy} }
	create := upgrade.Reinstall{Step: upgrade.Create, Message: "creating"}
	t.Run("it stays until the Subscription is there", func(t *testing.T) {
		b, is := newReinstallBench(), leaving(v1alpha1.KeepAll)
		b.attempt(t, create, true)
		finishing := b.beforeLeaving(b.key, is)
		if finishing == is || finishing.Leaving() || finishing.Reinstalls || !finishing.Same(b.desired) {
			t.Fatalf("the desired state is %+v", finishing)
		}
		if b.beforeLeaving(b.key, is) != finishing {
			t.Error("the desired state is a new one each time")
		}
		todo := plan.Work{}
		b.addOwed(b.key, finishing, &todo, false, &plan.Outcome{})
		if b.created(b.key, &todo, &plan.Outcome{Desired: finishing, Done: true}, "") == 0 || b.beforeLeaving(b.key, is) != is {
			t.Error("it does not leave then")
		}
	})
	t.Run("it leaves after ten minutes", func(t *testing.T) {
		b, is := newReinstallBench(), leaving(v1alpha1.KeepAll)
		b.attempt(t, create, true)
		b.beforeLeaving(b.key, is)
		b.clock.Step(10 * time.Minute)
		if b.beforeLeaving(b.key, is) != is {
			t.Error("it stays")
		}
	})
	t.Run("it leaves at once where it removes the Subscription anyway", func(t *testing.T) {
		b, is := newReinstallBench(), leaving(v1alpha1.DeleteAll)
		b.attempt(t, create, true)
		if b.beforeLeaving(b.key, is) != is {
			t.Error("it stays")
		}
	})
	t.Run("it leaves at once where nothing is under way", func(t *testing.T) {
		b, is := newReinstallBench(), leaving(v1alpha1.KeepAll)
		b.attempt(t, upgrade.Reinstall{Step: upgrade.Announce, Message: "in 30s"}, false)
		if b.beforeLeaving(b.key, is) != is {
			t.Error("it stays")
		}
	})
}
