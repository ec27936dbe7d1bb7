// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const (
	// First is how many places there are at first: enough to keep a server busy that is near, and few for a small one.
	First = 4
	// Most is how many places there are at most by default. With a thousand members that bear as much, the host holds that many
	// thousand pushes.
	Most = 16
	// restAtLeast and restAtMost bound how long no pass begins after an answer of 429, for any Retry-After.
	restAtLeast = time.Second
	restAtMost  = 15 * time.Second
	// bestOf is how long the quickest write is remembered: a server that was moved further away has a slower one.
	bestOf = 5 * time.Minute
	// usualFor is how long a measurement of writes counts.
	usualFor = time.Minute
	// slack is how much longer writes may take without being slow: some wait for the disk.
	slack = 10 * time.Millisecond
)

// Limit is how many passes, each of which sends one request after the other, may be under way to one API server at once. It
// is safe for concurrent use.
type Limit struct {
	clock clock.Clock
	most  int

	mu sync.Mutex
	// places is how many may be under way, a fraction growing towards one more; taken is how many are.
	places float64
	taken  int
	// short: a pass had to wait for a place since the last one was added.
	short bool
	// usual is how long recent writes took, best and bestBefore the quickest of the present and the last period.
	usual, best, bestBefore time.Duration
	bestSince, measured     time.Time
	// cut is when places were last halved: passes that were under way then do not halve them again. Until rest no pass begins.
	cut, rest time.Time
	// freed is closed when a waiter should look again; nil when none waits.
	freed chan struct{}
}

// New makes a Limit of at most so many places; Most where most is 0.
func New(clk clock.Clock, most int) *Limit {
	if most <= 0 {
		most = Most
	}
	return &Limit{clock: clk, most: most, places: float64(min(First, most))}
}

// Places is how many may be under way now.
func (l *Limit) Places() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.places)
}

// Enter takes a place, and waits for one. Its error is that of ctx.
func (l *Limit) Enter(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		freed, rest := l.tryEnter()
		if freed == nil {
			return nil
		}
		if err := l.wait(ctx, freed, rest); err != nil {
			return err
		}
	}
}

// tryEnter takes a place if one is free and no pause is on; freed is then nil. Otherwise the caller waits until freed
// is closed. During a pause (the server's Retry-After) it waits for the rest of the pause at most. Without a pause
// rest is 0, and the wait has no limit.
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

// Answered notes that a request which was sent at asked has been answered now. It reports whether the server answered 429 and
// the limit was lowered for that.
func (l *Limit) Answered(req *http.Request, resp *http.Response, asked time.Time) (lowered bool) {
	if isOfMany(req) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return l.refused(resp.Header.Get("Retry-After"), asked, now)
	case resp.StatusCode >= http.StatusInternalServerError:
		if isOfOurs(req) { // with other kinds, a webhook or the API server of one group may have failed
			l.places = min(l.places, First)
		}
		return false
	case isOfOurs(req) && req.Method != http.MethodGet && resp.StatusCode < http.StatusMultipleChoices:
		l.measure(now.Sub(asked), now)
	}
	switch {
	case l.places > First && l.isSlow(now):
		if !asked.Before(l.cut) {
			l.places, l.cut, l.short = max(First, l.places/2), now, false
		}
	case l.short && int(l.places) < l.most && (l.places < First || !l.isSlow(now)):
		was := int(l.places)
		if l.places += 1 / l.places; int(l.places) > was {
			l.short = false
		}
	}
	return false
}

// Failed notes that a request was not answered: the server may bear less now than before.
func (l *Limit) Failed(req *http.Request, err error) {
	if isOfMany(req) || errors.Is(err, context.Canceled) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places = min(l.places, First)
}

// isOfMany reports whether a request is a list or a watch. How long a page takes tells nothing. And an API server answers 429 to
// lists of a single kind for as long as it cannot read the objects of that kind.
func isOfMany(req *http.Request) bool {
	if req.Method != http.MethodGet {
		return false
	}
	asked := req.URL.Query()
	return asked.Has("watch") || asked.Has("limit") || asked.Has("resourceVersion") || asked.Has("labelSelector")
}

// isOfOurs reports whether a request is about Fairlead's own kinds, whose answers tell the load of the server itself. Writes of
// other kinds go through the webhooks of the member's users, or change nothing and never reach etcd. An endpoint may have a path
// before the API server's.
func isOfOurs(req *http.Request) bool {
	return strings.Contains(req.URL.Path, "/apis/"+v1alpha1.Group+"/")
}

// refused halves the limit, once for all passes that were under way when the server answered 429, and has the next ones wait.
func (l *Limit) refused(retryAfter string, asked, now time.Time) (lowered bool) {
	seconds, _ := strconv.Atoi(retryAfter) // no API server sends a date; it counts as 0
	rest := min(max(time.Duration(seconds)*time.Second, restAtLeast), restAtMost)
	if until := now.Add(rest); until.After(l.rest) {
		l.rest = until
	}
	if asked.Before(l.cut) {
		return false
	}
	was := l.places
	l.places, l.cut, l.short = max(1, l.places/2), now, false
	return l.places < was
}

// measure notes how long a write took.
func (l *Limit) measure(took time.Duration, now time.Time) {
	switch since := now.Sub(l.bestSince); {
	case l.usual == 0 || since >= 2*bestOf: // there is no recent measurement
		l.usual, l.best, l.bestBefore, l.bestSince = took, took, took, now
	case since >= bestOf:
		l.bestBefore, l.best, l.bestSince = l.best, took, now
	}
	l.usual += (took - l.usual) / 8
	l.best, l.measured = min(l.best, took), now
}

// isSlow reports whether recent writes were slow. Old writes do not keep the limit of a client that only reads from growing.
func (l *Limit) isSlow(now time.Time) bool {
	return now.Sub(l.measured) < usualFor && l.usual > 2*min(l.best, l.bestBefore)+slack
}
