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
	// requestsEvery is the shortest time between two writes of requests into one Delivery. Without it, a member that undoes each write
	// at once could make the manager write without pause.
	requestsEvery = time.Second
	// requestsAgain is the time until the manager tries again to write requests that the member has refused.
	requestsAgain = 30 * time.Second
)

// requestWrites has, for one connection to a member, the last write of evidence requests into each Delivery.
type requestWrites struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	all map[Key]*requestWrite
}

// requestWrite is the last write of evidence requests into one Delivery, and its result. If the manager must not or cannot write the
// requests (plan.WhyNoRequests), only the field problem is set.
type requestWrite struct {
	// requests are the requests that the manager wrote. isWritten is true if the Delivery has them, as far as the host knows. uid and
	// generation are then those of the Delivery after the write.
	requests   []v1alpha1.EvidenceRequest
	isWritten  bool
	uid        types.UID
	generation int64
	// problem is why the Delivery does not have the requests; nil if it has them, or while the manager is about to write them.
	problem *rules.Problem
	// tried is the time of the last write; zero if there was none.
	tried time.Time
}

// of reports whether the Delivery of a pair has the wanted requests, and the problem if it does not; see EvidenceRequests.Of.
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

// set records a write or its problem, and reports whether the result differs from the result that was recorded before.
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

// compare looks for written requests that a changed Delivery does not have any more, for example because the member was restored from a
// backup. It records that these requests are not written. The change has queued the pair, so the queue writes them again.
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

// writeRequests writes the evidence requests of a pair into its Delivery, if the Delivery does not have them. For a pair without requests,
// it only reads a map.
func (q *memberQueue) writeRequests(ctx context.Context, key Key) {
	pair := plan.Pair{Member: q.conn.Name(), Key: key}
	wanted, ok := q.pusher.requests.get(pair)
	if !ok {
		return
	}
	wait, isDone := q.requests.wait(key, wanted)
	if isDone {
		q.pusher.requests.written(pair, wanted)
		return
	}
	// IsListed comes before Get. In the other order, the first list could arrive between the two, and a Delivery in it would look absent.
	isListed := q.deliveries.IsListed()
	desired, seen := q.pusher.desired.get(key, q.conn.Name()), q.deliveries.Get(key)
	last, _ := q.histories.of(key)
	if len(wanted) == 0 && seen == nil && isListed {
		q.pusher.requests.written(pair, nil) // the member has no Delivery that could have requests
		return
	}
	if problem := plan.WhyNoRequests(pair.Member, desired, seen, &last); problem != nil {
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

// requestFailure says what the manager has to do after the error of a write of requests.
type requestFailure struct {
	// problem is the problem that the status of the MemberReports is to show; nil if the error should go away by itself.
	problem *rules.Problem
	// again is the time until the next try.
	again time.Duration
	// concernsMember is true if the error concerns the member as a whole.
	concernsMember bool
}

// requestFailureOf returns what the manager has to do after the error of a write of requests to a member.
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
		return requestFailure{again: requestsAgain, problem: &rules.Problem{Reason: v1alpha1.ReasonPushError, Message: health.Tidy(err.Error(), maxRequestProblem)}}
	}
}

// maxRequestProblem bounds a message about requests, in bytes. The message of a MemberReport may have 1,024.
const maxRequestProblem = 512
