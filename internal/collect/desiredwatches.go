// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/fairlead-dev/fairlead/internal/collect/boundedwatch"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

// watches decides which watches the Collector needs for the member's Deliveries.
type watches struct {
	deliveries *deliveries
	objects    *objects
	served     *servedKinds
	facts      *facts
	related    *related
	index      *index
}

// wanted returns the constructors of the desired watches, by name. It drops from the cache each resource that no
// Delivery uses. Only one goroutine may call it.
func (w *watches) wanted() map[string]func() *boundedwatch.Watch {
	wanted := map[string]func() *boundedwatch.Watch{
		"deliveries":     w.deliveries.watch,
		"crds":           w.served.watchCRDs,
		"nodes":          w.facts.watchNodes,
		"storageclasses": w.facts.watchClasses,
		"csidrivers":     w.facts.watchDrivers,
	}
	missing := len(w.index.AwaitedKinds()) > 0
	for _, r := range w.objects.cache.Keep(w.index.UsedResources()) {
		missing = missing || r.IsUnserved()
		// The name of the watch contains the pointer. A resource that was dropped and is used again has a new Resource.
		// So it gets a new watch, even while the old watch is still ending.
		wanted[fmt.Sprintf("objects/%s/%p", r.GroupResource, r)] = func() *boundedwatch.Watch { return w.objects.watch(r) }
	}
	if missing {
		wanted["apiservices"] = w.served.watchAPIServices
	}
	if len(w.index.SubscribedNamespaces()) > 0 {
		for _, gvr := range olmResources {
			wanted["related/"+gvr.GroupResource().String()] = func() *boundedwatch.Watch { return w.related.watch(gvr) }
		}
	} else {
		w.related.forget()
	}
	return wanted
}

// watchNames watches a kind. The callbacks get only the metadata of its objects, without managedFields, annotations and
// owners.
func watchNames(
	client *memberclient.Client, gvr schema.GroupVersionResource,
	put, drop func(*metav1.PartialObjectMetadata), replace func([]*metav1.PartialObjectMetadata),
) *boundedwatch.Watch {
	return &boundedwatch.Watch{
		Name: gvr.Resource,
		Open: func(context.Context) (cache.ListerWatcher, runtime.Object, error) {
			return client.MetadataSource(gvr, ""), &metav1.PartialObjectMetadata{}, nil
		},
		Trim: func(obj any) (any, error) {
			o, ok := obj.(*metav1.PartialObjectMetadata)
			if !ok {
				return nil, fmt.Errorf("trimming an object of %s: unexpected type %T", gvr.Resource, obj)
			}
			o.ManagedFields, o.Annotations, o.OwnerReferences = nil, nil, nil
			return o, nil
		},
		Put:  func(obj any) { put(obj.(*metav1.PartialObjectMetadata)) },
		Drop: func(obj any) { drop(obj.(*metav1.PartialObjectMetadata)) },
		Replace: func(objs []any, _ string) {
			list := make([]*metav1.PartialObjectMetadata, 0, len(objs))
			for _, obj := range objs {
				list = append(list, obj.(*metav1.PartialObjectMetadata))
			}
			replace(list)
		},
		Lost: func(err error) {
			klog.Background().V(3).Info("Listing a kind on the member failed, so the collector does not report the facts about this kind", "kind", gvr.Resource, "reason", err.Error())
		},
	}
}
