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

// bearer puts the token of a connection on its requests. It reads the token for each request, so that another takes its place
// while watches go on. It sends the token to the member's address alone, and leaves a request as it is that brings its own.
type bearer struct {
	next http.RoundTripper
	// host is HOST:PORT of the endpoint.
	host  string
	token atomic.Pointer[string]
}

var _ http.RoundTripper = &bearer{}

// newBearer takes the token out of a configuration.
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

// Uses says whether the connection's requests bring this token.
func (c *Conn) Uses(token string) bool { return *c.bearer.token.Load() == token }

// Accepts asks the member for its Membership with another token than the connection's. The error is that of Do.
func (c *Conn) Accepts(ctx context.Context, token string) error {
	req := c.rest.Get().AbsPath(Path(v1alpha1.GroupVersion.WithResource("memberships"), "", v1alpha1.MembershipName)...)
	if _, err := Do(ctx, req.SetHeader("Authorization", "Bearer "+token), true); err != nil {
		return fmt.Errorf("trying a new token on member %s: %w", c.name, err)
	}
	return nil
}
