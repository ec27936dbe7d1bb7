// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
)

// proxyVerdict is what a proxy does with a request. The zero value forwards it.
type proxyVerdict int

const (
	through proxyVerdict = iota
	// lost: the connection breaks, and the API server never gets the request.
	lost
	// unanswered: the API server carries the request out, and the connection breaks before the program gets the answer.
	unanswered
	// late: the connection breaks, and the API server gets the request later, when a life calls the function in heldBack.
	late
)

// heldBack has the function that sends the late request of a dead life to its API server. There is at most one.
var heldBack = make(chan func(), 1)

// proxy is a proxy between the manager and one API server. It terminates TLS, so that it sees each call, and forwards the caller's token.
type proxy struct {
	server *httptest.Server
	// decide returns the verdict on a request. The function can do something to the cluster before it returns, for example
	// replace an object.
	decide func(*http.Request) proxyVerdict
	// misbehavior is how the cluster misbehaves towards Fairlead's programs; nil if it behaves well.
	misbehavior atomic.Pointer[misbehavior]

	mu sync.Mutex
	// calls are the requests of Fairlead's programs since method count was called, without those for which comesByItself
	// or isConfirmation is true.
	calls []string
}

// misbehavior responds to a request of Fairlead's programs in place of the cluster. It can forward the request to the
// cluster with next.
type misbehavior func(w http.ResponseWriter, r *http.Request, next http.Handler)

// count drops the counted calls and begins to count again.
func (p *proxy) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = nil
}

// counted returns the calls since the last call of count, sorted.
func (p *proxy) counted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(slices.Values(p.calls))
}

func (p *proxy) note(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, r.Method+" "+r.URL.Path)
}

// isConfirmation reports whether the collector inside the manager sent the request to read one object. The collector sends
// such a read if the watch event of a pushed object arrives after the Delivery that records the push. Chance decides
// which of the two arrives first, so the proxies do not count such reads.
func isConfirmation(r *http.Request) bool {
	payload := strings.Split(r.Header.Get("Authorization"), ".")
	if r.Method != http.MethodGet || strings.Contains(r.URL.Path, "/deliveries") || len(payload) != 3 {
		return false
	}
	claims, err := base64.RawURLEncoding.DecodeString(payload[1])
	return err == nil && bytes.Contains(claims, []byte(v1alpha1.SystemNamespace+":"+permissions.CollectorAccount))
}

// newProxy starts a proxy in front of upstream. A call without a token gets upstream's own credentials. The proxy runs until the
// test binary ends, because all tests share one fleet, whose MemberClusters have the proxies' addresses.
func newProxy(t *testing.T, upstream *rest.Config, decide func(*http.Request) proxyVerdict) *proxy {
	t.Helper()
	target, err := url.Parse(upstream.Host)
	if err != nil {
		t.Fatal(err)
	}
	asItself, err := rest.TransportFor(upstream)
	if err != nil {
		t.Fatal(err)
	}
	asCaller, err := rest.TransportFor(&rest.Config{Host: upstream.Host, TLSClientConfig: rest.TLSClientConfig{CAData: upstream.CAData}})
	if err != nil {
		t.Fatal(err)
	}
	onward := httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("Authorization") != "" {
				return asCaller.RoundTrip(r)
			}
			return asItself.RoundTrip(r)
		}),
		FlushInterval: -1, // forward each watch event at once
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p := &proxy{decide: decide}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := p.misbehavior.Load()
		if !isOurs(r) {
			m = nil
		} else if !comesByItself(r) && !isConfirmation(r) {
			p.note(r)
		}
		switch p.decide(r) {
		case lost:
			panic(http.ErrAbortHandler)
		case unanswered:
			onward.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case late:
			later := r.WithContext(context.WithoutCancel(r.Context()))
			heldBack <- func() { onward.ServeHTTP(httptest.NewRecorder(), later) }
			panic(http.ErrAbortHandler)
		case through:
			if m != nil {
				(*m)(w, r, &onward)
				return
			}
			onward.ServeHTTP(w, r)
		}
	}))
	p.server.EnableHTTP2 = true
	p.server.StartTLS()
	return p
}

// config returns a client configuration for the proxy, with the token if it is not empty.
func (p *proxy) config(token string) *rest.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	return &rest.Config{Host: p.server.URL, BearerToken: token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
