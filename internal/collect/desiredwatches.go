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

// watches decides which watches the Deliveries of this member need.
type watches struct {
	deliveries *deliveries
	objects    *objects
	served     *servedKinds
	facts      *facts
	related    *related
	index      *index
}

// wanted returns the desired watches by name, with their constructors. It forgets the resources that no Delivery lists
// any more. Only one goroutine may call it.
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
		// The pointer is part of the name: a resource that is listed again gets a new Resource, and so a new watch. The
		// old watch may still be ending.
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

// watchNames watches a kind and keeps only the names and labels of its objects.
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
				return nil, fmt.Errorf("trimming %s: got a %T", gvr.Resource, obj)
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
			klog.Background().V(3).Info("Listing a kind failed; the facts about it are unknown", "kind", gvr.Resource, "reason", err.Error())
		},
	}
}
