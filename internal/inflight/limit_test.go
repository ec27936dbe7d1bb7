// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// server is an API server at a distance, all of whose places are asked for.
type server struct {
	*Limit
	t     *testing.T
	clock *clocktesting.FakeClock
	// takes is how long an answer takes when so many are under way.
	takes func(underWay int) time.Duration
}

func newServer(t *testing.T, most int, takes func(int) time.Duration) *server {
	t.Helper()
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return &server{Limit: New(clk, most), t: t, clock: clk, takes: takes}
}

func (s *server) enter() bool {
	s.t.Helper()
	freed, _ := s.tryEnter()
	return freed == nil
}

func (s *server) answer(method string, code int, header http.Header, asked time.Time) {
	s.Answered(&http.Response{StatusCode: code, Header: header, Request: &http.Request{Method: method}}, asked)
}

// rounds has all places taken, one more asked for, and all answered, so many times; it returns how many places there are.
func (s *server) rounds(n int) int {
	s.t.Helper()
	for range n {
		taken := 0
		for s.enter() {
			taken++
		}
		if taken == 0 {
			s.t.Fatal("nobody may begin")
		}
		asked := s.clock.Now()
		s.clock.Step(s.takes(taken))
		for range taken {
			s.answer(http.MethodPatch, http.StatusOK, nil, asked)
			s.Leave()
		}
	}
	return s.Places()
}

func steady(took time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return took }
}

// queueing is a server with so many workers: more than these wait for each other.
func queueing(workers int, took time.Duration) func(int) time.Duration {
	return func(underWay int) time.Duration {
		return took * time.Duration((underWay+workers-1)/workers)
	}
}

func TestAServerThatAnswersAsQuicklyAsBeforeGetsMoreAtOnceUpToTheMost(t *testing.T) {
	s := newServer(t, 12, steady(50*time.Millisecond))
	if got := s.Places(); got != First {
		t.Errorf("it begins with %d, want %d", got, First)
	}
	if got := s.rounds(2); got != First+1 {
		t.Errorf("%d after two rounds, want %d", got, First+1)
	}
	if got := s.rounds(100); got != 12 {
		t.Errorf("%d in the end, want 12", got)
	}
}

func TestAServerWhereRequestsQueueGetsNoMoreThanItBears(t *testing.T) {
	s := newServer(t, Most, queueing(8, 50*time.Millisecond))
	s.rounds(200)
	for range 50 {
		if got := s.rounds(1); got < 8 || got > 24 {
			t.Fatalf("%d places at a server with 8 workers", got)
		}
	}
	s.takes = steady(time.Second)
	if got := s.rounds(200); got != First {
		t.Errorf("%d places when it has become slow, want %d", got, First)
	}
}

func TestAServerThatWasMovedFurtherAwayIsNotSlowForEver(t *testing.T) {
	s := newServer(t, Most, steady(10*time.Millisecond))
	s.rounds(50)
	s.takes = steady(200 * time.Millisecond)
	if got := s.rounds(100); got != First {
		t.Errorf("%d places right after, want %d", got, First)
	}
	s.clock.Step(bestOf)
	s.rounds(1)
	s.clock.Step(bestOf)
	if got := s.rounds(100); got != Most {
		t.Errorf("%d places in the end, want %d", got, Most)
	}
}

func TestWhoIsNotKeptWaitingGetsNoMore(t *testing.T) {
	s := newServer(t, Most, nil)
	for range 100 {
		if !s.enter() {
			t.Fatal("one may not begin")
		}
		s.answer(http.MethodPut, http.StatusOK, nil, s.clock.Now())
		s.Leave()
	}
	if got := s.Places(); got != First {
		t.Errorf("%d places, want %d", got, First)
	}
}

func TestAnAnswerOf429HalvesTheLimitOnceAndHasEverybodyRest(t *testing.T) {
	s := newServer(t, Most, steady(50*time.Millisecond))
	s.rounds(100)
	for s.enter() {
	}
	asked := s.clock.Now()
	s.clock.Step(time.Millisecond)
	for range Most {
		s.answer(http.MethodPatch, http.StatusTooManyRequests, http.Header{"Retry-After": {"3"}}, asked)
		s.Leave()
	}
	if got := s.Places(); got != Most/2 {
		t.Errorf("%d places, want %d", got, Most/2)
	}
	for _, wait := range []time.Duration{0, 2999 * time.Millisecond} {
		s.clock.Step(wait)
		if s.enter() {
			t.Fatalf("one begins %s later", wait)
		}
	}
	s.clock.Step(time.Millisecond)
	if got := s.rounds(1); got != Most/2 {
		t.Errorf("%d places after the rest: a round is not yet one more", got)
	}
	for range 10 {
		s.clock.Step(restAtMost)
		s.answer(http.MethodPatch, http.StatusTooManyRequests, nil, s.clock.Now())
	}
	if got := s.Places(); got != 1 {
		t.Errorf("%d places in the end, want 1", got)
	}
	s.clock.Step(restAtLeast)
	s.takes = steady(time.Second) // slow, and yet back to what it began with
	if got := s.rounds(50); got != First {
		t.Errorf("%d places when it bears more again, want %d", got, First)
	}
}

func TestARestIsNeitherForNothingNorForHours(t *testing.T) {
	for said, want := range map[string]time.Duration{"": restAtLeast, "0": restAtLeast, "Wed, 21 Oct 2026 07:28:00 GMT": restAtLeast,
		"7": 7 * time.Second, "86400": restAtMost, "99999999999999999999": restAtLeast, "-5": restAtLeast} {
		s := newServer(t, Most, nil)
		s.answer(http.MethodGet, http.StatusTooManyRequests, http.Header{"Retry-After": {said}}, s.clock.Now())
		if _, rest := s.tryEnter(); rest != want {
			t.Errorf("%q: a rest of %s, want %s", said, rest, want)
		}
	}
}

func TestReadsAndRefusalsSayNothingOfHowQuickAServerIs(t *testing.T) {
	s := newServer(t, Most, steady(50*time.Millisecond))
	s.rounds(100)
	for range 100 {
		asked := s.clock.Now()
		s.clock.Step(10 * time.Second)
		s.answer(http.MethodGet, http.StatusOK, nil, asked)
		s.answer(http.MethodPatch, http.StatusInternalServerError, nil, asked)
	}
	if got := s.Places(); got != Most {
		t.Errorf("%d places, want %d", got, Most)
	}
}

func TestWhoeverWaitsGetsThePlaceThatIsGivenBack(t *testing.T) {
	s := newServer(t, 1, nil)
	if err := s.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	entered := make(chan error)
	for range 2 {
		go func() { entered <- s.Enter(t.Context()) }()
	}
	select {
	case <-entered:
		t.Fatal("two at once")
	default:
	}
	for range 2 {
		for !s.isWaitedFor() {
			// nobody has begun to wait yet
		}
		s.Leave()
		if err := <-entered; err != nil {
			t.Fatal(err)
		}
	}
}

func (l *Limit) isWaitedFor() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.freed != nil
}

func TestWhoeverRestsBeginsWhenItIsOver(t *testing.T) {
	s := newServer(t, Most, nil)
	s.answer(http.MethodGet, http.StatusTooManyRequests, nil, s.clock.Now())
	entered := make(chan error)
	go func() { entered <- s.Enter(t.Context()) }()
	for !s.clock.HasWaiters() {
		// it has not begun to wait yet
	}
	s.clock.Step(restAtLeast)
	if err := <-entered; err != nil {
		t.Fatal(err)
	}
}

func TestNobodyWaitsLongerThanItsContext(t *testing.T) {
	s := newServer(t, 1, nil)
	if err := s.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Enter(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.Leave()
	if !s.enter() {
		t.Error("the place is lost")
	}
}
