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

// memberQueue is the state of one member: its queue of pairs to push, the histories of their passes, and its circuit
// breaker. It lives as long as the connection that it was made with. Each part has its own lock.
type memberQueue struct {
	conn   *member.Conn
	pusher *Pusher
	queue  workqueue.TypedDelayingInterface[Key]
	// deliveries are the Deliveries of the member.
	deliveries *deliveries.Index
	// names locks the names of objects that a pass is about to create.
	names keymutex.KeyMutex
	// namespaces caches the namespaces that were found open recently.
	namespaces *apply.NamespaceCache
	// native caches the kinds that the member's API server serves by itself.
	native    *apply.NativeKinds
	breaker   *breaker
	histories histories
	approvals approvals
	// dueSecrets are the Secrets that the manager has to check now.
	dueSecrets dueSecrets
}

// newMemberQueue makes a queue. Its breaker is open until a probe has confirmed the member.
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
		native:     apply.NewNativeKinds(),
		histories:  histories{clock: clk},
		approvals:  approvals{clock: clk},
	}
	q.deliveries = pusher.deliveries.Open(conn, observer{q})
	return q
}

// run makes passes until ctx ends, as many at once as the member's limit allows.
func (q *memberQueue) run(ctx context.Context) {
	go q.deliveries.Follow(ctx)
	defer q.queue.ShutDown()
	defer context.AfterFunc(ctx, q.queue.ShutDown)()
	inflight.Serve(ctx, q.queue, q.conn.Limit(), func(key Key) {
		if !q.park(key) {
			q.push(ctx, key)
		}
	})
	<-ctx.Done() // the caller closes the index of the member's Deliveries when run returns
}

// park sets a pair aside while the breaker is open, and drops its due Secrets. Otherwise all of them would come up at
// once when the breaker closes.
func (q *memberQueue) park(key Key) bool {
	return q.breaker.park(key, func() { q.dueSecrets.take(key) })
}

// push makes one pass for a pair, if there is work.
func (q *memberQueue) push(ctx context.Context, key Key) {
	desired := q.pusher.desired.get(key, q.conn.Name())
	todo, due, news := q.judge(key, desired)
	if news {
		// The event about the drift woke the wrapper before the drift was judged.
		q.pusher.wake(key)
	}
	if !due {
		q.approve(ctx, key, desired)
		return
	}
	if err := q.pusher.secrets.check(ctx, q, key, &todo); err != nil {
		if ctx.Err() == nil {
			q.checkFailed(ctx, key, err)
		}
		return
	}
	if len(todo.Secrets) > 0 && len(todo.Drifted) == 0 {
		q.approve(ctx, key, desired) // the queue has one entry for both
		return
	}
	todo.Recalled = q.deliveries.Recall(key)
	todo.IsRecorded, todo.IsObserved = q.deliveries.TakeRecorded(key, todo.Recalled), q.isObserved()
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
		log.FromContext(ctx).Info("a push failed", "member", q.conn.Name(), "wrapper", key.String(), "error", err.Error())
		q.failed(key, desired, err)
	} else {
		q.finished(key, outcome, todo)
	}
	q.pusher.wake(key)
}

// shared holds the values that the passes of the member share.
func (q *memberQueue) shared() apply.Member {
	host := &q.pusher.host
	return apply.Member{Conn: q.conn, Names: q.names, Namespaces: q.namespaces, Native: q.native, HostLabels: host.Labels,
		Seals: deliveries.NewSeals(host.SealKey, host.UID, q.breaker.uid())}
}

// isObserved reports whether a ready collector observes the member, and reports objects that a pass applied and did not record.
func (q *memberQueue) isObserved() bool {
	observes := q.pusher.host.Observes
	return observes != nil && observes(q.conn.Name())
}

// judge decides whether a pair needs a pass (due) and what that pass repairs (todo). news reports whether the message about
// contested objects has changed.
func (q *memberQueue) judge(key Key, desired *plan.Desired) (todo plan.Work, due, news bool) {
	q.histories.change(key, func(h *plan.History, now time.Time) {
		// The summary is read after IsListed. Otherwise a list that ends between the two would make a Delivery look
		// absent. It is read here, because the observer forgets repairs under the same lock, after the index has the
		// newer summary.
		listed, listing := q.deliveries.IsListed(), q.deliveries.IsListing()
		seen, before := q.deliveries.Get(key), h.Contested()
		q.wakeAfter(key, h.Settle(seen, now))
		if desired != nil && listed {
			var wake time.Duration
			todo, due, wake = h.Due(desired, seen, q.dueSecrets.take(key), listing, now)
			q.wakeAfter(key, wake)
			todo.Unrecorded = q.pusher.unrecorded.Of(plan.Pair{Member: q.conn.Name(), Key: key})
			if todo.Unrecorded.Any() && h.NeedsRecord(desired, seen, now) {
				todo.Secrets, due = nil, true // a check of Secrets alone would take the place of the pass
			}
		}
		news = h.Contested() != before
	})
	return todo, due, news
}

// wakeAfter queues a pair again after a while. Zero means never.
func (q *memberQueue) wakeAfter(key Key, wait time.Duration) {
	if wait > 0 {
		q.queue.AddAfter(key, wait)
	}
}

// finished records a completed pass.
func (q *memberQueue) finished(key Key, outcome plan.Outcome, todo plan.Work) {
	q.histories.change(key, func(h *plan.History, now time.Time) {
		q.wakeAfter(key, h.Finished(outcome, &todo, q.deliveries.Get(key), now))
	})
	q.deliveries.Written(key, outcome.UID, outcome.Generation)
	if outcome.Recorded && outcome.UID != "" {
		q.deliveries.Recorded(key, outcome.Generation)
	}
}

// failed records a pass that ended with an error of the connection. One such error opens the breaker. The next probe
// comes within seconds, and closes it if the member answers.
func (q *memberQueue) failed(key Key, desired *plan.Desired, err error) {
	q.histories.change(key, func(h *plan.History, now time.Time) { q.wakeAfter(key, h.Failed(desired, err, now)) })
	q.suspect(err)
}

// checkFailed records that a Secret could not be checked. The outcome of the pair's last pass stays valid. The Secret
// comes up again at its next turn.
func (q *memberQueue) checkFailed(ctx context.Context, key Key, err error) {
	log.FromContext(ctx).Info("could not check a Secret", "member", q.conn.Name(), "wrapper", key.String(), "error", err.Error())
	q.suspect(err)
}

// suspect opens the breaker if the error concerns the member as a whole, and asks for a probe.
func (q *memberQueue) suspect(err error) {
	if memberapi.ConcernsMember(err) && q.breaker.trip() {
		q.pusher.fleet.ProbeNow(q.conn.Name())
	}
}

// probed closes the breaker after a successful probe, and opens it after a failed one.
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

// drop forgets a pair that has no desired state any more.
func (q *memberQueue) drop(key Key) {
	q.histories.forget(key)
	q.approvals.forget(key)
	q.breaker.unpark(key)
	q.deliveries.Forget(key)
}
