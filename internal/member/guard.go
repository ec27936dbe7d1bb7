// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/federate"
	"github.com/fairlead-dev/fairlead/internal/inflight"
	"github.com/fairlead-dev/fairlead/internal/redirect"
)

const (
	// maxList is how much of one answer to a list is read. A page of 500 Deliveries, each with all that it may hold, is less.
	maxList = 64 << 20
	// maxAnswer is how much of any other answer is read: no object in etcd is larger than 1.5 MiB, of which JSON may make more.
	maxAnswer = 8 << 20
	// maxEvent is how much of one event of a watch is read.
	maxEvent = 4 << 20
	// maxRefusal is how much of a refusal is read: it is a sentence for people.
	maxRefusal = 64 << 10
	// headWithin is how long an answer, also that of a watch, may take to begin. A watch that never begins would be waited for
	// until somebody asked the network.
	headWithin = 30 * time.Second
)

// TooLargeError says that a member sent more than Fairlead reads. What was read is dropped, and so is the connection.
type TooLargeError struct {
	// Request is the method and the path, Max the limit in bytes.
	Request string
	Max     int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer to %s is larger than %s, or would be in memory, and is not read: is this a Kubernetes API server?",
		e.Request, resource.NewQuantity(int64(e.Max), resource.BinarySI))
}

// HeldBackError says that this manager may not write now. It says nothing of the member.
type HeldBackError struct{ Why error }

func (e *HeldBackError) Error() string { return e.Why.Error() }

func (e *HeldBackError) Unwrap() error { return e.Why }

// guard is the last station of every request to a member. It keeps a member from filling the host's memory: client-go reads
// an answer whole before it looks at it. And it keeps a manager from writing that is not the leader any more, but does
// not know it yet: one that was frozen goes on where it was, in the middle of a push, before its elector has
// looked at a clock.
type guard struct {
	next http.RoundTripper
	// mayWrite says why nothing may be written now, nil when it may.
	mayWrite func() error
	// headWithin is the constant, or shorter in tests.
	headWithin time.Duration
	clock      clock.PassiveClock
	limit      *inflight.Limit
	scales     scales
	// ahead is by how much the member's clock was ahead of ours in its last answer, see federate.ClockOffset.
	ahead atomic.Int64
}

var _ http.RoundTripper = &guard{}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		if err := g.mayWrite(); err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // as a RoundTripper has to
			}
			return nil, &HeldBackError{Why: err}
		}
	}
	req = inJSON(req)
	ctx, cancel := context.WithCancelCause(req.Context())
	late := time.AfterFunc(g.headWithin, func() {
		cancel(fmt.Errorf("%s %s: no answer has begun within %s", req.Method, req.URL.Path, g.headWithin))
	})
	asked := g.clock.Now()
	resp, err := g.next.RoundTrip(req.WithContext(ctx))
	if !late.Stop() && err != nil && req.Context().Err() == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel(nil)
		g.limit.Failed(req, err)
		return nil, err
	}
	if g.limit.Answered(req, resp, asked) {
		log.FromContext(req.Context()).Info("the member has too much to do (429): less is pushed to it at once", "endpoint", req.URL.Host,
			"atOnce", g.limit.Places())
	}
	if ahead, known := federate.ClockOffset(resp.Header.Get("Date"), asked, g.clock.Now()); known {
		g.ahead.Store(int64(ahead))
	}
	if err := redirect.Refused(resp); err != nil {
		cancel(nil)
		return nil, err
	}
	if kind := resp.Header.Get("Content-Type"); strings.Contains(kind, "protobuf") || strings.Contains(kind, "cbor") {
		_ = resp.Body.Close() // nothing of it is read
		cancel(nil)
		return nil, fmt.Errorf("%s %s: the answer is %.80q, and JSON was asked for: nothing else can be weighed", req.Method, req.URL.Path, kind)
	}
	resp.Body = g.bounded(req, resp, func() { cancel(nil) })
	return resp, nil
}

// inJSON is a request that asks for JSON alone. Client-go asks for the metadata of objects in protobuf, whatever its
// configuration says; what that becomes in memory cannot be told before it has become it.
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

// bounded is the body of an answer, of which no more is read than may be.
func (g *guard) bounded(req *http.Request, resp *http.Response, closed func()) io.ReadCloser {
	l := &limited{ReadCloser: resp.Body, closed: closed, scales: &g.scales, max: maxAnswer, request: req.Method + " " + req.URL.Path}
	switch asked := req.URL.Query(); {
	case resp.StatusCode >= http.StatusBadRequest:
		l.max = maxRefusal
	case asked.Has("watch"):
		l.max, l.events = maxEvent, true
	case asked.Has("limit"), asked.Has("resourceVersion"):
		l.max = maxList
	}
	return l
}

// WrappedRoundTripper lets client-go find the transport below.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// limited is a body that ends with an error where it is too large, or an event of it is.
type limited struct {
	io.ReadCloser
	max, read int
	// events says that the body is one JSON value after the other, each of which may be so large.
	events  bool
	request string
	closed  func()

	scales *scales

	// A watch is closed by another than reads it.
	mu      sync.Mutex
	weigher weigher
	// bytes and weight are what of this body lies on the scales; nothing any more once it was closed.
	bytes, weight int
	lifted        bool
}

// Close implements io.Closer.
func (l *limited) Close() error {
	defer l.closed()
	l.mu.Lock()
	l.lift()
	l.lifted = true
	l.mu.Unlock()
	return l.ReadCloser.Close()
}

// lift takes what was read so far off the scales. The lock is held.
func (l *limited) lift() {
	l.scales.put(-l.bytes, -l.weight)
	l.bytes, l.weight = 0, 0
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	for fresh := p[:n]; len(fresh) > 0 && !l.lifted; {
		length, weight, ended := l.weigher.weigh(fresh)
		fresh = fresh[length:]
		l.read, l.bytes, l.weight = l.read+length, l.bytes+length, l.weight+weight
		if !l.scales.put(length, weight) || l.read > l.max {
			return 0, &TooLargeError{Request: l.request, Max: l.max}
		}
		if ended && l.events { // the next one begins, with whatever stands between the two
			l.read = 0
			l.lift()
		}
	}
	return n, err
}
