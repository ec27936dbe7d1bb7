// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

const (
	// requestsEvery is the shortest time between two writes of the requests of one Delivery. A member that changes them back at once cannot
	// make the manager write without end.
	requestsEvery = time.Second
	// requestsAgain is when the manager tries again what the member refused.
	requestsAgain = 30 * time.Second
)

// requestWrites is what became of the requests for evidence in the Deliveries of one connection to a member.
type requestWrites struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	all map[Key]*requestWrite
}

// requestWrite is what became of the requests in one Delivery.
type requestWrite struct {
	// requests are those of the last write. isWritten is true if the Delivery has them, as far as the host knows; it then had this uid and
	// at least this generation.
	requests   []v1alpha1.EvidenceRequest
	isWritten  bool
	uid        types.UID
	generation int64
	// problem is why the Delivery does not have them; nil if there is no reason, or not yet.
	problem *rules.Problem
	// tried is when the manager tried to write them last.
	tried time.Time
}

// of returns what became of the requests of a pair; see EvidenceRequests.Of.
func (w *requestWrites) of(key Key, wanted []v1alpha1.EvidenceRequest) (isWritten bool, problem *rules.Problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	is := w.all[key]
	if is == nil {
		return false, nil
	}
	return is.isWritten && rules.SameList(is.requests, wanted), is.problem
}

// wait returns how long a write of these requests has to wait. isDone is true if the Delivery has them already.
func (w *requestWrites) wait(key Key, wanted []v1alpha1.EvidenceRequest) (wait time.Duration, isDone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	is := w.all[key]
	if is == nil {
		return 0, false
	}
	return max(0, requestsEvery-w.clock.Since(is.tried)), is.isWritten && rules.SameList(is.requests, wanted)
}

// set records the result of a try, and reports whether it differs from that of the last one.
func (w *requestWrites) set(key Key, is requestWrite) (isNews bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[Key]*requestWrite)
	}
	was := w.all[key]
	if was != nil && is.tried.IsZero() {
		is.tried = was.tried
	}
	w.all[key] = &is
	return was == nil || was.isWritten != is.isWritten || (was.problem == nil) != (is.problem == nil) || is.problem != nil && *was.problem != *is.problem
}

func (w *requestWrites) forget(key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, key)
}

// compare notes that a Delivery does not have the requests any more that the manager has written. For example, the member was restored from
// a backup. The change has queued the pair, so the queue writes them again.
func (w *requestWrites) compare(key Key, c *deliveries.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	is := w.all[key]
	if is == nil || !is.isWritten || c.Evidence.Omitted {
		return
	}
	if c.Is.UID != is.uid || c.Is.Generation >= is.generation && !rules.SameList(c.Evidence.Requests, is.requests) {
		is.isWritten = false
	}
}

// writeRequests writes the requests for evidence into the Delivery of a pair, if it does not have them. A pair without requests costs a look
// into a map.
func (q *memberQueue) writeRequests(ctx context.Context, key Key) {
	pair := plan.Pair{Member: q.conn.Name(), Key: key}
	wanted, ok := q.pusher.requests.get(pair)
	if !ok {
		return
	}
	wait, isDone := q.requests.wait(key, wanted)
	if isDone {
		return
	}
	desired, seen := q.pusher.desired.get(key, q.conn.Name()), q.deliveries.Get(key)
	last, _ := q.histories.of(key)
	if problem := plan.WhyNoRequests(pair.Member, desired, seen, &last); problem != nil {
		if len(wanted) == 0 && seen == nil {
			q.pusher.requests.written(pair, nil)
			return
		}
		if q.requests.set(key, requestWrite{problem: problem}) {
			q.pusher.requests.tell(pair, nil)
		}
		return // a change of the Delivery or of the desired state queues the pair
	}
	if desired == nil || wait > 0 {
		q.wakeAfter(key, wait)
		return
	}
	written, err := apply.WriteRequests(ctx, q.conn, key, seen.UID, seen.Wrapper.UID, wanted)
	if ctx.Err() != nil {
		return
	}
	is := requestWrite{requests: wanted, tried: q.pusher.clock.Now()}
	if err == nil {
		is.isWritten, is.uid, is.generation = true, written.UID, written.Generation
		q.requests.set(key, is)
		q.deliveries.Written(key, written.UID, written.Generation)
		q.pusher.requests.written(pair, wanted)
		q.pusher.requests.tell(pair, written)
		return
	}
	failure := requestFailureOf(pair.Member, err)
	if failure.concernsMember {
		q.suspect(err) // the open circuit breaker parks the pair
	}
	q.wakeAfter(key, failure.again)
	log.FromContext(ctx).Info("could not write requests for evidence", "member", pair.Member, "wrapper", key.String(), "error", err.Error())
	is.problem = failure.problem
	if q.requests.set(key, is) {
		q.pusher.requests.tell(pair, nil)
	}
}

// requestFailure is what follows from the error of a write of requests.
type requestFailure struct {
	// problem is the problem that the report gets; nil if the error should go away by itself.
	problem *rules.Problem
	// again is the time until the next try.
	again time.Duration
	// concernsMember is true if the error concerns the member as a whole.
	concernsMember bool
}

// requestFailureOf returns what follows from the error of a write of requests to a member.
func requestFailureOf(memberName string, err error) requestFailure {
	switch field := memberapi.MissingField(err); {
	case field != "":
		return requestFailure{again: requestsAgain, problem: &rules.Problem{Reason: v1alpha1.ReasonMemberOutdated,
			Message: fmt.Sprintf("the member's CRD of Deliveries is older than the host's and lacks field %s: run `hostctl join %s --cluster-kubeconfig FILE`", field, memberName)}}
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err), apierrors.IsConflict(err): // the Delivery has changed, and the watch has not brought that yet
		return requestFailure{again: requestsEvery}
	case memberapi.ConcernsMember(err):
		return requestFailure{again: requestsEvery, concernsMember: true}
	default:
		return requestFailure{again: requestsAgain, problem: &rules.Problem{Reason: v1alpha1.ReasonPushError, Message: health.Clean(err.Error(), maxRequestProblem)}}
	}
}

// maxRequestProblem is the limit of a message about requests, in bytes. That of a MemberReport is 1,024.
const maxRequestProblem = 512
