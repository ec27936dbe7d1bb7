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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/inflight"
	"github.com/fairlead-dev/fairlead/internal/redirect"
)

// RequestTimeout is how long a request other than a watch may take.
const RequestTimeout = 15 * time.Second

// Client sends the collector's requests to one member. Dynamic, Metadata and Discovery share one transport.
type Client struct {
	Dynamic   dynamic.Interface
	Metadata  metadata.Interface
	Discovery rest.Interface

	mapper    meta.RESTMapper
	transport *transport
}

// New makes a Client. If httpClient is set, it sends the requests; otherwise New makes an HTTP client from config. If
// mapper is set, it answers VersionOf. limit learns from every answer.
func New(
	config *rest.Config, httpClient *http.Client, mapper meta.RESTMapper, clk clock.PassiveClock, limit *inflight.Limit,
) (*Client, error) {
	config = rest.CopyConfig(config)
	// This client has no timeout, because a watch may last. Each other request sets its own deadline.
	config.Timeout = 0
	if config.QPS == 0 {
		config.QPS = -1 // inflight.Limit bounds the concurrent requests instead
	}
	if httpClient == nil {
		var err error
		if httpClient, err = rest.HTTPClientFor(config); err != nil {
			return nil, fmt.Errorf("making the transport: %w", err)
		}
	}
	// The manager's connection may have a deadline for every request, which would end every watch.
	lasting := *httpClient
	lasting.Timeout = 0
	if lasting.Transport == nil { // for client-go, nil is the default transport
		lasting.Transport = http.DefaultTransport
	}
	measured := &transport{next: redirect.Refuse(lasting.Transport), clock: clk, limit: limit}
	lasting.Transport = measured
	httpClient = &lasting
	objects, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making the client for objects: %w", err)
	}
	about, err := metadata.NewForConfigAndClient(metadata.ConfigFor(config), httpClient)
	if err != nil {
		return nil, fmt.Errorf("making the client for metadata: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making the client for discovery: %w", err)
	}
	return &Client{Dynamic: objects, Metadata: about, Discovery: kinds.RESTClient(), mapper: mapper, transport: measured}, nil
}

// Now returns the time of the member's clock.
func (c *Client) Now() time.Time { return c.transport.now() }

// MetadataSource lists and watches the metadata of the objects of one kind that selector selects.
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

// ObjectSource lists and watches whole objects of one kind.
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
	// The reflector inspects the cause of the error, so wrap it.
	return fmt.Errorf("%s %s: %w", doing, gvr.GroupResource(), err)
}
