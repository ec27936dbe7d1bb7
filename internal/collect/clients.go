// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/inflight"
	"github.com/fairlead-dev/fairlead/internal/redirect"
)

// requestTime is how long a request may take that is not a watch.
const requestTime = 15 * time.Second

var (
	deliveriesGVR  = v1alpha1.GroupVersion.WithResource("deliveries")
	membershipsGVR = v1alpha1.GroupVersion.WithResource("memberships")
)

// clients are the ways to the member; they share one transport.
type clients struct {
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery *discovery.DiscoveryClient
	there     *dates
}

func newClients(config *rest.Config, httpClient *http.Client, clk clock.PassiveClock, limit *inflight.Limit) (clients, error) {
	config = rest.CopyConfig(config)
	// A watch lasts; what must not last carries a deadline of its own.
	config.Timeout = 0
	if config.QPS == 0 {
		config.QPS = -1 // how much is under way at once is what is limited, see inflight.Limit
	}
	if httpClient == nil {
		var err error
		if httpClient, err = rest.HTTPClientFor(config); err != nil {
			return clients{}, fmt.Errorf("making the transport: %w", err)
		}
	}
	// The manager's connection may have a deadline for every request, which would end every watch.
	lasting := *httpClient
	lasting.Timeout = 0
	if lasting.Transport == nil { // client-go's word for the default one
		lasting.Transport = http.DefaultTransport
	}
	there := &dates{next: redirect.Refuse(lasting.Transport), clock: clk, limit: limit}
	lasting.Transport = there
	httpClient = &lasting
	objects, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return clients{}, fmt.Errorf("making the client for objects: %w", err)
	}
	meta, err := metadata.NewForConfigAndClient(metadata.ConfigFor(config), httpClient)
	if err != nil {
		return clients{}, fmt.Errorf("making the client for metadata: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return clients{}, fmt.Errorf("making the client for discovery: %w", err)
	}
	return clients{dynamic: objects, metadata: meta, discovery: kinds, there: there}, nil
}

// metadataSource lists and watches the metadata of one kind, of those that selector selects.
func (c *clients) metadataSource(gvr schema.GroupVersionResource, selector string) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = selector
			list, err := c.metadata.Resource(gvr).List(ctx, o)
			return list, named("listing", gvr, err)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			w, err := c.metadata.Resource(gvr).Watch(ctx, o)
			return w, named("watching", gvr, err)
		},
	}
}

// objectSource lists and watches whole objects of one kind.
func (c *clients) objectSource(gvr schema.GroupVersionResource, namespace string) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := c.dynamic.Resource(gvr).Namespace(namespace).List(ctx, o)
			return list, named("listing", gvr, err)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := c.dynamic.Resource(gvr).Namespace(namespace).Watch(ctx, o)
			return w, named("watching", gvr, err)
		},
	}
}

func (c *clients) readMetadata(
	ctx context.Context, gvr schema.GroupVersionResource, namespace, name string,
) (*metav1.PartialObjectMetadata, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	obj, err := c.metadata.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of %s %s: %w", gvr.Resource, name, err)
	}
	return obj, nil
}

func (c *clients) read(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	obj, err := c.dynamic.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", gvr.Resource, name, err)
	}
	return obj, nil
}

func named(doing string, gvr schema.GroupVersionResource, err error) error {
	if err == nil {
		return nil
	}
	// The reflector looks at the cause, which %w leaves in sight.
	return fmt.Errorf("%s %s: %w", doing, gvr.GroupResource(), err)
}

// errNotServed is the cause of errors about kinds that the member does not serve.
var errNotServed = errors.New("the member does not serve this kind")

// isNotServed says whether listing failed because there is no such kind. A list answers 404 for no other
// reason.
func isNotServed(err error) bool {
	return errors.Is(err, errNotServed) || apierrors.IsNotFound(err)
}
