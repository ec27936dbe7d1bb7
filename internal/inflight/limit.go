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
	// First is the number of places of a new Limit. Four places keep a nearby server busy, and do not overload a
	// small server.
	First = 4
	// Most is the default for the highest number of places. If a thousand members all reach it, the host runs 16,000
	// pushes at the same time.
	Most = 16
	// restAtLeast and restAtMost bound the pause after an answer of 429, whatever its Retry-After. No pass begins
	// during a pause.
	restAtLeast = time.Second
	restAtMost  = 15 * time.Second
	// bestOf is the length of a period. For each period the Limit remembers the quickest write. The method isSlow
	// compares later writes with the quickest write of the present and of the previous period. Older writes are
	// forgotten, because even the quickest write takes longer when the server has moved further away.
	bestOf = 5 * time.Minute
	// usualFor is how long the average time of the writes is valid after the last write. After that isSlow returns false.
	usualFor = time.Minute
	// slack is added to the threshold above which writes count as slow, because some writes wait for the disk.
	slack = 10 * time.Millisecond
)

// Limit bounds the concurrent passes to one API server. It is safe for concurrent use.
type Limit struct {
	clock clock.Clock
	most  int

	mu sync.Mutex
	// places is the highest number of concurrent passes. It is not a whole number, because it grows by less than one
	// at a time.
	places float64
	// taken is the number of passes that are under way.
	taken int
	// short is true if a pass has had to wait for a place since the last place was added.
	short bool
	// usual is the moving average of the times that writes took; 0 before the first write.
	usual time.Duration
	// best is the time of the quickest write of the present period of bestOf.
	best time.Duration
	// bestBefore is the time of the quickest write of the previous period.
	bestBefore time.Duration
	// bestSince is the time at which the present period began.
	bestSince time.Time
	// measured is the time of the last measurement of a write.
	measured time.Time
	// cut is the time at which places was last halved. If a request was sent before cut, its answer does not halve
	// places again.
	cut time.Time
	// rest is the time at which the pause ends. No pass begins before that.
	rest time.Time
	// freed is closed when waiting callers of Enter should try again; nil when none waits.
	freed chan struct{}
}

// New makes a Limit of at most this many places. 0 means Most.
func New(clk clock.Clock, most int) *Limit {
	if most <= 0 {
		most = Most
	}
	return &Limit{clock: clk, most: most, places: float64(min(First, most))}
}

// Places returns the number of passes that may be under way now.
func (l *Limit) Places() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.places)
}

// Enter waits until a place is free, and takes it. It returns the error of ctx when ctx ends first.
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

// tryEnter takes a place if one is free and there is no pause; freed is then nil. Otherwise the caller has to wait until
// freed is closed, and then try again. During a pause (the server's Retry-After) rest is the time until the pause ends, and
// the caller waits no longer than that. Without a pause rest is 0, and the wait has no limit.
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

// Leave frees the place that Enter took.
func (l *Limit) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken--
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

// Answered records the answer to a request that was sent at the time asked. lowered is true if the answer was a 429 that
// lowered the limit.
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
		if isOfOurs(req) { // for another kind the cause may be a webhook, or the server of one aggregated API
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

// Failed records that a request got no answer. The limit then falls to First, because the server may be able to serve fewer
// requests than before.
func (l *Limit) Failed(req *http.Request, err error) {
	if isOfMany(req) || errors.Is(err, context.Canceled) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places = min(l.places, First)
}

// isOfMany reports whether a request is a list or a watch. The Limit ignores the answers to these requests. Their time
// depends on the number of objects, and does not show the load. And an API server answers 429 to the lists of one kind
// while it cannot read the objects of that kind.
func isOfMany(req *http.Request) bool {
	if req.Method != http.MethodGet {
		return false
	}
	asked := req.URL.Query()
	return asked.Has("watch") || asked.Has("limit") || asked.Has("resourceVersion") || asked.Has("labelSelector")
}

// isOfOurs reports whether a request is about Fairlead's own kinds. The answers to such requests show the load of the
// server itself. Writes of other kinds go through the webhooks of the member's users, or change nothing and never reach
// etcd. The path may begin with a prefix, because the endpoint of a member may have a path.
func isOfOurs(req *http.Request) bool {
	return strings.Contains(req.URL.Path, "/apis/"+v1alpha1.Group+"/")
}

// refused halves the limit and begins a pause, because the server answered 429. If several requests that were under way at
// the same time get 429, refused halves the limit for the first of these answers only.
func (l *Limit) refused(retryAfter string, asked, now time.Time) (lowered bool) {
	seconds, _ := strconv.Atoi(retryAfter) // no API server sends a date; a date counts as 0
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

// measure records how long a write took.
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

// isSlow reports whether recent writes were slow. It returns false if the last write is older than usualFor. Without that
// rule, one slow write would keep the limit from growing while the client only reads.
func (l *Limit) isSlow(now time.Time) bool {
	return now.Sub(l.measured) < usualFor && l.usual > 2*min(l.best, l.bestBefore)+slack
}
