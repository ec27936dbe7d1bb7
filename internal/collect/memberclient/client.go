// SPDX-License-Identifier: Apache-2.0

package memberclient

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/inflight"
	"github.com/fairlead-dev/fairlead/internal/redirect"
)

// RequestTimeout is how long each request may take, except a watch.
const RequestTimeout = 15 * time.Second

// Client sends the collector's requests to one member. Dynamic, Metadata and Discovery share one transport.
type Client struct {
	Dynamic   dynamic.Interface
	Metadata  metadata.Interface
	Discovery rest.Interface

	mapper    meta.RESTMapper
	transport *transport
}

// discoveryCodecs knows the kinds of discovery documents and Status, and no other kind. client-go's discovery client knows
// all kinds of Kubernetes, and decodes the kind that the answer names. The member could then name a Pod, with a quantity
// that takes minutes to parse.
var discoveryCodecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	return serializer.NewCodecFactory(scheme)
}()

// New makes a Client. If httpClient is nil, New makes one from config. If mapper is not nil, VersionOf asks it before it asks the member.
// The Client reports the answers and the failures of requests to the inflight.Limit, which decides how many Deliveries the collector may
// check at the same time.
func New(
	config *rest.Config, httpClient *http.Client, mapper meta.RESTMapper, clk clock.PassiveClock, limit *inflight.Limit,
) (*Client, error) {
	config = rest.CopyConfig(config)
	// The client itself has no timeout, because a timeout would end every watch. All other requests get a deadline of
	// their own.
	config.Timeout = 0
	if config.QPS == 0 {
		config.QPS = -1 // no rate limit in the client: inflight.Limit limits the concurrent passes
	}
	if httpClient == nil {
		var err error
		if httpClient, err = rest.HTTPClientFor(config); err != nil {
			return nil, fmt.Errorf("making the HTTP client for the member: %w", err)
		}
	}
	// httpClient may have a timeout for every request, which would end every watch. So the Client uses a copy without a
	// timeout.
	lasting := *httpClient
	lasting.Timeout = 0
	if lasting.Transport == nil { // client-go takes nil for the default transport
		lasting.Transport = http.DefaultTransport
	}
	measured := &transport{next: redirect.Refuse(lasting.Transport), clock: clk, limit: limit}
	lasting.Transport = measured
	httpClient = &lasting
	objects, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making the collector's client for objects: %w", err)
	}
	about, err := metadata.NewForConfigAndClient(metadata.ConfigFor(config), httpClient)
	if err != nil {
		return nil, fmt.Errorf("making the collector's client for metadata: %w", err)
	}
	plain := rest.CopyConfig(config)
	plain.NegotiatedSerializer = discoveryCodecs.WithoutConversion()
	kinds, err := rest.UnversionedRESTClientForConfigAndClient(plain, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making the collector's client for discovery: %w", err)
	}
	return &Client{Dynamic: objects, Metadata: about, Discovery: kinds, mapper: mapper, transport: measured}, nil
}

// Now returns the present time by the member's clock, as estimated from its answers.
func (c *Client) Now() time.Time { return c.transport.now() }

// MetadataSource returns a list-and-watch on the metadata of all objects of a resource that match the label selector;
// "" selects all objects.
func (c *Client) MetadataSource(gvr schema.GroupVersionResource, selector string) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = selector
			list, err := c.Metadata.Resource(gvr).List(ctx, o)
			return list, named("listing", gvr, err)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			w, err := c.Metadata.Resource(gvr).Watch(ctx, o)
			return w, named("watching", gvr, err)
		},
	}
}

// ObjectSource returns a list-and-watch on the whole objects of a resource in a namespace; "" means all namespaces.
func (c *Client) ObjectSource(gvr schema.GroupVersionResource, namespace string) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := c.Dynamic.Resource(gvr).Namespace(namespace).List(ctx, o)
			return list, named("listing", gvr, err)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := c.Dynamic.Resource(gvr).Namespace(namespace).Watch(ctx, o)
			return w, named("watching", gvr, err)
		},
	}
}

// ReadMetadata reads the metadata of one object.
func (c *Client) ReadMetadata(
	ctx context.Context, gvr schema.GroupVersionResource, namespace, name string,
) (*metav1.PartialObjectMetadata, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	obj, err := c.Metadata.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of %s %s: %w", gvr.Resource, name, err)
	}
	return obj, nil
}

// Read reads one object.
func (c *Client) Read(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	obj, err := c.Dynamic.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", gvr.Resource, name, err)
	}
	return obj, nil
}

func named(doing string, gvr schema.GroupVersionResource, err error) error {
	if err == nil {
		return nil
	}
	// %w keeps the cause, which the reflector inspects.
	return fmt.Errorf("%s %s: %w", doing, gvr.GroupResource(), err)
}
