// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

var (
	usable = member.ProbeResult{Probed: true, Reachable: true, Valid: true}
	lostIt = member.ProbeResult{Probed: true, Reason: v1alpha1.ReasonUnreachable}
	webID  = v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: "web", UID: "w", Generation: 1}
	web    = KeyOf(webID)
)

// bench is a member queue without a connection to a member. The test sets the Deliveries and the outcomes of the
// passes.
type bench struct {
	*memberQueue
	t     *testing.T
	clock *clocktesting.FakeClock
	woken []Key
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	conn, err := member.Connect("east", &rest.Config{Host: "https://192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	pusher := New(member.NewFleet(member.Host{}, b.clock), deliveries.NewStore(b.clock), b.clock, Host{}, func(k Key) { b.woken = append(b.woken, k) })
	b.memberQueue = newMemberQueue(conn, pusher, b.clock, usable)
	pusher.deliveries.OnNews(pusher.wake)
	pusher.queues["east"] = b.memberQueue
	b.deliveries.Replace()
	t.Cleanup(b.queue.ShutDown)
	return b
}

// unlisted puts the queue back to the state before the first list of the member's Deliveries.
func (b *bench) unlisted() { b.deliveries = b.pusher.deliveries.Open(b.conn, observer{b.memberQueue}) }

// fixed is a Rendering that returns objects that exist already.
type fixed struct{ made *render.Rendering }

func (f fixed) Digest() string                     { return f.made.Digest }
func (f fixed) Render() (*render.Rendering, error) { return f.made, nil }
func (f fixed) Lists(group, kind, name string) bool {
	return slices.ContainsFunc(f.made.Objects, func(o render.Object) bool {
		return o.GVK.Group == group && o.GVK.Kind == kind && o.Name == name
	})
}

func wish(digest string) *Desired {
	listed := func(kind, name string) render.Object {
		return render.Object{GVK: schema.GroupVersionKind{Version: "v1", Kind: kind}, Name: name}
	}
	return &Desired{Wrapper: webID, Drift: v1alpha1.DriftRepair, Rendering: fixed{&render.Rendering{Digest: digest,
		Objects: []render.Object{listed("ConfigMap", "a"), listed("ConfigMap", "b"), listed("Secret", "s")}}}}
}

// there puts the wrapper's Delivery into the index. Its inventory lists ConfigMap a: as Applied if complete is true,
// otherwise as Pending.
func (b *bench) there(generation int64, digest string, complete bool, objects ...v1alpha1.ObjectStatus) {
	d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Wrapper: webID, Target: &v1alpha1.DeliveryTarget{Rendering: digest}}}
	d.Name, d.UID, d.Generation = web.Delivery(), "d", generation
	state := v1alpha1.EntryApplied
	if !complete {
		state = v1alpha1.EntryPending
	}
	d.Spec.Inventory = []v1alpha1.InventoryEntry{{Kind: "ConfigMap", Name: "a", State: state}}
	d.Status.Objects = objects
	b.deliveries.Put(d)
}

func drift(kind v1alpha1.DriftKind, version string) v1alpha1.ObjectStatus {
	return v1alpha1.ObjectStatus{Kind: "ConfigMap", Name: "a", Drift: &v1alpha1.Drift{Kind: kind, ResourceVersion: version}}
}

// ended records the end of a pass with this outcome. generation is that of the Delivery after the pass; 0 if the pass
// left no Delivery.
func (b *bench) ended(w *Desired, generation int64, out plan.Outcome) {
	b.t.Helper()
	todo, due := b.due(web, w)
	if !due {
		b.t.Fatal("the pass was not due")
	}
	out.Desired = w
	if generation > 0 {
		out.UID, out.Generation = "d", generation
	}
	b.finished(web, out, todo)
}

func TestTheBackoffOfAPairGrowsAndIsResetByAnotherDesiredState(t *testing.T) {
	b := newBench(t)
	var waits []time.Duration
	try := func(w *Desired, retry time.Duration) {
		b.ended(w, 0, plan.Outcome{Retry: retry})
		waits = append(waits, b.last().Again.Sub(b.clock.Now()))
		b.clock.Step(waits[len(waits)-1])
	}
	for range 8 {
		try(wish("1"), plan.RetrySoon)
	}
	try(wish("1"), plan.RetryLater)
	b.pusher.SetDesired("east", wish("1"))
	b.pusher.SetDesired("east", wish("2"))
	try(wish("2"), plan.RetrySoon)
	want := []time.Duration{2, 4, 8, 16, 32, 64, 120, 120, 120, 2}
	for i := range want {
		want[i] *= time.Second
	}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The first list of the member's Deliveries arrives while the queue decides about pairs. A pair whose Delivery is in
// that list must not count as new: its pass would try to create the Delivery, and the API server would refuse that.
func TestAListThatArrivesMeanwhileMakesNoPairNew(t *testing.T) {
	const pairs = 200
	for range 20 {
		b := newBench(t)
		b.unlisted()
		var keys []Key
		var listed []*v1alpha1.Delivery
		for i := range pairs {
			id := webID
			id.Name = fmt.Sprintf("web-%03d", i)
			d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Wrapper: id, Target: &v1alpha1.DeliveryTarget{Rendering: "1"}}}
			d.Name, d.UID, d.Generation = KeyOf(id).Delivery(), "d", 1
			keys, listed = append(keys, KeyOf(id)), append(listed, d)
		}
		var workers sync.WaitGroup
		for w := range 4 {
			workers.Go(func() {
				for done := false; !done; {
					done = b.deliveries.IsListed()
					for i := range keys {
						key := keys[(i+w*pairs/4)%pairs]
						if todo, due, _ := b.judge(key, wish("1")); due && todo.IsNew {
							t.Errorf("%v is new although the member has its Delivery", key)
						}
					}
				}
			})
		}
		b.deliveries.Replace(listed...)
		workers.Wait()
	}
}

func TestTheQueueTriesAPairAgainByItself(t *testing.T) {
	b := newBench(t)
	b.ended(wish("1"), 2, inTrouble)
	for !b.clock.HasWaiters() {
		// The queue has not set its timer yet.
	}
	b.clock.Step(plan.RetryLater)
	if key, shutdown := b.queue.Get(); shutdown || key != web {
		t.Errorf("got %v", key)
	}
}

func TestTheBreakerOpensAfterANetworkErrorAndClosesAfterAProbe(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("no"))
	b := newBench(t)
	if b.park(web) {
		t.Fatal("parked while the breaker is closed")
	}
	b.failed(web, wish("1"), refused)
	if b.breaker.isOpen() {
		t.Error("the refusal of one object has opened the breaker")
	}
	b.failed(web, wish("1"), errors.New("connection refused"))
	if !b.park(web) || !b.park(Key{}) {
		t.Error("the breaker is closed after a network error")
	}
	b.probed(usable, lostIt)
	if !b.park(web) {
		t.Error("the breaker is closed after a failed probe")
	}
	for b.queue.Len() > 0 {
		key, _ := b.queue.Get()
		b.queue.Done(key)
	}
	b.probed(lostIt, usable)
	if b.park(web) || b.queue.Len() != 2 || b.breaker.parked.Len() != 0 {
		t.Errorf("closed: %v, queued %d, parked %v", !b.breaker.isOpen(), b.queue.Len(), b.breaker.parked)
	}
	if _, due := b.due(web, wish("1")); !due {
		t.Error("the interrupted pair is not due at once")
	}
}

// An address does not prove which cluster answers, so no pass may run before a probe has confirmed the member.
func TestTheBreakerIsOpenUntilAProbeHasConfirmedTheMember(t *testing.T) {
	b := newBench(t)
	l := newMemberQueue(b.conn, b.pusher, b.clock, member.ProbeResult{})
	t.Cleanup(l.queue.ShutDown)
	if !l.park(web) {
		t.Error("closed before any probe")
	}
	l.probed(member.ProbeResult{}, member.ProbeResult{Probed: true, Reachable: true, Reason: v1alpha1.ReasonOtherHost})
	if !l.park(web) {
		t.Error("closed for a member of another host")
	}
	l.probed(member.ProbeResult{Probed: true}, usable)
	if l.park(web) || l.queue.Len() != 1 {
		t.Errorf("open after a successful probe, or the parked pair is lost (%d queued)", l.queue.Len())
	}
}

// A wrapper leaves a member, is placed there again, and leaves once more. The outcome of the first leaving must not
// count for the second.
func TestAnOutcomeCountsOnlyForItsOwnDesiredState(t *testing.T) {
	b := newBench(t)
	leave := func() *Desired { return &Desired{Wrapper: webID} }
	b.pusher.SetDesired("east", leave())
	b.ended(leave(), 0, plan.Outcome{Done: true})
	if out := b.pusher.Pair(web, "east").Outcome; out == nil || !out.Done {
		t.Fatalf("not left: %+v", out)
	}
	b.pusher.SetDesired("east", leave()) // equal to the first desired state
	if out := b.pusher.Pair(web, "east").Outcome; out == nil || !out.Done {
		t.Errorf("an equal desired state lost the outcome: %+v", out)
	}
	b.pusher.SetDesired("east", wish("1"))
	// The wrapper is to leave again, before a pass for the state in between has ended.
	b.pusher.SetDesired("east", leave())
	if out := b.pusher.Pair(web, "east").Outcome; out != nil {
		t.Errorf("the earlier outcome counts: %+v", out)
	}
}

func TestWhichDesiredStatesQueueAPair(t *testing.T) {
	for name, test := range map[string]struct {
		first, second *Desired
		queued        bool
	}{
		"a new desired state":                {nil, wish("1"), true},
		"an equal one":                       {wish("1"), wish("1"), false},
		"another one":                        {wish("1"), wish("2"), true},
		"another generation of an equal one": {wish("1"), func() *Desired { w := wish("1"); w.Wrapper.Generation++; return w }(), true},
		"another revision of an equal one":   {wish("1"), func() *Desired { w := wish("1"); w.Revision = "r"; return w }(), false},
		"leaving":                            {wish("1"), &Desired{Wrapper: webID, Drift: v1alpha1.DriftRepair}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if test.first != nil {
				b.pusher.SetDesired("east", test.first)
				key, _ := b.queue.Get()
				b.queue.Done(key)
			}
			b.pusher.SetDesired("east", test.second)
			if got := b.queue.Len() > 0; got != test.queued {
				t.Errorf("queued: %v", got)
			}
			b.pusher.RemoveDesired(web, "east")
			if len(b.pusher.DesiredMembers(web)) > 0 || b.pusher.desired.get(web, "east") != nil {
				t.Error("the desired state was removed, and is still there")
			}
		})
	}
}

func TestADeliveryWakesTheWrapperOnlyWhenItHasChanged(t *testing.T) {
	b := newBench(t)
	b.there(1, "1", true)
	b.there(1, "1", true)
	b.there(2, "1", true)
	b.deliveries.Remove(web.Delivery())
	b.deliveries.Remove(web.Delivery())
	if diff := cmp.Diff([]Key{web, web, web}, b.woken); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
}

// last returns the outcome of the last pass.
func (b *bench) last() plan.Outcome {
	last, _ := b.histories.of(web)
	return last
}

// due returns whether a pass is due, and its work, as the method judge does. Unlike judge it does not forget contested
// objects.
func (b *bench) due(key Key, want *Desired) (todo plan.Work, due bool) {
	if want == nil || !b.deliveries.IsListed() {
		return plan.Work{}, false
	}
	b.histories.change(key, func(h *plan.History, now time.Time) {
		var wake time.Duration
		todo, due, wake = h.Due(want, b.deliveries.Get(key), b.dueSecrets.take(key), b.deliveries.IsListing(), now)
		b.wakeAfter(key, wake)
	})
	return todo, due
}

// settle forgets the contested objects that have been without drift for long enough.
func (b *bench) settle(key Key) {
	b.histories.change(key, func(h *plan.History, now time.Time) { b.wakeAfter(key, h.Settle(b.deliveries.Get(key), now)) })
}
