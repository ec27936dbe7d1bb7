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
	"github.com/fairlead-dev/fairlead/internal/push/intents"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/namespaces"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// memberQueue is the queue of one member: the pairs that may need a pass, the histories of their passes, and the
// circuit breaker. It belongs to one connection to the member, and ends with the connection. Several passes run at the
// same time, so each field that they share has a lock of its own.
type memberQueue struct {
	conn   *member.Conn
	pusher *Pusher
	queue  workqueue.TypedDelayingInterface[Key]
	// deliveries has the summaries of the member's Deliveries.
	deliveries *deliveries.Index
	// names locks the names of objects that a pass is about to create, so that two passes do not create the same object.
	names keymutex.KeyMutex
	// namespaces remembers which namespaces of the member a pass has recently found open to the host.
	namespaces *namespaces.Cache
	// native remembers which kinds the member's API server serves itself, without an aggregated API server.
	native    *memberapi.NativeKinds
	breaker   *breaker
	histories histories
	approvals approvals
	// reinstalls has the reinstalls of operators that are ahead of their targets.
	reinstalls reinstalls
	// requests has the last write of evidence requests (v1alpha1.EvidenceRequest) into each Delivery of the member.
	requests requestWrites
	// shares lets new pairs share the write of their intents.
	shares *sharedIntents
	// dueSecrets are the Secrets that are due for a check.
	dueSecrets dueSecrets
}

// newMemberQueue makes a queue. Its circuit breaker is open until a probe confirms that the member is the cluster that
// this host joined.
func newMemberQueue(conn *member.Conn, pusher *Pusher, clk clock.WithTicker, is member.ProbeResult) *memberQueue {
	q := &memberQueue{
		conn:    conn,
		pusher:  pusher,
		breaker: newBreaker(is),
		// The queue gets no name, so that package workqueue makes no metrics of it. queueMetrics says why.
		queue:      workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{Clock: clk}),
		names:      keymutex.NewHashed(64),
		namespaces: namespaces.NewCache(clk),
		native:     memberapi.NewNativeKinds(),
		histories:  histories{clock: clk},
		approvals:  approvals{clock: clk},
		reinstalls: reinstalls{clock: clk},
		requests:   requestWrites{clock: clk},
	}
	q.shares = newSharedIntents(conn, &pusher.host, clk, q.queue.AddAfter, func() bool { return !q.breaker.isOpen() })
	q.deliveries = pusher.deliveries.Open(conn, observer{q})
	return q
}

// run makes passes until ctx ends. The member's limit decides how many run at the same time.
func (q *memberQueue) run(ctx context.Context) {
	go q.deliveries.Follow(ctx)
	go q.shares.run(ctx)
	defer q.queue.ShutDown()
	defer context.AfterFunc(ctx, q.queue.ShutDown)()
	inflight.Serve(ctx, q.queue, q.conn.Limit(), func(key Key) {
		defer q.shares.end(ctx, key)
		if q.park(key) {
			q.shares.leave(key)
			return
		}
		q.push(ctx, key)
		q.writeRequests(ctx, key)
	})
	<-ctx.Done() // when run returns, the caller closes the index of the member's Deliveries, so do not return before ctx ends
}

// park sets a pair aside if the circuit breaker is open, and reports whether it did. It drops the pair's due Secrets:
// otherwise the manager would check all of them at once when the breaker closes.
func (q *memberQueue) park(key Key) bool {
	return q.breaker.park(key, func() { q.dueSecrets.take(key) })
}

// push makes one pass for a pair if one is due. If none is due, it makes the next step of a reinstall, or tries to approve the
// pair's pending InstallPlans.
func (q *memberQueue) push(ctx context.Context, key Key) {
	desired := q.reinstalls.beforeLeaving(key, q.pusher.desired.get(key, q.conn.Name()))
	todo, due, news := q.judge(key, desired)
	last, _ := q.histories.of(key)
	due = q.reinstalls.addOwed(key, desired, &todo, due, &last)
	if news {
		// The method judge has changed the status message about contested objects. A drift report woke the wrapper's
		// controller before that, so wake the controller again.
		q.pusher.wake(key)
	}
	if !due {
		q.shares.leave(key)
		q.advanceOperators(ctx, key, desired)
		return
	}
	if err := q.pusher.secrets.check(ctx, q, key, &todo); err != nil {
		if ctx.Err() == nil {
			q.checkFailed(ctx, key, err)
		}
		return
	}
	if len(todo.Secrets) > 0 && len(todo.Drifted) == 0 {
		q.advanceOperators(ctx, key, desired) // the check took this turn of the pair in the queue, so this follows here
		return
	}
	began, traced := q.pusher.clock.Now(), beginTrace(q.pusher.host.Tracer, q.conn.Name(), desired)
	defer traced.Drop() // does nothing after endTrace
	p, outcome, err := q.pass(ctx, key, desired, &todo)
	if ctx.Err() != nil || p == nil && err == nil {
		return
	}
	if p != nil {
		measure(q.conn.Name(), q.pusher.clock.Since(began), outcome, err, &todo, p.Counts())
		endTrace(traced, outcome, err, p.Counts())
		q.pusher.secrets.note(ctx, plan.Pair{Member: q.conn.Name(), Key: key}, desired, &todo, p.Secrets())
		q.pusher.kept.note(ctx, key, q.conn.Name(), p.Kept())
	}
	if err != nil {
		log.FromContext(ctx).Info("a push failed", "member", q.conn.Name(), "wrapper", key.String(), "error", err.Error())
		q.failed(key, desired, err)
		q.reinstalls.created(key, &todo, &outcome, plan.Quote(err.Error()))
	} else {
		q.finished(key, outcome, todo)
		q.wakeAfter(key, q.reinstalls.created(key, &todo, &outcome, ""))
	}
	q.pusher.wake(key)
}

// advanceOperators makes the next step of a reinstall. If none is under way, it tries to approve pending InstallPlans.
func (q *memberQueue) advanceOperators(ctx context.Context, key Key, desired *plan.Desired) {
	if !q.reinstall(ctx, key, desired) {
		q.approve(ctx, key, desired)
	}
}

// pass makes a pass for a pair. A new pair may share the write of its intent with others; the pass is nil if the pair still waits for them.
func (q *memberQueue) pass(ctx context.Context, key Key, desired *plan.Desired, todo *plan.Work) (p *apply.Pass, outcome plan.Outcome, err error) {
	if todo.IsNew {
		turn, sharing, err := q.shares.turn(ctx, key, desired, todo, func(todo *plan.Work) *apply.Pass { return q.newPass(key, desired, todo) })
		if err != nil || turn == intents.Waiting {
			return nil, outcome, err
		}
		if turn == intents.Share {
			outcome, isRecorded, err := sharing.pass.RunShared(ctx)
			q.shares.shared(key, isRecorded)
			if err != nil || isRecorded {
				return sharing.pass, outcome, err
			}
			todo.IsNew = false
		}
	} else if q.shares.leave(key) {
		return nil, outcome, nil
	}
	if !desired.Suspended { // for a suspended pair nothing is written to the member
		had, err := q.shares.settle(ctx, key)
		if err != nil {
			return nil, outcome, err
		}
		todo.IsNew = todo.IsNew && !had
	}
	todo.Recalled = q.deliveries.Recall(key)
	todo.IsRecorded = q.deliveries.TakeRecorded(key, todo.Recalled)
	todo.IsObserved = q.pusher.host.observes(q.conn.Name())
	p = q.newPass(key, desired, todo)
	outcome, err = p.Run(ctx)
	return p, outcome, err
}

// newPass makes a pass for a pair. It has what all passes on the member share.
func (q *memberQueue) newPass(key Key, desired *plan.Desired, todo *plan.Work) *apply.Pass {
	host := &q.pusher.host
	shared := apply.Member{Conn: q.conn, Names: q.names, Namespaces: q.namespaces, Native: q.native, HostLabels: host.Labels,
		Seals: deliveries.NewSeals(host.SealKey, host.UID, q.breaker.uid())}
	return apply.New(shared, desired, todo, func() bool {
		now := q.pusher.desired.get(key, q.conn.Name())
		return now == desired || now.Same(desired)
	})
}

// judge decides whether a pair needs a pass (due), and what that pass has to do (todo). news reports whether the status
// message about contested objects has changed.
func (q *memberQueue) judge(key Key, desired *plan.Desired) (todo plan.Work, due, news bool) {
	q.histories.change(key, func(h *plan.History, now time.Time) {
		// The order of these calls matters in two ways:
		//
		//   - IsListed comes before Get. In the other order, the first list of Deliveries could arrive between the two calls,
		//     and a Delivery in that list would look absent.
		//   - Get runs under the lock of the histories. The observer first puts a new summary into the index, and then takes the
		//     same lock to forget finished repairs. So the method judge never combines an older summary with a history that has
		//     already forgotten the repair.
		listed, listing := q.deliveries.IsListed(), q.deliveries.IsListing()
		seen, before := q.deliveries.Get(key), h.Contested()
		q.wakeAfter(key, h.Settle(seen, now))
		if desired != nil && listed {
			var wake time.Duration
			todo, due, wake = h.Due(desired, seen, q.dueSecrets.take(key), listing, now)
			q.wakeAfter(key, wake)
			todo.Unrecorded = q.pusher.unrecorded.Of(plan.Pair{Member: q.conn.Name(), Key: key})
			if todo.Unrecorded.Any() && h.NeedsRecord(desired, seen, now) {
				todo.Secrets, due = nil, true // with todo.Secrets, the method push would only check Secrets and make no pass
			}
		}
		news = h.Contested() != before
	})
	return todo, due, news
}

// wakeAfter queues a pair again after this time. It does nothing if the time is zero.
func (q *memberQueue) wakeAfter(key Key, wait time.Duration) {
	if wait > 0 {
		q.queue.AddAfter(key, wait)
	}
}

// finished records a pass that ended without an error.
func (q *memberQueue) finished(key Key, outcome plan.Outcome, todo plan.Work) {
	q.histories.change(key, func(h *plan.History, now time.Time) {
		q.wakeAfter(key, h.Finished(outcome, &todo, q.deliveries.Get(key), now))
	})
	q.deliveries.Written(key, outcome.UID, outcome.Generation)
	if outcome.Recorded && outcome.UID != "" {
		q.deliveries.Recorded(key, outcome.Generation)
	}
}

// failed records a pass that ended with an error. If the error concerns the member as a whole, the circuit breaker
// opens. The next probe comes within seconds, and closes the breaker if the member answers.
func (q *memberQueue) failed(key Key, desired *plan.Desired, err error) {
	q.histories.change(key, func(h *plan.History, now time.Time) { q.wakeAfter(key, h.Failed(desired, err, now)) })
	q.suspect(err)
}

// checkFailed logs that a Secret could not be checked. It does not change the outcome of the pair's last pass. The next
// turn of the Secret in the schedule checks it again.
func (q *memberQueue) checkFailed(ctx context.Context, key Key, err error) {
	log.FromContext(ctx).Info("could not check a Secret", "member", q.conn.Name(), "wrapper", key.String(), "error", err.Error())
	q.suspect(err)
}

// suspect opens the circuit breaker if the error concerns the member as a whole, and asks for a probe.
func (q *memberQueue) suspect(err error) {
	if memberapi.ConcernsMember(err) && q.breaker.trip() {
		q.pusher.fleet.ProbeNow(q.conn.Name())
	}
}

// probed closes the circuit breaker after a successful probe, and opens it after a failed one.
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

// drop forgets everything about a pair that has no desired state any more.
func (q *memberQueue) drop(key Key) {
	q.histories.forget(key)
	q.approvals.forget(key)
	q.reinstalls.forget(key)
	q.requests.forget(key)
	q.breaker.unpark(key)
	q.deliveries.Forget(key)
}
