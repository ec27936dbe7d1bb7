// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
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

// Scheme knows the kinds that Fairlead itself reads and writes, on host and members. All connections
// share it.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

var _ cluster.Cluster = &Conn{}

// GetHTTPClient implements cluster.Cluster.
func (c *Conn) GetHTTPClient() *http.Client { return c.http }

// GetConfig implements cluster.Cluster.
func (c *Conn) GetConfig() *rest.Config { return c.config }

// GetScheme implements cluster.Cluster.
func (c *Conn) GetScheme() *runtime.Scheme { return Scheme }

// GetRESTMapper implements cluster.Cluster.
func (c *Conn) GetRESTMapper() meta.RESTMapper { return restMapper{c.mapper} }

// GetClient implements cluster.Cluster. The client reads from the API server, never from a cache.
func (c *Conn) GetClient() client.Client {
	cl, err := client.New(c.config, client.Options{HTTPClient: c.http, Scheme: Scheme, Mapper: restMapper{c.mapper}})
	if err != nil {
		// Connect has accepted the same configuration, so client.New cannot refuse it.
		panic("member " + c.name + ": " + err.Error())
	}
	return cl
}

// GetAPIReader implements cluster.Cluster.
func (c *Conn) GetAPIReader() client.Reader { return c.GetClient() }

// GetCache implements cluster.Cluster. There is no cache, and every read from it returns an error that says so.
func (c *Conn) GetCache() cache.Cache { return noCache{} }

// GetFieldIndexer implements cluster.Cluster. Without a cache there is nothing to index.
func (c *Conn) GetFieldIndexer() client.FieldIndexer { return noCache{} }

// GetEventRecorderFor implements cluster.Cluster. Fairlead makes no events on members.
func (c *Conn) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// GetEventRecorder implements cluster.Cluster. Fairlead makes no events on members.
func (c *Conn) GetEventRecorder(string) events.EventRecorder { return &events.FakeRecorder{} }

// Start implements cluster.Cluster. A connection has nothing to run; it lives as long as ctx.
func (c *Conn) Start(ctx context.Context) error {
	<-ctx.Done()
	c.http.CloseIdleConnections()
	return nil
}

var errNoCache = errors.New("a member connection has no cache: read through GetAPIReader, or watch what you need")

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
