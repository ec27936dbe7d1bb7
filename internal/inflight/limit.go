// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// First is how many places there are to begin with: enough to keep a server busy that is near, and few for a small one.
	First = 4
	// Most is how many there are at most where nothing else is said.
	Most = 32
	// restAtLeast and restAtMost bound how long nobody begins after an answer of 429, whatever it says.
	restAtLeast = time.Second
	restAtMost  = 15 * time.Second
	// bestOf is for how long the quickest write is remembered: a server that was moved further away has another.
	bestOf = 5 * time.Minute
	// slack is by how much writes may take longer without being slow: what a disk makes of some of them.
	slack = 10 * time.Millisecond
)

// Limit is how many requests may be under way to one API server at once. It is safe for concurrent use.
type Limit struct {
	clock clock.WithTicker
	most  int

	mu sync.Mutex
	// places is how many may be under way, a fraction growing towards one more; taken is how many are.
	places float64
	taken  int
	// short says that somebody had to wait for a place since the last one was added.
	short bool
	// usual is how long writes take of late, best and bestBefore the quickest of the present and the last period.
	usual, best, bestBefore time.Duration
	bestSince               time.Time
	// cut is when the server was last asked by somebody whom it told 429; rest is until when nobody begins.
	cut, rest time.Time
	// freed is closed when a waiter should look again; nil when nobody waits.
	freed chan struct{}
}

// New makes a Limit of at most so many places; 0 is Most.
func New(clk clock.WithTicker, most int) *Limit {
	if most <= 0 {
		most = Most
	}
	return &Limit{clock: clk, most: most, places: float64(min(First, most))}
}

// Places is how many requests may be under way now.
func (l *Limit) Places() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.places)
}

// Enter takes a place, and waits for one. Its error is that of ctx.
func (l *Limit) Enter(ctx context.Context) error {
	for {
		freed, rest := l.tryEnter()
		if freed == nil {
			return nil
		}
		if err := l.wait(ctx, freed, rest); err != nil {
			return err
		}
	}
}

// tryEnter takes a place; where there is none, it says what to wait for, and for how long at most (0 is for ever).
func (l *Limit) tryEnter() (freed chan struct{}, rest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rest = l.rest.Sub(l.clock.Now()); rest <= 0 {
		if l.taken < int(l.places) {
			l.taken++
			return nil, 0
		}
		l.short, rest = true, 0
	}
	if l.freed == nil {
		l.freed = make(chan struct{})
	}
	return l.freed, rest
}

func (l *Limit) wait(ctx context.Context, freed chan struct{}, rest time.Duration) error {
	var over <-chan time.Time
	if rest > 0 {
		timer := l.clock.NewTimer(rest)
		defer timer.Stop()
		over = timer.C()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-freed:
	case <-over:
	}
	return nil
}

// Leave gives a place back.
func (l *Limit) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken--
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

// Answered takes in that a request which was sent at asked has been answered now.
func (l *Limit) Answered(resp *http.Response, asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if resp.StatusCode == http.StatusTooManyRequests {
		l.refused(resp.Header.Get("Retry-After"), asked, now)
		return
	}
	if resp.StatusCode >= http.StatusInternalServerError || resp.Request != nil && resp.Request.Method == http.MethodGet {
		return // how long a page of a list takes, or a refusal, says nothing
	}
	l.measure(now.Sub(asked), now)
	switch {
	case l.places > First && l.isSlow():
		l.places = max(l.places-1/l.places, First)
	case l.places >= First && l.isSlow():
	case l.short && int(l.places) < l.most:
		was := int(l.places)
		if l.places += 1 / l.places; int(l.places) > was {
			l.short = false
		}
	}
}

// refused halves the limit, once for all who were under way when the server had enough, and has everybody wait.
func (l *Limit) refused(retryAfter string, asked, now time.Time) {
	seconds, _ := strconv.Atoi(retryAfter) // a date, which no API server sends, is as good as nothing
	rest := min(max(time.Duration(seconds)*time.Second, restAtLeast), restAtMost)
	if until := now.Add(rest); until.After(l.rest) {
		l.rest = until
	}
	if asked.Before(l.cut) {
		return
	}
	l.places, l.cut, l.short = max(1, l.places/2), now, false
}

// measure takes in how long a write took.
func (l *Limit) measure(took time.Duration, now time.Time) {
	if l.usual == 0 {
		l.usual, l.best, l.bestBefore, l.bestSince = took, took, took, now
	}
	l.usual += (took - l.usual) / 8
	if now.Sub(l.bestSince) >= bestOf {
		l.bestBefore, l.best, l.bestSince = l.best, took, now
	}
	l.best = min(l.best, took)
}

func (l *Limit) isSlow() bool { return l.usual > 2*min(l.best, l.bestBefore)+slack }
