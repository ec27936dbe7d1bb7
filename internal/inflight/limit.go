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
	// First is how many places there are to begin with: enough to keep a server busy that is near, and few for a small one.
	First = 4
	// Most is how many there are at most where nothing else is said. A thousand members that all bear as much have the host
	// hold so many thousand pushes.
	Most = 16
	// restAtLeast and restAtMost bound how long nobody begins after an answer of 429, whatever it says.
	restAtLeast = time.Second
	restAtMost  = 15 * time.Second
	// bestOf is for how long the quickest write is remembered: a server that was moved further away has another.
	bestOf = 5 * time.Minute
	// usualFor is for how long what writes took says how the server fares.
	usualFor = time.Minute
	// slack is by how much writes may take longer without being slow: what a disk makes of some of them.
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
	// short says that somebody had to wait for a place since the last one was added.
	short bool
	// usual is how long writes take of late, best and bestBefore the quickest of the present and the last period.
	usual, best, bestBefore time.Duration
	bestSince, measured     time.Time
	// cut is when places were last halved: who was under way then says it no second time. Until rest nobody begins.
	cut, rest time.Time
	// freed is closed when a waiter should look again; nil when nobody waits.
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

// Answered takes in that a request which was sent at asked has been answered now. It says whether the server had too much
// and the limit was lowered for that.
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
		if isOfOurs(req) { // of others it may be a webhook's fault, or that of the API server of one group
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

// Failed takes in that a request was not answered: what the server bore before it may not bear now.
func (l *Limit) Failed(req *http.Request, err error) {
	if isOfMany(req) || errors.Is(err, context.Canceled) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places = min(l.places, First)
}

// isOfMany says whether a request is a list or a watch. How long a page takes says nothing, and an API server answers 429
// to those of a single kind whose objects it cannot read, for as long as it cannot.
func isOfMany(req *http.Request) bool {
	if req.Method != http.MethodGet {
		return false
	}
	asked := req.URL.Query()
	return asked.Has("watch") || asked.Has("limit") || asked.Has("resourceVersion") || asked.Has("labelSelector")
}

// isOfOurs says whether a request is about Fairlead's own kinds, whose answers tell how the server itself fares. Writes of
// others go through the webhooks of the member's people, or change nothing and never reach etcd. An endpoint may have a
// path before the API server's.
func isOfOurs(req *http.Request) bool {
	return strings.Contains(req.URL.Path, "/apis/"+v1alpha1.Group+"/")
}

// refused halves the limit, once for all who were under way when the server had enough, and has who comes next wait.
func (l *Limit) refused(retryAfter string, asked, now time.Time) (lowered bool) {
	seconds, _ := strconv.Atoi(retryAfter) // a date, which no API server sends, is as good as nothing
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

// measure takes in how long a write took.
func (l *Limit) measure(took time.Duration, now time.Time) {
	switch since := now.Sub(l.bestSince); {
	case l.usual == 0 || since >= 2*bestOf: // nothing is known of late
		l.usual, l.best, l.bestBefore, l.bestSince = took, took, took, now
	case since >= bestOf:
		l.bestBefore, l.best, l.bestSince = l.best, took, now
	}
	l.usual += (took - l.usual) / 8
	l.best, l.measured = min(l.best, took), now
}

// isSlow says whether writes were slow of late. Who only reads is not kept from growing by writes of long ago.
func (l *Limit) isSlow(now time.Time) bool {
	return now.Sub(l.measured) < usualFor && l.usual > 2*min(l.best, l.bestBefore)+slack
}
