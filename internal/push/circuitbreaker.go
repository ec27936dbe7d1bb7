// SPDX-License-Identifier: Apache-2.0

package push

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// breaker is the circuit breaker of one member. While it is open, the manager sends nothing to the member and parks the
// pairs that come up. It has no backoff of its own: it closes after a successful probe, and
// internal/member/probebackoff.go sets the time between probes.
type breaker struct {
	mu sync.Mutex
	// memberUID is the uid of the cluster that the last successful probe found.
	memberUID types.UID
	open      bool
	parked    sets.Set[Key]
}

// newBreaker returns an open breaker, unless the last probe confirmed that the member is the cluster that this host
// joined. An address alone does not prove that, so the manager writes nothing before the probe.
func newBreaker(is member.ProbeResult) *breaker {
	return &breaker{memberUID: is.UID, open: !is.Usable(), parked: sets.New[Key]()}
}

// park sets a pair aside if the breaker is open, and reports whether it did. It calls parked with the lock held.
// Otherwise the breaker could close between the two, and parked would drop work that was added since.
func (b *breaker) park(key Key, parked func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		b.parked.Insert(key)
		parked()
	}
	return b.open
}

// unpark forgets a parked pair.
func (b *breaker) unpark(key Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parked.Delete(key)
}

// trip opens the breaker, and reports whether it was closed.
func (b *breaker) trip() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.open
	b.open = true
	return !was
}

// reset records the uid that the probe found, and closes the breaker. It returns the parked pairs.
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
