// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/keymutex"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/inflight"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// memberQueue is all that concerns one member: its queue of pairs to push, how their passes went, and whether the way
// there is open. It lives as long as the connection that it was made with. Each part has its own lock.
type memberQueue struct {
	conn   *member.Conn
	pusher *Pusher
	queue  workqueue.TypedDelayingInterface[Key]
	// deliveries is what the member has on record.
	deliveries *deliveries.Index
	// names are those that a pass is about to give to objects.
	names keymutex.KeyMutex
	// namespaces are those that were found open of late.
	namespaces *apply.NamespaceCache
	breaker    *breaker
	histories  histories
	// due are the Secrets whose turn it is to be looked at.
	dueSecrets dueSecrets
}

// newMemberQueue makes a queue whose breaker is open until a probe has found the member.
func newMemberQueue(conn *member.Conn, pusher *Pusher, clk clock.WithTicker, is member.ProbeResult) *memberQueue {
	q := &memberQueue{
		conn:    conn,
		pusher:  pusher,
		breaker: newBreaker(is),
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{
			Clock: clk, Name: "push-" + conn.Name(),
		}),
		names:      keymutex.NewHashed(64),
		namespaces: apply.NewNamespaceCache(clk),
		histories:  histories{clock: clk},
	}
	q.deliveries = pusher.deliveries.Open(conn, observer{q})
	return q
}

// run works until ctx ends: as many passes at once as the member bears.
func (q *memberQueue) run(ctx context.Context) {
	go q.deliveries.Follow(ctx)
	defer q.queue.ShutDown()
	defer context.AfterFunc(ctx, q.queue.ShutDown)()
	inflight.Serve(ctx, q.queue, q.conn.Limit(), func(key Key) {
		if !q.park(key) {
			q.push(ctx, key)
		}
	})
	<-ctx.Done() // what is seen of the member is good until then
}

// park puts a pair aside while the breaker is open, and drops its due Secrets: otherwise they would all come up at once when the
// breaker closes.
func (q *memberQueue) park(key Key) bool {
	return q.breaker.park(key, func() { q.dueSecrets.take(key) })
}

// push makes one pass at a pair, if there is something to do.
func (q *memberQueue) push(ctx context.Context, key Key) {
	desired := q.pusher.desired.get(key, q.conn.Name())
	todo, due, news := q.judge(key, desired)
	if news {
		// The news of the drift woke the wrapper before the drift was judged.
		q.pusher.wake(key)
	}
	if !due {
		return
	}
	if err := q.pusher.secrets.check(ctx, q, key, &todo); err != nil {
		if ctx.Err() == nil {
			q.checkFailed(ctx, key, err)
		}
		return
	}
	if len(todo.Secrets) > 0 && len(todo.Drifted) == 0 {
		return
	}
	p := apply.New(q.shared(), desired, &todo, func() bool {
		now := q.pusher.desired.get(key, q.conn.Name())
		return now == desired || now.Same(desired)
	})
	outcome, err := p.Run(ctx)
	if ctx.Err() != nil {
		return
	}
	q.pusher.secrets.note(ctx, plan.Pair{Member: q.conn.Name(), Key: key}, desired, &todo, p.Secrets())
	q.noteKept(ctx, key, p.Kept())
	if err != nil {
		log.FromContext(ctx).Info("push did not get through", "member", q.conn.Name(), "wrapper", key.String(), "error", err.Error())
		q.failed(key, desired, err)
	} else {
		q.finished(key, outcome, todo)
	}
	q.pusher.wake(key)
}

// shared is what the passes of the member share.
func (q *memberQueue) shared() apply.Member {
	host := &q.pusher.host
	return apply.Member{Conn: q.conn, Names: q.names, Namespaces: q.namespaces, HostLabels: host.Labels,
		Seals: deliveries.NewSeals(host.SealKey, host.UID, q.breaker.uid())}
}

// judge reports whether a pair needs a pass, what that one is to repair, and whether the contested objects have
// changed.
func (q *memberQueue) judge(key Key, desired *plan.Desired) (todo plan.Work, due, news bool) {
	q.histories.change(key, func(h *plan.History, now time.Time) {
		// The summary is read after IsListed, or a list that comes in between would make a Delivery look absent. And it is read
		// here, because the observer forgets repairs under the same lock, after the index has the newer summary.
		listed, listing := q.deliveries.IsListed(), q.deliveries.IsListing()
		seen, before := q.deliveries.Get(key), h.Contested()
		q.wakeAfter(key, h.Settle(seen, now))
		if desired != nil && listed {
			var wake time.Duration
			todo, due, wake = h.Due(desired, seen, q.dueSecrets.take(key), listing, now)
			q.wakeAfter(key, wake)
		}
		news = h.Contested() != before
	})
	return todo, due, news
}

// wakeAfter has a pair come up again after a while; zero is not at all.
func (q *memberQueue) wakeAfter(key Key, wait time.Duration) {
	if wait > 0 {
		q.queue.AddAfter(key, wait)
	}
}

// finished notes a pass that came to its end.
func (q *memberQueue) finished(key Key, outcome plan.Outcome, todo plan.Work) {
	q.histories.change(key, func(h *plan.History, now time.Time) {
		q.wakeAfter(key, h.Finished(outcome, &todo, q.deliveries.Get(key), now))
	})
	q.deliveries.Written(key, outcome.UID, outcome.Generation)
}

// failed notes a pass that the wire broke off. One such error is enough to open the breaker: the next probe
// comes within seconds and closes it where the member answers.
func (q *memberQueue) failed(key Key, desired *plan.Desired, err error) {
	q.histories.change(key, func(h *plan.History, now time.Time) { q.wakeAfter(key, h.Failed(desired, err, now)) })
	q.suspect(err)
}

// checkFailed notes that a Secret could not be looked at. That says nothing of the pair, whose last pass still
// tells how it is; the Secret comes up again in its next turn.
func (q *memberQueue) checkFailed(ctx context.Context, key Key, err error) {
	log.FromContext(ctx).Info("a Secret could not be looked at", "member", q.conn.Name(), "wrapper", key.String(), "error", err.Error())
	q.suspect(err)
}

// suspect opens the breaker when an error is the wire's.
func (q *memberQueue) suspect(err error) {
	if memberapi.IsWire(err) && q.breaker.trip() {
		q.pusher.fleet.ProbeNow(q.conn.Name())
	}
}

// probed closes the breaker when a probe got through, and opens it when not.
func (q *memberQueue) probed(was, is member.ProbeResult) {
	if !is.Usable() {
		q.breaker.trip()
		return
	}
	q.deliveries.Probed(was, is)
	for _, key := range q.breaker.reset(is.UID) {
		q.queue.Add(key)
	}
}

// drop forgets a pair of which nothing is wanted any more.
func (q *memberQueue) drop(key Key) {
	q.histories.forget(key)
	q.breaker.unpark(key)
	q.deliveries.Forget(key)
}
