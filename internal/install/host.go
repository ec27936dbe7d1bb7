// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/redirect"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// FieldManager is the name under which objects are applied.
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

// connection reaches one cluster.
type connection struct {
	client.Client
	discovery discovery.ServerVersionInterface
	endpoint  string
}

func connect(cfg *rest.Config) (connection, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(redirect.Refuse)
	if cfg.Timeout == 0 {
		cfg.Timeout = requestTimeout
	}
	cfg.QPS = -1 // a few hundred requests; the API server's own limits hold
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
	return connection{Client: c, discovery: d, endpoint: cfg.Host}, nil
}
