// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/clockskew"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
)

// FieldManager is the field manager of the installation's server-side applies.
const FieldManager = "hostctl-init"

// pollEvery is the time between two reads while an installation waits.
const pollEvery = 500 * time.Millisecond

// connection has the clients for one cluster.
type connection struct {
	client.Client
	discovery discovery.ServerVersionInterface
	endpoint  string
	// skew is how far the clock of the cluster's API server is ahead of this machine's clock.
	skew *clockskew.Estimate
}

// now returns the time by the clock of the cluster's API server. Before the first response it returns the time by this
// machine's clock.
func (c connection) now() time.Time { return time.Now().Add(c.skew.Ahead()) }

// dated is a transport that measures with every response how far the clock of the API server is ahead of this machine's
// clock.
type dated struct {
	next http.RoundTripper
	skew *clockskew.Estimate
}

// RoundTrip implements http.RoundTripper.
func (d dated) RoundTrip(req *http.Request) (*http.Response, error) {
	asked := time.Now()
	resp, err := d.next.RoundTrip(req)
	if err == nil {
		d.skew.Observe(resp.Header, asked, time.Now())
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (d dated) WrappedRoundTripper() http.RoundTripper { return d.next }

func connect(cfg *rest.Config) (connection, error) {
	cfg = cluster.Bounded(cfg)
	skew := &clockskew.Estimate{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return dated{next, skew} })
	cfg.QPS = -1 // turns off client-go's own limit: an installation sends a few hundred requests, and the API server limits them itself
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return connection{}, fmt.Errorf("connecting to the host at %s: %w", cfg.Host, err)
	}
	c, err := client.New(cfg, client.Options{Scheme: cluster.Scheme})
	if err != nil {
		return connection{}, fmt.Errorf("connecting to the host at %s: %w", cfg.Host, err)
	}
	return connection{Client: c, discovery: d, endpoint: cfg.Host, skew: skew}, nil
}
