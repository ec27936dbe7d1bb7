// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/clockskew"
	"github.com/fairlead-dev/fairlead/internal/inflight"
	"github.com/fairlead-dev/fairlead/internal/redirect"
)

// headWithin is the longest time from a request until the headers of the response, even for a watch. Without this
// limit, the manager would wait for a response that never comes, for as long as the network reports no failure.
const headWithin = 30 * time.Second

// fenceInterval is the longest time between two calls of WriteFence.Left while a write waits for its answer.
const fenceInterval = time.Second

// WriteFence decides when this process may write to members. lease.Guard implements it for the leader.
type WriteFence interface {
	// Await returns nil as soon as a write may begin. If this process may not write, Await returns an error that explains why.
	Await(ctx context.Context) error
	// Left returns how much longer a write may wait for its answer. At 0 the caller cancels the write.
	Left() time.Duration
}

// HeldBackError tells that this manager must not send a write now. The cause is the manager's lease, not the member.
type HeldBackError struct{ Why error }

func (e *HeldBackError) Error() string { return e.Why.Error() }

func (e *HeldBackError) Unwrap() error { return e.Why }

// guard is the transport for every request to a member. It bounds the size of the member's answers (package
// boundedread). It also stops the writes of a manager that has lost its lease and does not know it. For example, a
// manager process that was frozen continues in the middle of a push, before its leader election notices that the lease
// has expired.
type guard struct {
	next http.RoundTripper
	// fence is nil if this process may always write.
	fence WriteFence
	// headWithin has the value of the constant headWithin. Tests set a shorter limit.
	headWithin time.Duration
	clock      clock.PassiveClock
	limit      *inflight.Limit
	// answers bounds the size of the member's answers.
	answers *boundedread.Answers
	// skew is how far the member's clock is ahead of the host's.
	skew clockskew.Estimate
}

var _ http.RoundTripper = &guard{}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	writes := g.fence != nil && req.Method != http.MethodGet
	if writes {
		if err := g.fence.Await(req.Context()); err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // the contract of http.RoundTripper: close the body even when returning an error
			}
			return nil, &HeldBackError{Why: err}
		}
	}
	req = inJSON(req)
	ctx, cancel := context.WithCancelCause(req.Context())
	if writes {
		defer g.cancelWhenFenced(req, cancel)()
	}
	late := time.AfterFunc(g.headWithin, func() {
		cancel(fmt.Errorf("%s %s: no answer has begun within %s", req.Method, req.URL.Path, g.headWithin))
	})
	asked := g.clock.Now()
	resp, err := g.next.RoundTrip(req.WithContext(ctx))
	heldBack := (*HeldBackError)(nil)
	if fenced := errors.As(context.Cause(ctx), &heldBack); (!late.Stop() || fenced) && err != nil && req.Context().Err() == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		attemptsOf(req.Context()).failed(err)
		cancel(nil)
		g.limit.Failed(req, err)
		return nil, err
	}
	attemptsOf(req.Context()).answered(resp.StatusCode)
	if g.limit.Answered(req, resp, asked) {
		log.FromContext(req.Context()).Info("the member answers 429 (too many requests): the manager makes fewer pushes to it at the same time", "endpoint", req.URL.Host,
			"atOnce", g.limit.Places())
	}
	g.skew.Observe(resp.Header, asked, g.clock.Now())
	if err := redirect.Refused(resp); err != nil {
		cancel(nil)
		return nil, err
	}
	if kind := resp.Header.Get("Content-Type"); strings.Contains(kind, "protobuf") || strings.Contains(kind, "cbor") {
		_ = resp.Body.Close() // RoundTrip does not read the body, so the error does not matter
		cancel(nil)
		return nil, &unusableError{fmt.Errorf("%s %s: the answer has the content type %.80q. But the manager asked for JSON, because it cannot bound "+
			"the size of another encoding. "+isItKubernetes, req.Method, req.URL.Path, kind)}
	}
	resp.Body = g.answers.Body(req, resp, func() { cancel(nil) })
	return resp, nil
}

// cancelWhenFenced cancels a write that has no answer yet, when the fence leaves it no more time. It asks the fence at
// least every second, for two reasons. A renewal of the lease gives the write more time. And a timer does not run while
// the machine sleeps, so one long timer would end too late. The caller calls the returned function when the request has
// ended.
func (g *guard) cancelWhenFenced(req *http.Request, cancel context.CancelCauseFunc) func() {
	var (
		mu    sync.Mutex
		timer *time.Timer
	)
	check := func() {
		mu.Lock()
		defer mu.Unlock()
		switch left := g.fence.Left(); {
		case timer == nil: // the request has ended
		case left == 0:
			cancel(&HeldBackError{Why: fmt.Errorf("%s %s: no answer came before this manager had to stop writing, because its lease was not renewed in time", req.Method, req.URL.Path)})
		default:
			timer.Reset(min(left, fenceInterval))
		}
	}
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(min(g.fence.Left(), fenceInterval), check)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
		timer = nil
	}
}

// inJSON returns a request that accepts only JSON: the given request, or a copy with another Accept header. client-go
// always asks for the metadata of objects in protobuf. The manager could not bound the memory for a protobuf answer,
// because the size of the decoded object is known only after decoding.
func inJSON(req *http.Request) *http.Request {
	accept := req.Header.Get("Accept")
	if !strings.Contains(accept, "protobuf") && !strings.Contains(accept, "cbor") {
		return req
	}
	kinds := slices.DeleteFunc(strings.Split(accept, ","), func(kind string) bool {
		return strings.Contains(kind, "protobuf") || strings.Contains(kind, "cbor")
	})
	if len(kinds) == 0 {
		kinds = []string{acceptJSON}
	}
	req = req.Clone(req.Context())
	req.Header.Set("Accept", strings.Join(kinds, ","))
	return req
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// attempts has the last outcome of the requests of one probe, as the transport saw it. client-go repeats a request whose
// connection breaks, and a request that the server answers with a Retry-After. When the deadline of the probe ends these
// attempts, client-go returns only the error of the deadline. attempts still has the cause.
type attempts struct {
	mu sync.Mutex
	// err is the last error that is not the end of the context.
	err error
	// status is the HTTP status of the last response; 0 if the last attempt got none.
	status int
}

// attemptsKey is the key of the *attempts in the context of a probe's requests.
type attemptsKey struct{}

// attemptsOf returns the attempts of a request's probe; nil if the request is not from a probe.
func attemptsOf(ctx context.Context) *attempts {
	a, _ := ctx.Value(attemptsKey{}).(*attempts)
	return a
}

func (a *attempts) failed(err error) {
	if a == nil || isTimeout(err) || errors.Is(err, context.Canceled) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err, a.status = err, 0
}

func (a *attempts) answered(status int) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err, a.status = nil, status
}

// cause returns the error that explains why the attempts failed. That is err, the error of client-go, unless err is only a
// timeout.
func (a *attempts) cause(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !isTimeout(err):
		return err
	case a.err != nil:
		return a.err
	case a.status >= http.StatusBadRequest:
		return &busyError{a.status}
	}
	return err
}

// busyError tells that a server answers each attempt with a status that asks for another attempt later.
type busyError struct{ status int }

func (e *busyError) Error() string {
	return fmt.Sprintf("HTTP status %d (%s)", e.status, http.StatusText(e.status))
}
