// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/keymutex"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/inflight"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// lane is all that concerns one member: what is seen of its Deliveries, its queue of pairs to push,
// and whether the way there is open. It lives as long as the connection that it was made with.
type lane struct {
	conn   *member.Conn
	pusher *Pusher
	clock  clock.PassiveClock
	queue  workqueue.TypedDelayingInterface[Key]
	// deliveries is what the member has on record.
	deliveries *deliveries.Index
	// claims are names that a pass is about to give to objects.
	claims keymutex.KeyMutex
	// doors are the namespaces that were found open of late.
	doors doors

	mu sync.Mutex
	// memberUID is which cluster the last probe that got through has found.
	memberUID types.UID
	outcomes  map[Key]Outcome
	// repaired are the drifts that have been dealt with, by pair.
	repaired map[Key]sets.Set[string]
	// contests are the objects that had to be repaired of late, by pair.
	contests map[Key]map[identity]*contest
	failures map[Key]int
	// looks are the Secrets whose turn it is to be looked at, by pair.
	looks map[Key]sets.Set[string]
	// broken is the circuit breaker: while it is open nothing is sent and what comes is parked.
	broken bool
	parked sets.Set[Key]
}

// newLane makes a lane whose way is shut until a probe has found that the member is the one that was
// joined, and by us: nothing is ever written to a cluster on the strength of its address alone.
func newLane(conn *member.Conn, pusher *Pusher, clk clock.WithTicker, is member.ProbeResult) *lane {
	l := &lane{
		conn:      conn,
		pusher:    pusher,
		clock:     clk,
		memberUID: is.UID,
		broken:    !is.Usable(),
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{
			Clock: clk, Name: "push-" + conn.Name(),
		}),
		claims:   keymutex.NewHashed(64),
		doors:    doors{clock: clk},
		outcomes: make(map[Key]Outcome),
		repaired: make(map[Key]sets.Set[string]),
		contests: make(map[Key]map[identity]*contest),
		failures: make(map[Key]int),
		looks:    make(map[Key]sets.Set[string]),
		parked:   sets.New[Key](),
	}
	l.deliveries = pusher.deliveries.Open(conn, l)
	return l
}

// run works until ctx ends: as many passes at once as the member bears.
func (l *lane) run(ctx context.Context) {
	go l.deliveries.Follow(ctx)
	defer l.queue.ShutDown()
	defer context.AfterFunc(ctx, l.queue.ShutDown)()
	inflight.Serve(ctx, l.queue, l.conn.Limit(), func(key Key) {
		if !l.park(key) {
			l.push(ctx, key)
		}
	})
	<-ctx.Done() // what is seen of the member is good until then
}

// park puts a pair aside while the way to the member is shut.
func (l *lane) park(key Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		l.parked.Insert(key)
		delete(l.looks, key) // or they would all come at once when it opens
	}
	return l.broken
}

// push makes one pass at a pair, if there is something to do.
func (l *lane) push(ctx context.Context, key Key) {
	want := l.pusher.want(key, l.conn.Name())
	todo, due, news := l.judge(key, want)
	if news {
		// Whoever told of the drift woke the wrapper before it was judged.
		l.pusher.wake(key)
	}
	if !due {
		return
	}
	if err := l.lookAtSecrets(ctx, key, &todo); err != nil {
		if ctx.Err() == nil {
			l.lookFailed(ctx, key, err)
		}
		return
	}
	if len(todo.secrets) > 0 && len(todo.drifted) == 0 {
		return
	}
	p := &pass{conn: l.conn, want: want, drifted: todo.drifted, gone: todo.gone, claims: l.claims, doors: &l.doors, seals: l.seals(), isNew: todo.isNew,
		hostLabels: l.pusher.hostLabels}
	p.wanted = func() bool {
		now := l.pusher.want(key, l.conn.Name())
		return now == want || now.same(want)
	}
	outcome, err := p.run(ctx)
	if ctx.Err() != nil {
		return
	}
	l.noteSecrets(ctx, key, p)
	l.noteKept(ctx, key, p)
	if err != nil {
		log.FromContext(ctx).Info("push did not get through", "member", l.conn.Name(), "wrapper", key.String(), "error", err.Error())
		l.failed(key, want, err)
	} else {
		l.finished(key, outcome, todo)
	}
	l.pusher.wake(key)
}

// work is what a pass is to do beside bringing about what is wanted.
type work struct {
	// drifted are the objects to repair, marks the IDs of these drifts; of those that are gone, gone has the uid that was
	// recorded when the collector said so.
	drifted map[identity]v1alpha1.DriftKind
	marks   map[identity]string
	gone    map[identity]types.UID
	// secrets are the Secrets to look at, of a pair that has come to rest.
	secrets []string
	// isNew says that nothing of the pair was ever seen on the member, nor tried.
	isNew bool
}

// judge says whether a pair needs a pass, what that one is to repair, and whether there is news of what is
// fought over.
func (l *lane) judge(key Key, want *Want) (todo work, due, news bool) {
	contested := func() string {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.contested(key)
	}
	before := contested()
	l.settle(key)
	todo, due = l.due(key, want)
	return todo, due, contested() != before
}

// letGoOfEarlier has an outcome refer to an equal want of a later generation, or all objects of the earlier generation's spec would
// stay in memory. l.mu is held.
func (l *lane) letGoOfEarlier(key Key, want *Want) {
	if last, ok := l.outcomes[key]; ok && last.want != want && want.same(last.want) && !last.isOvertakenBy(want) {
		last.want = want
		l.outcomes[key] = last
	}
}

// due says whether a pair needs a pass, and what that one is to repair.
func (l *lane) due(key Key, want *Want) (work, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if want == nil || !l.deliveries.IsListed() {
		return work{}, false
	}
	last, seen, looks := l.outcomes[key], l.deliveries.Get(key), l.takeLooks(key)
	retry := !last.again.IsZero() && !l.clock.Now().Before(last.again)
	overtaken := last.isOvertakenBy(want)
	unchanged, rests := want.same(last.want) && !overtaken, l.rests(key, want)
	l.letGoOfEarlier(key, want)
	if want.Leaving() || want.Suspended {
		return work{}, !unchanged || !last.Done && !rests
	}
	if todo := l.repairs(key, want, seen, retry || overtaken); len(todo.drifted) > 0 {
		return todo, true
	}
	switch {
	case !rests && !want.IsHeldBy(seen):
		return work{isNew: seen == nil && last.want == nil && l.failures[key] == 0 && !l.deliveries.IsListing()}, true
	case !want.IsHeldBy(seen) && seen.ServedNow() && !last.Done:
		return work{}, true
	case want.isRecordedBy(seen):
		return work{secrets: looks, drifted: make(map[identity]v1alpha1.DriftKind)}, len(looks) > 0
	}
	return work{}, false
}

// rests says whether the last pass has left a pair as it is for this very wish, nothing has changed on the
// member since, and its time to be tried again has not come. l.mu is held.
func (l *lane) rests(key Key, want *Want) bool {
	last, seen := l.outcomes[key], l.deliveries.Get(key)
	retry := !last.again.IsZero() && !l.clock.Now().Before(last.again)
	return want.same(last.want) && !last.isOvertakenBy(want) && !retry && last.uid != "" &&
		(seen == nil || seen.UID == last.uid && seen.Generation <= last.generation)
}

// repairs are the drifts that no pass has dealt with, and, when it is time to try again, those that the
// last one could not mend. l.mu is held.
func (l *lane) repairs(key Key, want *Want, seen *deliveries.Summary, retry bool) work {
	todo := work{drifted: make(map[identity]v1alpha1.DriftKind), marks: make(map[identity]string), gone: make(map[identity]types.UID)}
	if want.Drift != v1alpha1.DriftRepair || seen == nil || seen.Wrapper.UID != want.Wrapper.UID {
		return todo // what the Delivery of another wrapper says of its objects is nothing to this one
	}
	unmended, now := l.outcomes[key].unmended, l.clock.Now()
	for _, o := range seen.Drifts() {
		id, mark := identity{o.Group, o.Kind, o.Name}, deliveries.DriftID(&o)
		if l.repaired[key].Has(mark) && (!retry || !slices.Contains(unmended, id)) {
			continue
		}
		if !l.mayRepair(key, id, &o, now) {
			continue
		}
		todo.drifted[id], todo.marks[id] = o.Drift.Kind, mark
		if o.Drift.Kind == v1alpha1.DriftGone {
			todo.gone[id] = types.UID(o.Drift.ResourceVersion)
		}
	}
	for _, id := range unmended {
		if retry && id.isSecret() { // nobody tells that it still is not as it should be
			todo.drifted[id] = v1alpha1.DriftChanged
		}
	}
	return todo
}

// probed opens or shuts the way to the member.
func (l *lane) probed(was, is member.ProbeResult) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !is.Usable() {
		l.broken = true
		return
	}
	l.memberUID = is.UID
	l.deliveries.Probed(was, is)
	if l.broken {
		l.broken = false
		for key := range l.parked {
			l.queue.Add(key)
		}
		l.parked.Clear()
	}
}

// drop forgets a pair that nobody wants any more.
func (l *lane) drop(key Key) {
	l.renew(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parked.Delete(key)
	l.deliveries.Forget(key)
}

// renew forgets how passes for earlier wishes went: no later wish of the same words may take the end of
// one of them, a member that was left before it was come back to, for its own.
func (l *lane) renew(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.outcomes, key)
	delete(l.repaired, key)
	delete(l.contests, key)
	delete(l.failures, key)
}
