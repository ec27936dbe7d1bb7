// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// server simulates a distant API server. The test always asks for more places than the Limit has.
type server struct {
	*Limit
	t     *testing.T
	clock *clocktesting.FakeClock
	// takes returns how long a response takes while this many requests are under way.
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

// ofOurs is a request that the limit times: a write of Fairlead's own kinds.
const ofOurs = "PATCH /apis/federation.fairlead.dev/v1alpha1/namespaces/fairlead-system/deliveries/a/status"

// behind is a write of Fairlead's own kinds to an endpoint whose URL has a path.
const behind = "PUT /k8s/clusters/c-1/apis/federation.fairlead.dev/v1alpha1/namespaces/fairlead-system/deliveries/a"

// answer tells the limit that the request "METHOD /path" got a response. It reports whether that lowered the limit.
func (s *server) answer(what string, code int, header http.Header, asked time.Time) bool {
	s.t.Helper()
	return s.Answered(s.request(what), &http.Response{StatusCode: code, Header: header}, asked)
}

func (s *server) fail(what string, err error) { s.Failed(s.request(what), err) }

func (s *server) request(what string) *http.Request {
	s.t.Helper()
	method, path, _ := strings.Cut(what, " ")
	req, err := http.NewRequestWithContext(s.t.Context(), method, path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return req
}

// rounds does this n times: it takes all places, asks for one more, and answers all requests. It returns the number of
// places afterwards.
func (s *server) rounds(n int) int {
	s.t.Helper()
	for range n {
		taken := 0
		for s.enter() {
			taken++
		}
		if taken == 0 {
			s.t.Fatal("no pass may begin")
		}
		asked := s.clock.Now()
		s.clock.Step(s.takes(taken))
		for range taken {
			s.answer(ofOurs, http.StatusOK, nil, asked)
			s.Leave()
		}
	}
	return s.Places()
}

// busy does this n times: it takes all places, asks for one more, and answers one request immediately.
func (s *server) busy(n int, what string, code int) {
	s.t.Helper()
	for range n {
		for s.enter() {
		}
		s.answer(what, code, nil, s.clock.Now())
		s.Leave()
	}
}

func steady(took time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return took }
}

// queueing is a server with this many workers. Further requests wait for each other.
func queueing(workers int, took time.Duration) func(int) time.Duration {
	return func(underWay int) time.Duration {
		return took * time.Duration((underWay+workers-1)/workers)
	}
}

func TestTheLimitGrowsToTheMostWhileAnswersAreQuick(t *testing.T) {
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

func TestTheLimitStaysLowWhereRequestsQueue(t *testing.T) {
	s := newServer(t, 64, queueing(8, 50*time.Millisecond))
	least, most := 64, 0
	s.rounds(200)
	for range 100 {
		places := s.rounds(1)
		least, most = min(least, places), max(most, places)
	}
	if least < First || most < 8 || most > 24 {
		t.Errorf("%d to %d places at a server with 8 workers", least, most)
	}
	s.takes = steady(time.Second)
	if got := s.rounds(200); got != First {
		t.Errorf("%d places when it has become slow, want %d", got, First)
	}
}

func TestAServerThatMovedFurtherAwayIsNotSlowForever(t *testing.T) {
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

func TestTheLimitDoesNotGrowWhileNoPassWaits(t *testing.T) {
	s := newServer(t, Most, nil)
	for range 100 {
		if !s.enter() {
			t.Fatal("one may not begin")
		}
		s.answer(ofOurs, http.StatusOK, nil, s.clock.Now())
		s.Leave()
	}
	if got := s.Places(); got != First {
		t.Errorf("%d places, want %d", got, First)
	}
}

func TestAnAnswerOf429HalvesTheLimitOnceAndPausesAllPasses(t *testing.T) {
	s := newServer(t, Most, steady(50*time.Millisecond))
	s.rounds(100)
	for s.enter() {
	}
	asked := s.clock.Now()
	s.clock.Step(time.Millisecond)
	for range Most {
		s.answer(ofOurs, http.StatusTooManyRequests, http.Header{"Retry-After": {"3"}}, asked)
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
		s.answer(ofOurs, http.StatusTooManyRequests, nil, s.clock.Now())
	}
	if got := s.Places(); got != 1 {
		t.Errorf("%d places in the end, want 1", got)
	}
	s.clock.Step(restAtLeast)
	s.takes = steady(time.Second) // even while writes are slow, the limit grows again up to First
	if got := s.rounds(50); got != First {
		t.Errorf("%d places when it bears more again, want %d", got, First)
	}
}

func TestThePauseAfterA429IsBounded(t *testing.T) {
	for said, want := range map[string]time.Duration{"": restAtLeast, "0": restAtLeast, "Wed, 21 Oct 2026 07:28:00 GMT": restAtLeast,
		"7": 7 * time.Second, "86400": restAtMost, "99999999999999999999": restAtLeast, "-5": restAtLeast} {
		s := newServer(t, Most, nil)
		s.answer("GET /api/v1/namespaces/a", http.StatusTooManyRequests, http.Header{"Retry-After": {said}}, s.clock.Now())
		if _, rest := s.tryEnter(); rest != want {
			t.Errorf("%q: a rest of %s, want %s", said, rest, want)
		}
	}
}

func TestOnlyWritesOfFairleadsOwnKindsMeasureAServer(t *testing.T) {
	for what, code := range map[string]int{
		"GET /api/v1/namespaces/a/configmaps/a":          http.StatusOK,
		"PATCH /api/v1/namespaces/a/configmaps/a":        http.StatusOK, // a webhook of the member's users may make this write slow
		"PATCH /api/v1/namespaces/a/configmaps/b":        http.StatusInternalServerError,
		"GET /apis/metrics.k8s.io/v1beta1":               http.StatusServiceUnavailable,
		strings.Replace(ofOurs, "/a/status", "/b", 1):    http.StatusForbidden,
		"GET /api/v1/namespaces/a/configmaps?limit=500":  http.StatusGatewayTimeout,
		"GET /api/v1/configmaps?labelSelector=a&watch=1": http.StatusTooManyRequests, // an API server answers this if it cannot read the objects of one kind
	} {
		s := newServer(t, Most, steady(50*time.Millisecond))
		s.rounds(100)
		for range 100 {
			asked := s.clock.Now()
			s.clock.Step(10 * time.Second)
			if s.answer(what, code, nil, asked) {
				t.Errorf("%s: %d lowers the limit", what, code)
			}
		}
		if got := s.Places(); got != Most {
			t.Errorf("after %s: %d, %d places, want %d", what, code, got, Most)
		}
	}
}

func TestTheLimitGrowsForAClientThatMostlyReads(t *testing.T) {
	s := newServer(t, Most, nil)
	s.answer(ofOurs, http.StatusTooManyRequests, nil, s.clock.Now())
	s.clock.Step(restAtLeast)
	s.busy(500, "GET /api/v1/namespaces/a/configmaps/a", http.StatusOK)
	if got := s.Places(); got != Most {
		t.Errorf("%d places, want %d", got, Most)
	}
}

func TestTheLimitFallsToFirstAfterARequestWithoutAnAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		fails func(*server)
		want  int
	}{
		"the wire broke":                {func(s *server) { s.fail("GET /a", io.ErrUnexpectedEOF) }, First},
		"it took too long":              {func(s *server) { s.fail("GET /a", context.DeadlineExceeded) }, First},
		"a watch did not begin":         {func(s *server) { s.fail("GET /a?watch=1", context.DeadlineExceeded) }, Most},
		"the client has given up":       {func(s *server) { s.fail("GET /a", context.Canceled) }, Most},
		"it timed out":                  {func(s *server) { s.answer(ofOurs, http.StatusGatewayTimeout, nil, s.clock.Now()) }, First},
		"etcd timed out, which is 500":  {func(s *server) { s.answer(ofOurs, http.StatusInternalServerError, nil, s.clock.Now()) }, First},
		"it timed out behind a gateway": {func(s *server) { s.answer(behind, http.StatusInternalServerError, nil, s.clock.Now()) }, First},
	} {
		s := newServer(t, Most, steady(50*time.Millisecond))
		s.rounds(100)
		s.enter()
		if test.fails(s); s.Places() != test.want {
			t.Errorf("%s: %d places, want %d", name, s.Places(), test.want)
		}
	}
}

func TestTheLimitDoesNotGrowOnAnswersOf500(t *testing.T) {
	s := newServer(t, Most, nil)
	s.busy(100, ofOurs, http.StatusInternalServerError)
	if got := s.Places(); got != First {
		t.Errorf("%d places, want %d", got, First)
	}
}

func TestOldMeasurementsDoNotKeepTheLimitFromGrowing(t *testing.T) {
	s := newServer(t, Most, steady(50*time.Millisecond))
	s.rounds(10)
	s.takes = steady(time.Second)
	if got := s.rounds(20); got != First {
		t.Fatalf("%d places at a slow server, want %d", got, First)
	}
	s.clock.Step(usualFor)
	s.busy(500, "GET /api/v1/namespaces/a/configmaps/a", http.StatusOK)
	if got := s.Places(); got != Most {
		t.Errorf("%d places, want %d", got, Most)
	}
}

func TestAnsweredReportsOnlyAChangeOfTheLimit(t *testing.T) {
	s := newServer(t, Most, nil)
	for _, want := range []bool{true, true, false, false} { // the limit falls from 4 to 2 and to 1, and stays there
		if got := s.answer(ofOurs, http.StatusTooManyRequests, nil, s.clock.Now()); got != want {
			t.Errorf("lowered: %v, want %v, at %d places", got, want, s.Places())
		}
		s.clock.Step(restAtMost)
	}
}

func TestAWaitingPassGetsThePlaceThatIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 1, nil)
		if err := s.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		entered := 0
		for range 2 {
			go func() {
				if err := s.Enter(t.Context()); err != nil {
					t.Error(err)
				}
				entered++
			}()
		}
		for want := range 3 {
			if synctest.Wait(); entered != want {
				t.Errorf("%d have entered, want %d", entered, want)
			}
			s.Leave()
		}
	})
}

func TestAPassBeginsWhenThePauseIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Most, nil)
		s.answer(ofOurs, http.StatusTooManyRequests, nil, s.clock.Now())
		entered := false
		go func() {
			if err := s.Enter(t.Context()); err != nil {
				t.Error(err)
			}
			entered = true
		}()
		for _, want := range []bool{false, true} {
			if synctest.Wait(); entered != want {
				t.Errorf("it has entered: %v, want %v", entered, want)
			}
			s.clock.Step(restAtLeast)
		}
	})
}

func TestEnterFailsOnceItsContextHasEnded(t *testing.T) {
	s := newServer(t, 1, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Enter(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !s.enter() {
		t.Error("the place is lost")
	}
	if err := s.Enter(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
