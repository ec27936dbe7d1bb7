// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/boundedwatch"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// askAgain is the time after which the collector reads the discovery of the group of a resource that the member has just ceased to serve.
const askAgain = 5 * time.Second

// objects watches the objects that Deliveries list, one watch for each resource, and keeps a record of each object.
type objects struct {
	client         *memberclient.Client
	cache          *objectcache.Cache
	looks          *lookQueue
	watchesChanged chan struct{}
	// groups holds the API groups whose discovery the collector has to read.
	groups queue
}

// watch watches the objects of one resource that carry Fairlead's label, in all namespaces.
func (o *objects) watch(r *objectcache.Resource) *boundedwatch.Watch {
	changed := func(key types.NamespacedName) {
		o.looks.addListing(deliveryindex.Ref{GroupResource: r.GroupResource, NamespacedName: key})
	}
	return &boundedwatch.Watch{
		Name:    "objects/" + r.GroupResource.String(),
		Kick:    r.Kick,
		Awaited: true,
		Open: func(ctx context.Context) (cache.ListerWatcher, runtime.Object, error) {
			gvr, err := o.client.VersionOf(ctx, r.GroupResource, !r.IsDoubted())
			if err != nil {
				return nil, nil, err
			}
			r.SetVersion(gvr)
			return o.client.MetadataSource(gvr, v1alpha1.LabelUID), &objectcache.Trimmed{}, nil
		},
		Trim: objectcache.TrimOf(r.GroupResource),
		Put: func(obj any) {
			if t := obj.(*objectcache.Trimmed); r.Put(t.Key(), t.Record) {
				changed(t.Key())
			}
		},
		Drop: func(obj any) {
			if t := obj.(*objectcache.Trimmed); r.Drop(t.Key(), t.ResourceVersion) {
				changed(t.Key())
			}
		},
		Replace: func(objs []any, resourceVersion string) {
			list := make(map[types.NamespacedName]objectcache.Record, len(objs))
			for _, obj := range objs {
				t := obj.(*objectcache.Trimmed)
				list[t.Key()] = t.Record
			}
			r.Replace(list, resourceVersion)
			o.looks.addUsing(r.GroupResource)
		},
		Lost: func(err error) { o.lose(r, err) },
	}
}

// lose records why the collector cannot list a resource: its role forbids it, or the member does not serve the
// resource. After any other error, such as an outage, the records stay as they are.
func (o *objects) lose(r *objectcache.Resource, err error) {
	switch {
	case apierrors.IsForbidden(err):
		if !r.MarkForbidden() {
			return
		}
	case boundedwatch.IsNotServed(err):
		wasUnserved := r.IsUnserved()
		if !r.MarkNotServed() {
			boundedwatch.Signal(r.Kick) // the watch then asks the member for the version at once
			return
		}
		boundedwatch.Signal(o.watchesChanged)
		if !wasUnserved {
			// The resource may belong to a CRD that has just been created. The last event of that CRD can come before the API server
			// serves it, so do not wait for another event. The pause bounds the requests to a member that serves the list and refuses
			// the watch.
			o.groups.AddAfter(r.GroupResource.Group, askAgain)
		}
	default:
		return
	}
	o.looks.addUsing(r.GroupResource)
}
