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

// EvidenceRequests has the requests for evidence that the Delivery of each pair is to have. The member queues write them.
type EvidenceRequests struct {
	// queue returns the queue of a member; nil when the member is not connected.
	queue func(memberName string) *memberQueue

	mu sync.RWMutex
	// all has an empty list for a pair whose Delivery is to lose its requests.
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

// Of reports whether the Delivery of a pair has the requests that the method Set set last. If it does not, problem is the reason; nil
// while the manager is about to write them.
func (r *EvidenceRequests) Of(key Key, memberName string) (isWritten bool, problem *rules.Problem) {
	wanted, _ := r.get(plan.Pair{Member: memberName, Key: key})
	q := r.queue(memberName)
	if q == nil || q.breaker.isOpen() {
		return false, &rules.Problem{Reason: v1alpha1.ReasonUnreachable, Message: "the manager does not reach member " + memberName + " at present; the member answers when it is back, " +
			"if the report has not expired then; `kubectl describe membercluster " + memberName + "` shows why"}
	}
	return q.requests.of(key, wanted)
}

// get returns the requests that the Delivery of a pair is to have. ok is false if the Delivery neither is to have requests nor is to lose
// some.
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

// written records that the Delivery of a pair has these requests. If it has none, and is to have none, written removes the pair.
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

// wakeAllOf calls the listener for each pair of a member that r.all has, because the result of the member's probe has changed.
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
