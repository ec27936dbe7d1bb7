// SPDX-License-Identifier: Apache-2.0

package member

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// maxAnswer is how much of one answer is read. A page of 500 Deliveries, each with all that it may hold, is less.
	maxAnswer = 64 << 20
	// maxEvent is how much of one event of a watch is read: no object in etcd is larger than 1.5 MiB.
	maxEvent = 4 << 20
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
	return fmt.Sprintf("the answer to %s is larger than %d MiB and is not read: is this a Kubernetes API server?", e.Request, e.Max>>20)
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
	ctx, cancel := context.WithCancelCause(req.Context())
	late := time.AfterFunc(g.headWithin, func() {
		cancel(fmt.Errorf("%s %s: no answer has begun within %s", req.Method, req.URL.Path, g.headWithin))
	})
	resp, err := g.next.RoundTrip(req.WithContext(ctx))
	if !late.Stop() && err != nil && req.Context().Err() == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel(nil)
		return nil, err
	}
	l := &limited{ReadCloser: resp.Body, closed: func() { cancel(nil) }, max: maxAnswer, request: req.Method + " " + req.URL.Path}
	if req.URL.Query().Has("watch") {
		l.max, l.lines = maxEvent, true
	}
	resp.Body = l
	return resp, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// limited is a body that ends with an error where it is too large, or a line of it is.
type limited struct {
	io.ReadCloser
	max, read int
	lines     bool
	request   string
	closed    func()
}

// Close implements io.Closer.
func (l *limited) Close() error {
	defer l.closed()
	return l.ReadCloser.Close()
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	l.read += n
	if l.lines {
		if last := bytes.LastIndexByte(p[:n], '\n'); last >= 0 {
			l.read = n - last - 1
		}
	}
	if l.read > l.max {
		return 0, &TooLargeError{Request: l.request, Max: l.max}
	}
	return n, err
}
