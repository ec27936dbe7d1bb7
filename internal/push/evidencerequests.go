// SPDX-License-Identifier: Apache-2.0

package push

import (
	"sync"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// RequestListener gets what becomes of the requests for evidence of a pair. delivery is the Delivery in the member's answer to the write of
// the requests; nil if something else has changed: the requests could not be written, or the member answers, or it answers no more. It must
// not block.
type RequestListener func(key Key, memberName string, delivery *v1alpha1.Delivery)

// EvidenceRequests has the requests for evidence that the Delivery of each pair is to have. The member queues write them.
type EvidenceRequests struct {
	// queue returns the queue of a member; nil when the member is not connected.
	queue func(memberName string) *memberQueue

	mu       sync.RWMutex
	all      map[plan.Pair][]v1alpha1.EvidenceRequest
	listener RequestListener
}

// OnChange sets the listener that gets what becomes of requests for evidence.
func (r *EvidenceRequests) OnChange(l RequestListener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener = l
}

// Set sets all requests for evidence that the Delivery of a pair is to have; none takes them out of it. The member's queue writes them when
// the member can be written to, and the method Of tells what became of them.
func (r *EvidenceRequests) Set(key Key, memberName string, requests []v1alpha1.EvidenceRequest) {
	if !r.replace(plan.Pair{Member: memberName, Key: key}, requests) {
		return
	}
	if q := r.queue(memberName); q != nil {
		q.queue.Add(key)
	}
}

// Of reports whether the Delivery of a pair has the requests that the method Set set last. If it does not, the problem is why; nil while the
// manager is about to write them.
func (r *EvidenceRequests) Of(key Key, memberName string) (isWritten bool, problem *rules.Problem) {
	wanted, _ := r.get(plan.Pair{Member: memberName, Key: key})
	q := r.queue(memberName)
	if q == nil || q.breaker.isOpen() {
		return false, &rules.Problem{Reason: v1alpha1.ReasonUnreachable, Message: "the manager does not reach member " + memberName + " at present; the member answers when it is back, " +
			"if the report has not expired then; `kubectl describe membercluster " + memberName + "` shows why"}
	}
	return q.requests.of(key, wanted)
}

// get returns the requests of a pair. ok is false for a pair whose Delivery needs no write of requests.
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

// written records that a Delivery has these requests. A pair without requests is then forgotten, unless it is to have others now.
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

// wakeAllOf tells the listener that something about a member has changed.
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
