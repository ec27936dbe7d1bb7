// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Scheme has the Go types of the kinds that Fairlead itself reads and writes at the host, and of the kinds that are part of
// Kubernetes. Connections to members decode with fewer kinds: see answers.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// answers has the kinds of Scheme except those whose Go type contains a resource.Quantity. All clients of a member decode
// with it. To parse a Quantity such as 1e-2000000000 takes minutes and hundreds of MiB, and no context ends it
// (k8s.io/apimachinery v0.36.3, resource.ParseQuantity). The clients decode the kind that an answer names, not the kind
// that the manager asked for, and they also decode the body of an error. So Scheme would let a member choose such a kind.
var answers = withoutQuantities(Scheme)

func withoutQuantities(all *runtime.Scheme) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, gv := range all.PrioritizedVersionsAllGroups() {
		metav1.AddToGroupVersion(scheme, gv)
	}
	for gvk, t := range all.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || hasQuantity(t, map[reflect.Type]bool{}) {
			continue
		}
		scheme.AddKnownTypeWithName(gvk, reflect.New(t).Interface().(runtime.Object))
	}
	return scheme
}

var quantity = reflect.TypeFor[resource.Quantity]()

// hasQuantity reports whether a value of the type can contain a resource.Quantity. seen has the types that hasQuantity
// has already visited. Without seen, hasQuantity would not end for a type that contains itself.
func hasQuantity(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == quantity || seen[t] {
		return t == quantity
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return hasQuantity(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if hasQuantity(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

var _ cluster.Cluster = &Conn{}

// GetHTTPClient implements cluster.Cluster.
func (c *Conn) GetHTTPClient() *http.Client { return c.http }

// GetConfig implements cluster.Cluster.
func (c *Conn) GetConfig() *rest.Config { return c.config }

// GetScheme implements cluster.Cluster. The scheme has no kind whose Go type contains a resource.Quantity.
func (c *Conn) GetScheme() *runtime.Scheme { return answers }

// GetRESTMapper implements cluster.Cluster.
func (c *Conn) GetRESTMapper() meta.RESTMapper { return restMapper{c.mapper} }

// GetClient implements cluster.Cluster. The client reads from the API server, never from a cache. It refuses kinds whose Go
// type contains a resource.Quantity, for example Pod; read these as metadata or unstructured.
func (c *Conn) GetClient() client.Client {
	cl, err := client.New(c.config, client.Options{HTTPClient: c.http, Scheme: answers, Mapper: restMapper{c.mapper}})
	if err != nil {
		// Connect has accepted the same configuration, so client.New cannot refuse it.
		panic("member " + c.name + ": " + err.Error())
	}
	return cl
}

// GetAPIReader implements cluster.Cluster.
func (c *Conn) GetAPIReader() client.Reader { return c.GetClient() }

// GetCache implements cluster.Cluster. A Conn has no cache, so every read from the result returns errNoCache.
func (c *Conn) GetCache() cache.Cache { return noCache{} }

// GetFieldIndexer implements cluster.Cluster. Without a cache there is nothing to index.
func (c *Conn) GetFieldIndexer() client.FieldIndexer { return noCache{} }

// GetEventRecorderFor implements cluster.Cluster. Fairlead makes no events on members.
func (c *Conn) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// GetEventRecorder implements cluster.Cluster. Fairlead makes no events on members.
func (c *Conn) GetEventRecorder(string) events.EventRecorder { return &events.FakeRecorder{} }

// Start implements cluster.Cluster. A connection has nothing to run, so Start waits until ctx ends and then closes idle
// connections.
func (c *Conn) Start(ctx context.Context) error {
	<-ctx.Done()
	c.http.CloseIdleConnections()
	return nil
}

var errNoCache = errors.New("a connection to a member has no cache: read through GetAPIReader, or start a watch")

type noCache struct{}

func (noCache) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errNoCache
}
func (noCache) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errNoCache
}
func (noCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return nil, errNoCache
}
func (noCache) GetInformerForKind(context.Context, schema.GroupVersionKind, ...cache.InformerGetOption) (cache.Informer, error) {
	return nil, errNoCache
}
func (noCache) RemoveInformer(context.Context, client.Object) error { return nil }
func (noCache) Start(ctx context.Context) error                     { <-ctx.Done(); return nil }
func (noCache) WaitForCacheSync(context.Context) bool               { return true }
func (noCache) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return errNoCache
}
