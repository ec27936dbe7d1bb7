// SPDX-License-Identifier: Apache-2.0

package intents

import (
	"cmp"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

const (
	// batchSize bounds the pairs whose intents one write adds. It is half of maxEntries, so that a second batch can be
	// written while the passes of the first are under way.
	batchSize = maxEntries / 2
	// maxWait bounds how long a new pair waits for the passes of other pairs. After that it writes its own Delivery.
	maxWait = time.Second
	// BatchWait is how long the pairs of a batch wait for more pairs in a burst, counted from the first of them.
	BatchWait = 700 * time.Millisecond
	// burstSize is how many new pairs have to come within a second before pairs wait for more. If they go on coming at that rate, at
	// least five share a write. If fewer come, a wait would delay each of them and save little.
	burstSize = 8
)

// Turn says what a new pair does when its turn in the member's queue comes.
type Turn int

const (
	// Alone means that the pair makes an ordinary pass, which creates the pair's Delivery.
	Alone Turn = iota
	// Join means that other new pairs wait or have a pass, or that there is a burst. The caller prepares the pair and calls Wait, or calls GoAlone if the pair cannot
	// share.
	Join
	// Waiting means that the pair waits already. The caller gives it another turn when the time that Begin returns has passed.
	Waiting
	// Share means that the list has the pair's intent. The pair makes the pass that it prepared.
	Share
)

// state is how far a new pair is.
type state int

const (
	// waiting: the pair waits for the next write of the list.
	waiting state = iota
	// writing: that write is under way.
	writing
	// granted: the list has the pair's intent, and the pair waits for its turn.
	granted
	// rejected: the list could not take the pair's intent, so the pair's next pass is an ordinary one.
	rejected
	// passing: a pass of the pair is under way.
	passing
)

// Turns decides which new pairs of a member share a write of their intents. A new pair makes its pass alone if no other
// new pair has one. Otherwise it waits, and the pairs that wait share a write as soon as the passes of the others have
// ended. So a lone pair never waits, and the longer the member takes, the more pairs share a write. In a burst every new pair
// waits, and a write also waits for more pairs, until it is full or the first of its pairs has waited for BatchWait. P is what a
// pair has prepared. The zero value has no pairs.
type Turns[P any] struct {
	pairs map[deliveries.Key]*newPair[P]
	// arrivals are the times at which the last new pairs came, as a ring. last is the index of the newest.
	arrivals [burstSize]time.Time
	last     int
}

type newPair[P any] struct {
	state    state
	since    time.Time
	prepared P
	// left is true if the pair must not use its intent, although the write of that is under way.
	left bool
}

// Begin says what a new pair does in its turn. It also returns what the pair prepared for the turns Waiting and Share, and for Waiting the time until
// its next turn.
func (t *Turns[P]) Begin(key deliveries.Key, now time.Time) (turn Turn, prepared P, next time.Duration) {
	is := t.pairs[key]
	if is == nil {
		t.last = (t.last + 1) % burstSize
		t.arrivals[t.last] = now
	}
	switch {
	case is == nil && (len(t.pairs) > 0 || t.isBurst(now)) && len(t.pairs) < maxEntries: // more pairs would need too much memory while they wait
		return Join, prepared, 0
	case is != nil && is.state == writing:
		return Waiting, is.prepared, maxWait
	case is != nil && is.state == waiting && (now.Sub(is.since) < maxWait || t.allWait()): // if all wait, the write is due at the end of this turn
		if next = is.since.Add(BatchWait).Sub(now); next <= 0 {
			next = is.since.Add(maxWait).Sub(now)
		}
		if next <= 0 {
			next = maxWait
		}
		return Waiting, is.prepared, next
	case is != nil && is.state == granted:
		is.state = passing
		return Share, is.prepared, 0
	}
	t.GoAlone(key)
	return Alone, prepared, 0
}

// allWait reports whether every new pair waits for the next write of the list.
func (t *Turns[P]) allWait() bool {
	for _, is := range t.pairs {
		if is.state != waiting {
			return false
		}
	}
	return true
}

// isBurst reports whether so many new pairs have come within the last second that a write waits for more of them.
func (t *Turns[P]) isBurst(now time.Time) bool {
	return now.Sub(t.arrivals[(t.last+1)%burstSize]) < time.Second
}

// GoAlone records that the pair makes an ordinary pass now.
func (t *Turns[P]) GoAlone(key deliveries.Key) { t.put(key, &newPair[P]{state: passing}) }

// Wait records that the pair waits for the next write of the list.
func (t *Turns[P]) Wait(key deliveries.Key, prepared P, now time.Time) {
	t.put(key, &newPair[P]{state: waiting, since: now, prepared: prepared})
}

// End records that the turn of the pair in the queue is over. A pair whose pass was under way is no new pair any more, nor is a pair whose
// intent was in the list and which made no pass with it. unused is true for the latter.
func (t *Turns[P]) End(key deliveries.Key) (unused bool) {
	is := t.pairs[key]
	if is == nil || is.state != passing && is.state != granted {
		return false
	}
	delete(t.pairs, key)
	return is.state == granted
}

// Leave records that the pair does not make the pass that it prepared. unused is true if the list has its intent. isWriting is true while
// the write of its intent is under way: then the pair must make no other pass in this turn, and gets another turn after the write.
func (t *Turns[P]) Leave(key deliveries.Key) (unused, isWriting bool) {
	is := t.pairs[key]
	switch {
	case is == nil, is.state == passing:
		return false, false
	case is.state == writing:
		is.left = true
		return false, true
	}
	delete(t.pairs, key)
	return is.state == granted, false
}

// Batch returns the pairs whose intents are to be written now, those that have waited longest first; none if no write is
// due. From then on, their write is under way.
func (t *Turns[P]) Batch(now time.Time) []deliveries.Key {
	var waits []deliveries.Key
	since := now
	for key, is := range t.pairs {
		if is.state == waiting {
			waits = append(waits, key)
			if is.since.Before(since) {
				since = is.since
			}
		}
	}
	moreMayCome := t.isBurst(now) && now.Sub(since) < BatchWait
	if len(waits) < batchSize && (len(waits) < len(t.pairs) || moreMayCome) {
		return nil
	}
	slices.SortFunc(waits, func(a, b deliveries.Key) int {
		return cmp.Or(t.pairs[a].since.Compare(t.pairs[b].since), cmp.Compare(a.Delivery(), b.Delivery()))
	})
	waits = waits[:min(len(waits), batchSize)]
	for _, key := range waits {
		t.pairs[key].state = writing
	}
	return waits
}

// Prepared returns what a pair has prepared.
func (t *Turns[P]) Prepared(key deliveries.Key) (prepared P) {
	if is := t.pairs[key]; is != nil {
		prepared = is.prepared
	}
	return prepared
}

// Written records that the list has the pair's intent. unused is true if the pair has left meanwhile.
func (t *Turns[P]) Written(key deliveries.Key) (unused bool) {
	is := t.pairs[key]
	if is.left {
		delete(t.pairs, key)
		return true
	}
	is.state = granted
	return false
}

// Rejected records that the list could not take the pair's intent.
func (t *Turns[P]) Rejected(key deliveries.Key) {
	is := t.pairs[key]
	if is.left {
		delete(t.pairs, key)
		return
	}
	t.pairs[key] = &newPair[P]{state: rejected}
}

// Waiting returns how many new pairs wait for a write of the list.
func (t *Turns[P]) Waiting() int {
	n := 0
	for _, is := range t.pairs {
		if is.state == waiting {
			n++
		}
	}
	return n
}

// IsIdle reports whether no new pair waits or has a pass.
func (t *Turns[P]) IsIdle() bool { return len(t.pairs) == 0 }

func (t *Turns[P]) put(key deliveries.Key, is *newPair[P]) {
	if t.pairs == nil {
		t.pairs = make(map[deliveries.Key]*newPair[P])
	}
	t.pairs[key] = is
}
