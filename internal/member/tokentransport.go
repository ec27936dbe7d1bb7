// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// bearer adds the token of a connection to its requests. It reads the token again for each request, so a new token
// takes effect without a new connection, and watches continue. It adds the token only to a request to the member's
// address, and only if the request has no Authorization header.
type bearer struct {
	next http.RoundTripper
	// host is HOST:PORT of the endpoint.
	host  string
	token atomic.Pointer[string]
}

var _ http.RoundTripper = &bearer{}

// newBearer makes a bearer with the token of a configuration, and removes the token from that configuration.
func newBearer(config *rest.Config) (*bearer, error) {
	to, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	b := &bearer{host: to.Host}
	b.replace(config.BearerToken)
	config.BearerToken = ""
	return b, nil
}

// uses reports whether the requests use this token.
func (b *bearer) uses(token string) bool { return *b.token.Load() == token }

// replace sets the token for all further requests.
func (b *bearer) replace(token string) { b.token.Store(&token) }

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

// WrappedRoundTripper lets client-go find the wrapped transport.
func (b *bearer) WrappedRoundTripper() http.RoundTripper { return b.next }

// collectorBearer adds the token of the collector's account to the requests of a collector inside the manager, and
// passes them to the other transports of the connection. bearer leaves these requests unchanged, because they already
// have an Authorization header. If the collector has no token, bearer adds the host's token.
type collectorBearer struct {
	next http.RoundTripper
	host string
	// token is "" if the collector has no token of its own.
	token atomic.Pointer[string]
	// refused reports whether the member answered 401 to the last request with the token.
	refused atomic.Bool
	// forbidden reports whether the member answered 403 to the last heartbeat with the token.
	forbidden atomic.Bool
}

var _ http.RoundTripper = &collectorBearer{}

// newCollectorBearer makes a collectorBearer without a token. host is HOST:PORT of the endpoint.
func newCollectorBearer(next http.RoundTripper, host string) *collectorBearer {
	b := &collectorBearer{next: next, host: host}
	b.token.Store(new(string))
	return b
}

// uses reports whether the collector's requests use this token.
func (b *collectorBearer) uses(token string) bool { return *b.token.Load() == token }

// replace sets the token for all further requests of the collector, and forgets what the member answered to the old one.
func (b *collectorBearer) replace(token string) {
	if !b.uses(token) {
		b.token.Store(&token)
		b.refused.Store(false)
		b.forbidden.Store(false)
	}
}

// RoundTrip implements http.RoundTripper.
func (b *collectorBearer) RoundTrip(req *http.Request) (*http.Response, error) {
	token := b.token.Load()
	if *token == "" || req.URL.Host != b.host {
		return b.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+*token)
	resp, err := b.next.RoundTrip(req)
	if err == nil && b.token.Load() == token { // the token may have been replaced during the request; then the answer is not about the new token
		b.refused.Store(resp.StatusCode == http.StatusUnauthorized)
		b.noteHeartbeat(req, resp.StatusCode)
	}
	return resp, err
}

// noteHeartbeat sets forbidden from the answer to a request for the Membership. A collector that may read the Membership
// may still be forbidden to write it, so only a write clears forbidden.
func (b *collectorBearer) noteHeartbeat(req *http.Request, status int) {
	if !strings.Contains(req.URL.Path, "/memberships/"+v1alpha1.MembershipName) {
		return
	}
	if status == http.StatusForbidden {
		b.forbidden.Store(true)
	} else if req.Method != http.MethodGet {
		b.forbidden.Store(false)
	}
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (b *collectorBearer) WrappedRoundTripper() http.RoundTripper { return b.next }

// CollectorHTTPClient returns the HTTP client for a collector inside the manager. It shares the connection's transport,
// with its bounds and limits, but authenticates as the collector's account (see SetCollectorToken).
func (c *Conn) CollectorHTTPClient() *http.Client {
	client := *c.http
	client.Transport = c.collector
	return &client
}

// SetCollectorToken sets the token for all further requests of the collector. If token is "", they use the host's token.
func (c *Conn) SetCollectorToken(token string) { c.collector.replace(token) }

// CollectorUses reports whether the collector's requests use this token.
func (c *Conn) CollectorUses(token string) bool { return c.collector.uses(token) }

// Uses reports whether the connection's requests use this token.
func (c *Conn) Uses(token string) bool { return c.bearer.uses(token) }

// Accepts tries a token: it reads the member's Membership with that token instead of the connection's token. It returns
// nil if the member accepts the token. In all other cases it returns the error of Do.
func (c *Conn) Accepts(ctx context.Context, token string) error {
	req := c.rest.Get().AbsPath(Path(v1alpha1.GroupVersion.WithResource("memberships"), "", v1alpha1.MembershipName)...)
	if _, err := Do(ctx, req.SetHeader("Authorization", "Bearer "+token), true); err != nil {
		return fmt.Errorf("trying a new token on member %s: %w", c.name, err)
	}
	return nil
}
