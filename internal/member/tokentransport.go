// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// bearer adds the token of a connection to its requests. It reads the token for each request, so a new token takes
// effect while watches continue. It sends the token to the member's address only. It leaves a request alone that
// already has a token.
type bearer struct {
	next http.RoundTripper
	// host is HOST:PORT of the endpoint.
	host  string
	token atomic.Pointer[string]
}

var _ http.RoundTripper = &bearer{}

// newBearer moves the token from a configuration into a bearer.
func newBearer(config *rest.Config) (*bearer, error) {
	to, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	b := &bearer{host: to.Host}
	token := config.BearerToken
	b.token.Store(&token)
	config.BearerToken = ""
	return b, nil
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	token := *b.token.Load()
	if token == "" || req.URL.Host != b.host || req.Header.Get("Authorization") != "" {
		return b.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	return b.next.RoundTrip(req)
}

// WrappedRoundTripper lets client-go find the transport below.
func (b *bearer) WrappedRoundTripper() http.RoundTripper { return b.next }

// collectorBearer adds the token of the collector's account to the requests of a collector inside the manager. The
// requests then go through the connection's own transports, and bearer leaves them alone. If the collector has no
// token, bearer adds the host's token.
type collectorBearer struct {
	next http.RoundTripper
	host string
	// token is "" when there is none.
	token atomic.Pointer[string]
	// refused reports whether the member answered 401 to the last request with the token.
	refused atomic.Bool
}

var _ http.RoundTripper = &collectorBearer{}

// RoundTrip implements http.RoundTripper.
func (b *collectorBearer) RoundTrip(req *http.Request) (*http.Response, error) {
	token := b.token.Load()
	if *token == "" || req.URL.Host != b.host {
		return b.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+*token)
	resp, err := b.next.RoundTrip(req)
	if err == nil && b.token.Load() == token { // an answer to an earlier token says nothing about this one
		b.refused.Store(resp.StatusCode == http.StatusUnauthorized)
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (b *collectorBearer) WrappedRoundTripper() http.RoundTripper { return b.next }

// CollectorHTTPClient returns the HTTP client for a collector inside the manager. It shares the connection's transport,
// bounds and limits. It authenticates as the collector's account (see SetCollectorToken).
func (c *Conn) CollectorHTTPClient() *http.Client {
	client := *c.http
	client.Transport = c.collector
	return &client
}

// SetCollectorToken sets the token of the collector's requests from now on. With "", they carry the host's token.
func (c *Conn) SetCollectorToken(token string) {
	if !c.CollectorUses(token) {
		c.collector.token.Store(&token)
		c.collector.refused.Store(false)
	}
}

// CollectorUses reports whether the collector's requests carry this token.
func (c *Conn) CollectorUses(token string) bool { return *c.collector.token.Load() == token }

// Uses reports whether the connection's requests carry this token.
func (c *Conn) Uses(token string) bool { return *c.bearer.token.Load() == token }

// Accepts reads the member's Membership with another token than the connection's, to try that token. The error is that
// of Do.
func (c *Conn) Accepts(ctx context.Context, token string) error {
	req := c.rest.Get().AbsPath(Path(v1alpha1.GroupVersion.WithResource("memberships"), "", v1alpha1.MembershipName)...)
	if _, err := Do(ctx, req.SetHeader("Authorization", "Bearer "+token), true); err != nil {
		return fmt.Errorf("trying a new token on member %s: %w", c.name, err)
	}
	return nil
}
