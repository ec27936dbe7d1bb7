// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// noted is a member's API server that records the last token of each path. It keeps a watch open until the test closes
// the channel over.
type noted struct {
	*apiServer
	mu     sync.Mutex
	tokens map[string]string
	over   chan struct{}
}

func newNoted(t *testing.T) *noted {
	t.Helper()
	s := &noted{apiServer: newAPIServer(t), tokens: map[string]string{}, over: make(chan struct{})}
	answer := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.mu.Lock()
		s.tokens[req.URL.Path] = req.Header.Get("Authorization")
		s.mu.Unlock()
		if !req.URL.Query().Has("watch") {
			answer.ServeHTTP(w, req)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		select {
		case <-s.over:
		case <-req.Context().Done():
		}
	})
	t.Cleanup(func() { close(s.over) })
	return s
}

func (s *noted) token(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens[path]
}

func TestARenewedTokenReplacesTheOldOneWhileWatchesContinue(t *testing.T) {
	s := newNoted(t)
	r := newRunning(t)
	if err := r.Connect(t.Context(), "east", s.config("first"), ""); err != nil {
		t.Fatal(err)
	}
	<-r.probes
	conn := r.Conn("east")
	watch, err := conn.REST().Get().AbsPath("/api/v1/configmaps").Param("watch", "true").Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watch.Close() }()
	ended := make(chan error, 1)
	go func() { _, err := watch.Read(make([]byte, 1)); ended <- err }()

	if err := r.Connect(t.Context(), "east", s.config("second"), ""); err != nil {
		t.Fatal(err)
	}
	if r.Conn("east") != conn || len(r.crew.engagements()) != 1 {
		t.Error("the connection was replaced, and every watch with it")
	}
	if !conn.Uses("second") || conn.Uses("first") {
		t.Error("it uses the old token")
	}
	<-r.probes // a new token makes the fleet probe at once, to see whether the member accepts it
	if got := s.token(membershipPath); got != "Bearer second" {
		t.Errorf("the probe came with %q", got)
	}
	select {
	case err := <-ended:
		t.Errorf("the watch ended: %v", err)
	default:
	}
}

// A member that refuses a token may end the watches that use it, or leave them open without events. Only a new
// connection makes all watches begin again.
func TestATokenThatReplacesARefusedOneNeedsANewConnection(t *testing.T) {
	s := newNoted(t)
	s.says(membershipPath, apierrors.NewUnauthorized("no"))
	r := newRunning(t)
	if err := r.Connect(t.Context(), "east", s.config("first"), ""); err != nil {
		t.Fatal(err)
	}
	<-r.probes
	conn := r.Conn("east")
	if err := r.Connect(t.Context(), "east", s.config("second"), ""); err != nil {
		t.Fatal(err)
	}
	if r.Conn("east") == conn {
		t.Error("the connection is the old one")
	}
}

func TestTheTokenIsSentOnlyToTheMember(t *testing.T) {
	s, other := newNoted(t), newNoted(t)
	conn := connected(t, s.config("mine"))
	for name, tc := range map[string]struct {
		url, header, want string
		to                *noted
	}{
		"to the member":                    {url: s.URL, to: s, want: "Bearer mine"},
		"to another address":               {url: other.URL, to: other},
		"a request that brings its own":    {url: s.URL, to: s, header: "Bearer theirs", want: "Bearer theirs"},
		"to another address with its own ": {url: other.URL, to: other, header: "Bearer theirs", want: "Bearer theirs"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, tc.url+"/version", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if tc.header != "" {
				req.Header.Set("Authorization", tc.header)
			}
			resp, err := conn.GetHTTPClient().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if diff := cmp.Diff(tc.want, tc.to.token("/version")); diff != "" {
				t.Error(diff)
			}
		})
	}
	if conn.GetConfig().BearerToken != "" {
		t.Error("the configuration holds the token, which would outlive it there")
	}
	if err := conn.Accepts(t.Context(), "next"); err != nil || s.token(membershipPath) != "Bearer next" {
		t.Errorf("another token was not tried: %v, %s", err, s.token(membershipPath))
	}
}

// The manager and its collector share a transport and use two tokens, so that the member's audit log shows which of the
// two sent a request.
func TestTheCollectorInsideTheManagerUsesItsOwnAccount(t *testing.T) {
	s, other := newNoted(t), newNoted(t)
	conn := connected(t, s.config("hosts"))
	collector := conn.CollectorHTTPClient()
	bearerOf := func(client *http.Client, to *noted) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to.URL+"/version", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return to.token("/version")
	}
	for _, step := range []struct{ name, token, want string }{
		{"while the member gave the collector no token, as the host", "", "Bearer hosts"},
		{"with its first token", "first", "Bearer first"},
		{"with its second, by the same client", "second", "Bearer second"},
	} {
		conn.SetCollectorToken(step.token)
		if diff := cmp.Diff(step.want, bearerOf(collector, s)); diff != "" || !conn.CollectorUses(step.token) {
			t.Errorf("%s: %s", step.name, diff)
		}
		if diff := cmp.Diff("Bearer hosts", bearerOf(conn.GetHTTPClient(), s)); diff != "" {
			t.Errorf("%s: the host's own requests: %s", step.name, diff)
		}
	}
	if got := bearerOf(collector, other); got != "" {
		t.Errorf("another address gets %q", got)
	}
}

// The member can allow a collector to read its Membership, and forbid it to write the Membership. So the probe reports
// the refusal until the member accepts a write.
func TestAProbeReportsThatTheCollectorsHeartbeatIsForbidden(t *testing.T) {
	s := newAPIServer(t)
	conn := connected(t, s.config("hosts"))
	conn.SetCollectorToken("collectors")
	const heartbeat = membershipPath + "/status"
	for _, step := range []struct {
		method, path string
		answer       any
		want         bool
	}{
		{http.MethodPatch, heartbeat, apierrors.NewForbidden(schema.GroupResource{}, "self", nil), true},
		{http.MethodGet, membershipPath, membership("host-uid", "east"), true},
		{http.MethodGet, "/api/v1/nodes", kubeSystem("any"), true},
		{http.MethodPatch, heartbeat, membership("host-uid", "east"), false},
		{http.MethodGet, "/api/v1/nodes", apierrors.NewForbidden(schema.GroupResource{}, "", nil), false},
	} {
		s.says(step.path, step.answer)
		req, err := http.NewRequestWithContext(t.Context(), step.method, s.URL+step.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := conn.CollectorHTTPClient().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if is := conn.prober.probe(t.Context(), thisHost, ProbeResult{}, now); is.CollectorForbidden != step.want || !is.Usable() {
			t.Errorf("after %s %s: %+v", step.method, step.path, is)
		}
	}
}

func TestAProbeReportsThatTheCollectorsTokenIsRefused(t *testing.T) {
	s := newNoted(t)
	r := newRunning(t)
	if err := r.Connect(t.Context(), "east", s.config("hosts"), ""); err != nil {
		t.Fatal(err)
	}
	<-r.probes
	conn := r.Conn("east")
	conn.SetCollectorToken("gone")
	collect := func() {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v1/nodes", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := conn.CollectorHTTPClient().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	for _, step := range []struct {
		answer  *apierrors.StatusError
		refused bool
	}{{apierrors.NewUnauthorized("no"), true}, {apierrors.NewNotFound(schema.GroupResource{}, ""), false}} {
		s.says("/api/v1/nodes", step.answer)
		collect()
		r.ProbeNow("east")
		if p := <-r.probes; p.is.CollectorRefused != step.refused || p.was.Same(p.is) || !p.is.Usable() {
			t.Errorf("after %v: %+v", step.answer, p.is)
		}
	}
}
