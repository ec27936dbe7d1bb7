// SPDX-License-Identifier: Apache-2.0

package push

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// breaker is the circuit breaker of one member: while it is open nothing is sent, and pairs that come up are parked.
type breaker struct {
	mu sync.Mutex
	// memberUID is which cluster the last probe that got through has found.
	memberUID types.UID
	open      bool
	parked    sets.Set[Key]
}

// newBreaker makes one that is open until a probe has found that the member is the one that was joined, and by us: nothing is
// ever written to a cluster on the strength of its address alone.
func newBreaker(is member.ProbeResult) *breaker {
	return &breaker{memberUID: is.UID, open: !is.Usable(), parked: sets.New[Key]()}
}

// park puts a pair aside while nothing may be sent, and reports whether it did. It calls parked with the lock held, so that what is
// added for the pair after the breaker closes is not taken for what was there before.
func (b *breaker) park(key Key, parked func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		b.parked.Insert(key)
		parked()
	}
	return b.open
}

// unpark forgets a pair that was put aside.
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

// reset closes the breaker to a member with this uid, and gives back what was put aside.
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
