// SPDX-License-Identifier: Apache-2.0

package intents

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

var start = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func key(n int) deliveries.Key {
	return deliveries.Key{Kind: v1alpha1.KindFederated, NamespacedName: types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("w%02d", n)}}
}

// join begins the turn of a pair, which waits if it may.
func join(t *testing.T, turns *Turns[int], n int, now time.Time) Turn {
	t.Helper()
	turn, _, _ := turns.Begin(key(n), now)
	if turn == Join {
		turns.Wait(key(n), n, now)
	}
	return turn
}

func TestAPairThatComesAloneNeverWaits(t *testing.T) {
	turns := &Turns[int]{}
	for n := range 3 {
		if turn := join(t, turns, n, start); turn != Alone {
			t.Errorf("turn %d", turn)
		}
		turns.End(key(n))
		if !turns.IsIdle() || turns.Batch(start) != nil {
			t.Error("a pair is left")
		}
	}
}

func TestPairsThatWaitShareAWriteWhenThePassesOfOthersHaveEnded(t *testing.T) {
	turns := &Turns[int]{}
	join(t, turns, 0, start)
	for n := 1; n <= 3; n++ {
		if turn := join(t, turns, n, start.Add(time.Duration(n))); turn != Join {
			t.Errorf("turn %d", turn)
		}
		turns.End(key(n)) // the end of a turn in which the pair only began to wait
	}
	if batch := turns.Batch(start); batch != nil {
		t.Errorf("%v", batch)
	}
	turns.End(key(0))
	batch := turns.Batch(start)
	if diff := cmp.Diff([]deliveries.Key{key(1), key(2), key(3)}, batch); diff != "" {
		t.Fatal(diff)
	}
	if turn, _, _ := turns.Begin(key(1), start.Add(time.Hour)); turn != Waiting {
		t.Errorf("turn %d while the write is under way", turn)
	}
	turns.Written(key(1))
	turns.Rejected(key(2))
	if unused, isWriting := turns.Leave(key(3)); unused || !isWriting || !turns.Written(key(3)) {
		t.Error("a pair that leaves while the write is under way leaves an unused entry, known when the write ends")
	}
	if turn, prepared, _ := turns.Begin(key(1), start); turn != Share || prepared != 1 {
		t.Errorf("turn %d, prepared %d", turn, prepared)
	}
	if turn, _, _ := turns.Begin(key(2), start); turn != Alone {
		t.Errorf("turn %d of a pair that found no place in the list", turn)
	}
	turns.End(key(1))
	turns.End(key(2))
	if !turns.IsIdle() {
		t.Error("a pair is left")
	}
}

func TestAPairStopsWaitingAfterASecond(t *testing.T) {
	turns := &Turns[int]{}
	join(t, turns, 0, start)
	join(t, turns, 1, start)
	if turn := join(t, turns, 1, start.Add(maxWait-1)); turn != Waiting {
		t.Errorf("turn %d", turn)
	}
	if turn := join(t, turns, 1, start.Add(maxWait)); turn != Alone {
		t.Errorf("turn %d", turn)
	}
}

func TestAPairWhoseTurnComesLateDoesNotLeaveItsBatch(t *testing.T) {
	turns := &Turns[int]{}
	const pairs = burstSize + 2
	for n := range pairs {
		join(t, turns, n, start)
	}
	turns.End(key(0)) // the pass that the others waited for
	late := start.Add(maxWait + time.Millisecond)
	if turn, _, _ := turns.Begin(key(1), late); turn != Waiting {
		t.Errorf("turn %d, although no other pair has a pass", turn)
	}
	if batch := turns.Batch(late); len(batch) != pairs-1 {
		t.Errorf("%d pairs of %d", len(batch), pairs-1)
	}
}

func TestAPairGetsATurnWhenItsWaitsEnd(t *testing.T) {
	turns := &Turns[int]{}
	join(t, turns, 0, start)
	join(t, turns, 1, start)
	for after, want := range map[time.Duration]time.Duration{
		0: BatchWait, BatchWait - 1: 1, BatchWait: maxWait - BatchWait, maxWait - 1: 1,
	} {
		if turn, _, next := turns.Begin(key(1), start.Add(after)); turn != Waiting || next != want {
			t.Errorf("after %s: turn %d, the next in %s instead of %s", after, turn, next, want)
		}
	}
}

func TestABatchIsWrittenWhenItIsFullAlthoughPassesAreUnderWay(t *testing.T) {
	turns := &Turns[int]{}
	for n := range batchSize {
		join(t, turns, n, start)
	}
	if batch := turns.Batch(start); batch != nil {
		t.Fatalf("%d pairs", len(batch))
	}
	join(t, turns, batchSize, start)
	join(t, turns, batchSize+1, start)
	if batch := turns.Batch(start); len(batch) != batchSize {
		t.Fatalf("%d pairs", len(batch))
	}
}

func TestInABurstPairsWaitForMore(t *testing.T) {
	const step = 100 * time.Millisecond
	turns, now := &Turns[int]{}, start
	come := func(n int) Turn {
		now = now.Add(step)
		turn := join(t, turns, n, now)
		turns.End(key(n))
		return turn
	}
	for n := range burstSize - 1 {
		if turn := come(n); turn != Alone {
			t.Fatalf("turn %d of pair %d, before so many came that they are a burst: want Alone", turn, n)
		}
	}
	first := now.Add(step)
	for n := burstSize - 1; now.Sub(first) < BatchWait-step; n++ {
		if turn := come(n); turn != Join {
			t.Fatalf("turn %d of pair %d: want Join", turn, n)
		}
		if batch := turns.Batch(now); batch != nil {
			t.Fatalf("after %s: %v", now.Sub(first), batch)
		}
	}
	if turn, _, _ := turns.Begin(key(burstSize-1), first.Add(BatchWait)); turn != Waiting {
		t.Errorf("turn %d of the pair that has waited longest", turn)
	}
	if batch := turns.Batch(first.Add(BatchWait)); len(batch) != int(BatchWait/step) || batch[0] != key(burstSize-1) {
		t.Errorf("%v", batch)
	}
}

func TestAfterABurstPairsThatWaitShareAtOnce(t *testing.T) {
	turns := &Turns[int]{}
	for n := range burstSize + 2 {
		join(t, turns, n, start)
		turns.End(key(n))
	}
	if batch := turns.Batch(start.Add(BatchWait - 1)); batch != nil {
		t.Errorf("%v", batch)
	}
	for n := range burstSize + 2 {
		turns.Leave(key(n))
	}
	later := start.Add(time.Second)
	if turn := join(t, turns, 100, later); turn != Alone {
		t.Errorf("turn %d of a pair that comes after the burst", turn)
	}
	join(t, turns, 101, later)
	turns.End(key(100))
	if batch := turns.Batch(later); len(batch) != 1 {
		t.Errorf("%v", batch)
	}
}

// Whatever happens in which order: a pair shares only after its intent was written, each pair that waits gets a batch or
// goes alone, and in the end nothing is left.
func TestTurnsOfRandomHistories(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		turns, now := &Turns[int]{}, start
		writes, written := [][]deliveries.Key{}, map[deliveries.Key]bool{}
		open := map[deliveries.Key]bool{} // pairs with a pass under way
		step := func(n int) {
			k := key(n)
			switch choice := random.IntN(8); {
			case open[k]:
				delete(open, k)
				delete(written, k)
				turns.End(k)
			case choice == 0:
				if unused, _ := turns.Leave(k); unused != written[k] {
					t.Fatalf("seed %d: a pair that leaves has an entry: %v", seed, written[k])
				}
				delete(written, k)
			default:
				switch turn := join(t, turns, n, now); {
				case turn == Share && !written[k]:
					t.Fatalf("seed %d: a pair shares before its intent was written", seed)
				case turn == Share, turn == Alone:
					open[k] = true
				}
			}
			if batch := turns.Batch(now); batch != nil {
				writes = append(writes, batch)
			}
			if len(writes) > 0 && random.IntN(2) == 0 {
				for _, k := range writes[0] {
					if random.IntN(5) == 0 {
						turns.Rejected(k)
					} else if !turns.Written(k) {
						written[k] = true
					}
				}
				writes = writes[1:]
			}
			now = now.Add(time.Duration(random.IntN(200)) * time.Millisecond)
		}
		for range 200 {
			step(random.IntN(40))
		}
		for range 20 { // every pair gets turns until all have ended
			for n := range 40 {
				if open[key(n)] || slices.ContainsFunc([]Turn{Alone, Share}, func(is Turn) bool { return is == join(t, turns, n, now) }) {
					delete(open, key(n))
					turns.End(key(n))
				}
				if batch := turns.Batch(now); batch != nil {
					writes = append(writes, batch)
				}
				for _, batch := range writes {
					for _, k := range batch {
						turns.Rejected(k)
					}
				}
				writes = nil
			}
			now = now.Add(time.Second)
		}
		for n := range 40 {
			turns.Leave(key(n))
			turns.End(key(n))
		}
		if !turns.IsIdle() {
			t.Fatalf("seed %d: a pair is left", seed)
		}
	}
}

func TestAPairWhoseIntentWasWrittenGivesItUpIfItMakesNoPassWithIt(t *testing.T) {
	turns := &Turns[int]{}
	join(t, turns, 0, start)
	join(t, turns, 1, start)
	turns.End(key(0))
	for _, k := range turns.Batch(start) {
		turns.Written(k)
	}
	if !turns.End(key(1)) || !turns.IsIdle() {
		t.Error("the entry does not count as unused")
	}
}

func TestNoMorePairsWaitThanAListTakes(t *testing.T) {
	turns := &Turns[int]{}
	for n := range maxEntries {
		join(t, turns, n, start)
	}
	if turn := join(t, turns, maxEntries, start); turn != Alone {
		t.Errorf("turn %d", turn)
	}
}
