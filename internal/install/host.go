// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"net/http"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/clockskew"
	"github.com/fairlead-dev/fairlead/internal/redirect"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// FieldManager is the field manager of the installation's server-side applies.
const FieldManager = "hostctl-init"

// requestTimeout bounds each request, so that an installation does not wait for a cluster that hangs.
const requestTimeout = 20 * time.Second

// pollEvery is the time between two reads while an installation waits.
const pollEvery = 500 * time.Millisecond

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}()

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
	cfg = rest.CopyConfig(cfg)
	skew := &clockskew.Estimate{}
	cfg.Wrap(redirect.Refuse)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return dated{next, skew} })
	if cfg.Timeout == 0 {
		cfg.Timeout = requestTimeout
	}
	cfg.QPS = -1 // turns off client-go's own limit: an installation sends a few hundred requests, and the API server limits them itself
	cfg.WarningHandler = rest.NoWarnings{}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "hostctl/" + version.String()
	}
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return connection{}, fmt.Errorf("connecting to the host at %s: %w", cfg.Host, err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return connection{}, fmt.Errorf("connecting to the host at %s: %w", cfg.Host, err)
	}
	return connection{Client: c, discovery: d, endpoint: cfg.Host, skew: skew}, nil
}
