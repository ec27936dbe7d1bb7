// SPDX-License-Identifier: Apache-2.0

package push

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fate is what happens to a request of a pass.
type fate int

const (
	through fate = iota
	// lost: the member never gets the request.
	lost
	// unanswered: the member executes the request, but its answer is lost.
	unanswered
)

var errWire = errors.New("the connection broke")

// wire is the transport of a site's connection. It records every request, and the test decides what happens to it.
type wire struct {
	next http.RoundTripper

	mu       sync.Mutex
	requests []string
	// decide returns the fate of each request; n is its number, from 1. If decide is nil, all requests go through.
	decide func(n int, req *http.Request) fate
	// answer may answer a request in place of the member. If it is nil or returns nil, the member answers.
	answer func(req *http.Request) *http.Response
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.requests = append(w.requests, nameOf(req))
	n, decide, answer := len(w.requests), w.decide, w.answer
	w.mu.Unlock()
	is := through
	if decide != nil {
		is = decide(n, req)
	}
	if is == lost {
		return nil, errWire
	}
	if answer != nil {
		if resp := answer(req); resp != nil {
			return resp, nil
		}
	}
	resp, err := w.next.RoundTrip(req)
	if err == nil && is == unanswered {
		_ = resp.Body.Close()
		return nil, errWire
	}
	return resp, err
}

// nameOf returns the method and the last two parts of the path, for example "PATCH configmaps/a".
func nameOf(req *http.Request) string {
	parts := strings.Split(req.URL.Path, "/")
	name := req.Method + " " + strings.Join(parts[max(0, len(parts)-2):], "/")
	if req.URL.Query().Has("dryRun") {
		name = "DRY " + name
	}
	return name
}

// begin forgets the requests so far. From now on, decide returns the fate of each request.
func (w *wire) begin(decide func(n int, req *http.Request) fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.decide = nil, decide
}

func (w *wire) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// writes returns the requests that change the member.
func (w *wire) writes() []string {
	var found []string
	for _, r := range w.all() {
		if !strings.HasPrefix(r, "GET ") && !strings.HasPrefix(r, "DRY ") {
			found = append(found, r)
		}
	}
	return found
}

// refusal makes a response in which the API server refuses a request with this error.
func refusal(req *http.Request, err *apierrors.StatusError) *http.Response {
	err.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, _ := json.Marshal(err.ErrStatus) // a Status always encodes
	return &http.Response{
		StatusCode: int(err.ErrStatus.Code), Status: http.StatusText(int(err.ErrStatus.Code)), Request: req,
		Header: http.Header{"Content-Type": []string{"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	}
}

// atOnce calls do once, just before the first request with this name (see nameOf). All requests go through.
func (s *site) atOnce(name string, do func()) func(int, *http.Request) fate {
	return s.atOnceWhere(func(is string) bool { return is == name }, do)
}

// atOnceWhere calls do once, just before the first request for whose name isMeant returns true. All requests go
// through.
func (s *site) atOnceWhere(isMeant func(name string) bool, do func()) func(int, *http.Request) fate {
	var once sync.Once
	return func(_ int, req *http.Request) fate {
		if isMeant(nameOf(req)) {
			once.Do(do)
		}
		return through
	}
}
