// SPDX-License-Identifier: Apache-2.0

package push

import (
	"sync"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// RequestListener is called when the result of RequestsOf for a pair may have changed. delivery is the Delivery that the member returned
// when it stored the requests. It is nil in all other cases: the manager could not write the requests, or the result of the member's probe
// has changed. The listener must not block.
type RequestListener func(key Key, memberName string, delivery *v1alpha1.Delivery)

// evidenceRequests has the requests for evidence that the Delivery of each pair is to have. The zero value has none.
type evidenceRequests struct {
	mu sync.RWMutex
	// all has an empty list for a pair whose Delivery is to lose its requests.
	all      map[plan.Pair][]v1alpha1.EvidenceRequest
	listener RequestListener
}

// get returns the requests that the Delivery of a pair is to have. ok is false if the Delivery neither is to have requests nor is to lose
// some.
func (r *evidenceRequests) get(pair plan.Pair) (requests []v1alpha1.EvidenceRequest, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	requests, ok = r.all[pair]
	return requests, ok
}

func (r *evidenceRequests) set(pair plan.Pair, requests []v1alpha1.EvidenceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make(map[plan.Pair][]v1alpha1.EvidenceRequest)
	}
	r.all[pair] = requests
}

// written records that the Delivery of a pair has these requests. If it has none, and is to have none, written removes the pair.
func (r *evidenceRequests) written(pair plan.Pair, requests []v1alpha1.EvidenceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(requests) == 0 && len(r.all[pair]) == 0 {
		delete(r.all, pair)
	}
}

// tell calls the listener.
func (r *evidenceRequests) tell(pair plan.Pair, delivery *v1alpha1.Delivery) {
	r.mu.RLock()
	listener := r.listener
	r.mu.RUnlock()
	if listener != nil {
		listener(pair.Key, pair.Member, delivery)
	}
}

// wakeAllOf calls the listener for each pair of a member that r.all has, because the result of the member's probe has changed.
func (r *evidenceRequests) wakeAllOf(memberName string) {
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

// OnRequests sets the listener that is called when the result of RequestsOf may have changed.
func (p *Pusher) OnRequests(l RequestListener) {
	p.requests.mu.Lock()
	defer p.requests.mu.Unlock()
	p.requests.listener = l
}

// SetRequests sets the requests for evidence that the Delivery of a pair is to have; an empty list removes those that it has. The member's
// queue writes them as soon as the manager can and may write to the Delivery. RequestsOf tells whether it has done so.
func (p *Pusher) SetRequests(key Key, memberName string, requests []v1alpha1.EvidenceRequest) {
	pair := plan.Pair{Member: memberName, Key: key}
	if was, ok := p.requests.get(pair); ok && rules.SameList(was, requests) {
		return
	}
	p.requests.set(pair, requests)
	if q := p.queue(memberName); q != nil {
		q.queue.Add(key)
	}
}

// RequestsOf reports whether the Delivery of a pair has the requests that SetRequests set last. If it does not, problem is the reason; nil
// while the manager is about to write them.
func (p *Pusher) RequestsOf(key Key, memberName string) (isWritten bool, problem *rules.Problem) {
	wanted, _ := p.requests.get(plan.Pair{Member: memberName, Key: key})
	q := p.queue(memberName)
	if q == nil || q.breaker.isOpen() {
		return false, &rules.Problem{Reason: v1alpha1.ReasonUnreachable, Message: "the manager does not reach member " + memberName + " at present; the member answers when it is back, " +
			"if the report has not expired then; `kubectl describe membercluster " + memberName + "` shows why"}
	}
	return q.requests.of(key, wanted)
}
