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

// headWithin bounds the time until an answer begins, also that of a watch. Without it, the manager could wait for a
// watch that never begins until the network reports a failure.
const headWithin = 30 * time.Second

// fenceInterval is the longest time between two questions to the fence while a write is under way: how long may the
// write last?
const fenceInterval = time.Second

// WriteFence decides when this process may write to members. Package lease implements the leader's.
type WriteFence interface {
	// Await returns when a write may begin. Its error says why this process may not write.
	Await(ctx context.Context) error
	// Left returns how much longer a write that is under way may wait for its answer. At 0 it is canceled.
	Left() time.Duration
}

// HeldBackError is the error of a write that this manager may not send now. It says nothing about the member.
type HeldBackError struct{ Why error }

func (e *HeldBackError) Error() string { return e.Why.Error() }

func (e *HeldBackError) Unwrap() error { return e.Why }

// guard is the last transport of every request to a member. It bounds the size of the member's answers (package
// boundedread). It also stops the writes of a manager that has lost its lease and does not know it yet. A manager that
// was frozen continues in the middle of a push, before its elector looks at a clock.
type guard struct {
	next http.RoundTripper
	// fence is nil if this process may always write.
	fence WriteFence
	// headWithin is the constant of that name, or shorter in tests.
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
				_ = req.Body.Close() // the interface demands it of a RoundTripper
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
		cancel(nil)
		g.limit.Failed(req, err)
		return nil, err
	}
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
		_ = resp.Body.Close() // the body is not read
		cancel(nil)
		return nil, &unusableError{fmt.Errorf("%s %s: the answer has the content type %.80q. But the manager asked for JSON, because it cannot bound "+
			"the size of another encoding. "+isItKubernetes, req.Method, req.URL.Path, kind)}
	}
	resp.Body = g.answers.Body(req, resp, func() { cancel(nil) })
	return resp, nil
}

// cancelWhenFenced cancels a write that has no answer yet when the fence allows it no more time. It asks the fence
// every second, for two reasons: a renewal of the lease gives more time, and a timer stands still while the machine
// sleeps. It returns the function with which the caller ends this.
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
			cancel(&HeldBackError{Why: fmt.Errorf("%s %s: no answer came before this manager had to stop writing", req.Method, req.URL.Path)})
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

// inJSON returns a copy of a request that accepts only JSON. Client-go asks for the metadata of objects in protobuf,
// whatever its configuration says. The memory that protobuf needs is not known before it is decoded.
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

// WrappedRoundTripper lets client-go find the transport below.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }
