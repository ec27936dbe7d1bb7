// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"math/rand/v2"
	"testing"
	"time"
)

// greedy is a wrapper that wants to write all the time.
type greedy struct {
	turn Turn
	// writes is how many writes the wrapper wants next, and back is the time at which it tries again.
	writes int
	back   time.Time
}

// writer counts the writes of some wrappers, by time.
type writer struct {
	turns  *Turns
	made   []time.Time
	random *rand.Rand
}

// take lets a wrapper try to make one or two writes. It returns how long the wrapper has to wait.
func (w *writer) take(turn *Turn, writes int, now time.Time) time.Duration {
	wait := w.turns.Take(turn, writes, now)
	for range writes {
		if wait <= 0 {
			w.made = append(w.made, now)
		}
	}
	return wait
}

// tick lets all greedy wrappers whose time has come write as much as they may. Each wrapper comes back after the wait that Take
// returns, and after a random delay of at most late.
func (w *writer) tick(all []*greedy, now time.Time, late time.Duration) {
	for _, i := range w.random.Perm(len(all)) {
		g := all[i]
		for !g.back.After(now) {
			if g.writes == 0 {
				g.writes = 1 + w.random.IntN(2)
			}
			if wait := w.take(&g.turn, g.writes, now); wait > 0 {
				g.back = now.Add(wait + time.Duration(w.random.Int64N(int64(late)+1)))
				continue
			}
			g.writes = 0
		}
	}
}

// checkRate fails the test if there is a period with more writes than the burst and the rate allow. from has the times of the writes.
func (w *writer) checkRate(t *testing.T, from []time.Time, burst, perSecond int) {
	t.Helper()
	for i := range from {
		for j := i; j < len(from); j += 7 {
			if most := float64(burst) + float64(perSecond)*from[j].Sub(from[i]).Seconds(); float64(j-i+1) > most+2 {
				t.Fatalf("%d writes in %s", j-i+1, from[j].Sub(from[i]))
			}
		}
	}
}

const tick = 50 * time.Millisecond

func TestAWrapperNewlyInTroubleWaitsForOneTurnOfEachOther(t *testing.T) {
	for seed := range uint64(30) {
		w := &writer{turns: NewTurns(200, 10), random: rand.New(rand.NewPCG(seed, 1))}
		busy := make([]*greedy, w.random.IntN(60))
		for i := range busy {
			busy[i] = &greedy{}
		}
		at := now
		for range 20*30 + w.random.IntN(500) { // the burst is used up
			w.tick(busy, at, 0)
			at = at.Add(tick)
		}
		var first Turn
		began, most := at, time.Duration((len(busy)+1)*2+9)/10*time.Second+time.Second
		for w.take(&first, 2, at) > 0 && at.Sub(began) <= most {
			w.tick(busy, at, 0)
			at = at.Add(tick)
		}
		if waited := at.Sub(began); waited > most {
			t.Errorf("seed %d: with %d busy wrappers it waited %s, longer than %s", seed, len(busy), waited, most)
		}
		w.checkRate(t, w.made, 200, 10)
		if after := w.made[min(len(w.made), 200):]; len(busy) > 20 {
			w.checkRate(t, after, 0, 10)
			if least := int(10*at.Sub(now).Seconds()) - 5; len(after) < least {
				t.Errorf("seed %d: only %d writes in %s, and %d were possible", seed, len(after), at.Sub(now), least)
			}
		}
	}
}

// A wrapper comes back late if the loop is busy. It does not come back at all if it has nothing to write by then.
func TestWrappersThatComeBackLateCannotWriteMoreThanTheLimitAllows(t *testing.T) {
	for seed := range uint64(20) {
		w := &writer{turns: NewTurns(200, 10), random: rand.New(rand.NewPCG(seed, 2))}
		var all []*greedy
		for at := now; at.Before(now.Add(3 * time.Minute)); at = at.Add(tick) {
			if len(all) < 100 && w.random.IntN(3) == 0 {
				all = append(all, &greedy{back: at})
			}
			w.tick(all, at, 2*turnLasts)
			if len(all) > 0 && w.random.IntN(100) == 0 { // pauses let turns become due
				at = at.Add(time.Duration(w.random.IntN(40)) * time.Second)
			}
		}
		w.checkRate(t, w.made, 200, 10)
	}
}

func TestATurn(t *testing.T) {
	at := now
	var a, b Turn
	turns := NewTurns(20, 1)
	for i, step := range []struct {
		turn   *Turn
		after  time.Duration
		writes int
		want   time.Duration
	}{
		{&a, 0, 2, 0}, // the burst, in ten steps
		{&a, 0, 2, 0}, {&a, 0, 2, 0}, {&a, 0, 2, 0}, {&a, 0, 2, 0}, {&a, 0, 2, 0}, {&a, 0, 2, 0}, {&a, 0, 2, 0}, {&a, 0, 2, 0}, {&a, 0, 2, 0},
		{&a, 0, 2, 2 * time.Second},
		{&b, 0, 1, 3 * time.Second},
		{&a, time.Second, 2, time.Second}, // it keeps its place, and takes no other
		{&b, 0, 2, 2 * time.Second},
		{&b, 2 * time.Second, 1, 0},
		{&a, 0, 1, 0}, // later than it had to
		{&a, 0, 1, 0}, // the rest of the turn
		{&a, 0, 1, time.Second},
		{&a, time.Second + turnLasts + time.Second, 1, 0}, // the turn is lost, and there is some of the burst again
		{&b, time.Hour, 2, 0},
	} {
		at = at.Add(step.after)
		if got := turns.Take(step.turn, step.writes, at); got != step.want {
			t.Errorf("step %d: waits %s, want %s", i, got, step.want)
		}
	}
}
