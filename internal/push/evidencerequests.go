// SPDX-License-Identifier: Apache-2.0

package push

import (
	"sync"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// RequestListener is called when the result of EvidenceRequests.Of for a pair may have changed. delivery is the Delivery that the member returned
// when it stored the requests. It is nil in all other cases: the manager could not write the requests, or the result of the member's probe
// has changed. The listener must not block.
type RequestListener func(key Key, memberName string, delivery *v1alpha1.Delivery)

// EvidenceRequests has the requests for evidence (v1alpha1.EvidenceRequest) that the Delivery of each pair is to have. Such a request
// asks the member's collector for the logs or events of one object. The member queues write the requests into the Deliveries.
type EvidenceRequests struct {
	// queue returns the queue of a member; nil when the member is not connected.
	queue func(memberName string) *memberQueue

	mu sync.RWMutex
	// all has the requests of each pair. An empty list means that the manager has yet to remove the requests of the Delivery.
	all      map[plan.Pair][]v1alpha1.EvidenceRequest
	listener RequestListener
}

// OnChange sets the listener that is called when the result of the method Of may have changed.
func (r *EvidenceRequests) OnChange(l RequestListener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener = l
}

// Set sets the requests for evidence that the Delivery of a pair is to have; an empty list removes those that it has. The member's queue
// writes them as soon as the manager can and may write to the Delivery. The method Of tells whether it has done so.
func (r *EvidenceRequests) Set(key Key, memberName string, requests []v1alpha1.EvidenceRequest) {
	if !r.replace(plan.Pair{Member: memberName, Key: key}, requests) {
		return
	}
	if q := r.queue(memberName); q != nil {
		q.queue.Add(key)
	}
}

// Of reports whether the Delivery of a pair has the requests of the last call of Set. If it does not, problem is the reason; nil
// while the manager is about to write them.
func (r *EvidenceRequests) Of(key Key, memberName string) (isWritten bool, problem *rules.Problem) {
	wanted, _ := r.get(plan.Pair{Member: memberName, Key: key})
	q := r.queue(memberName)
	if q == nil || q.breaker.isOpen() {
		return false, &rules.Problem{Reason: v1alpha1.ReasonUnreachable, Message: "the manager cannot reach member " + memberName + " now; `kubectl describe membercluster " + memberName +
			"` shows why; the member answers when the manager reaches it again, unless the report has expired by then"}
	}
	return q.requests.of(key, wanted)
}

// get returns the requests that the Delivery of a pair is to have. ok is false if the manager has nothing to write: the Delivery is to
// have no requests, and it has none that the manager must remove.
func (r *EvidenceRequests) get(pair plan.Pair) (requests []v1alpha1.EvidenceRequest, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	requests, ok = r.all[pair]
	return requests, ok
}

// replace replaces the requests of a pair, and reports whether they differ from those before.
func (r *EvidenceRequests) replace(pair plan.Pair, requests []v1alpha1.EvidenceRequest) (differ bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if was, ok := r.all[pair]; ok && rules.SameList(was, requests) {
		return false
	}
	if r.all == nil {
		r.all = make(map[plan.Pair][]v1alpha1.EvidenceRequest)
	}
	r.all[pair] = requests
	return true
}

// written records that the Delivery of a pair has these requests. If the list is empty, and the Delivery is to have no requests, written
// removes the pair from r.all.
func (r *EvidenceRequests) written(pair plan.Pair, requests []v1alpha1.EvidenceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(requests) == 0 && len(r.all[pair]) == 0 {
		delete(r.all, pair)
	}
}

// tell calls the listener.
func (r *EvidenceRequests) tell(pair plan.Pair, delivery *v1alpha1.Delivery) {
	r.mu.RLock()
	listener := r.listener
	r.mu.RUnlock()
	if listener != nil {
		listener(pair.Key, pair.Member, delivery)
	}
}

// wakeAllOf calls the listener for each pair in r.all that is on this member, because the result of the member's probe has changed.
func (r *EvidenceRequests) wakeAllOf(memberName string) {
	r.mu.RLock()
	var pairs []plan.Pair
	for pair := range r.all {
		if pair.Member == memberName {
			pairs = append(pairs, pair)
		}
	}
	r.mu.RUnlock()
	for _, pair := range pairs {
		r.tell(pair, nil)
	}
}
