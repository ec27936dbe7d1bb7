// SPDX-License-Identifier: Apache-2.0

package push

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// breaker is the circuit breaker of one member. While it is open, no pass runs on the member, and the pairs whose turn
// comes are parked. A successful probe closes it. It has no backoff of its own: internal/member/probebackoff.go sets
// the time between probes.
type breaker struct {
	mu sync.Mutex
	// memberUID is the uid of the member's cluster, as the last successful probe read it; "" before the first one.
	memberUID types.UID
	open      bool
	parked    sets.Set[Key]
}

// newBreaker returns a breaker that is open, unless the last probe confirmed that the member is the cluster that this
// host joined. Before that, the manager must write nothing: an address does not prove which cluster answers.
func newBreaker(is member.ProbeResult) *breaker {
	return &breaker{memberUID: is.UID, open: !is.Usable(), parked: sets.New[Key]()}
}

// park sets a pair aside if the breaker is open, and reports whether it did. If it did, it also calls the function parked,
// which drops work of the pair. It holds the lock until parked returns. Without the lock, the breaker could close before
// the call, and parked would also drop work that was added after the closing.
func (b *breaker) park(key Key, parked func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		b.parked.Insert(key)
		parked()
	}
	return b.open
}

// unpark forgets a parked pair, so that the closing of the breaker does not queue it.
func (b *breaker) unpark(key Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parked.Delete(key)
}

// trip opens the breaker, and reports whether it was closed before.
func (b *breaker) trip() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.open
	b.open = true
	return !was
}

// reset closes the breaker after a successful probe. uid is the uid of the member's cluster, as the probe read it.
// reset returns the pairs that were parked; the caller has to queue them.
func (b *breaker) reset(uid types.UID) (parked []Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.memberUID = uid
	if b.open {
		b.open = false
		parked = b.parked.UnsortedList()
		b.parked.Clear()
	}
	return parked
}

func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

func (b *breaker) uid() types.UID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.memberUID
}
