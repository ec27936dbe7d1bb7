// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// WrapperIndex tells deliveries.Orphans which wrappers the host has. It gets the wrappers from the cache's events and
// not from reconciles, for two reasons. Only the cache reports when it has all wrappers. And a wrapper whose reconcile
// fails still exists.
type WrapperIndex struct {
	cache   ctrlcache.Informers
	orphans *deliveries.Orphans
	loops   []*Reconciler
}

// NewWrapperIndex makes the index for both scopes of wrappers. The index also passes each new copy of a wrapper in the
// cache to the loops.
func NewWrapperIndex(informers ctrlcache.Informers, orphans *deliveries.Orphans, loops ...*Reconciler) *WrapperIndex {
	return &WrapperIndex{cache: informers, orphans: orphans, loops: loops}
}

// Start implements manager.Runnable. It returns when the index has all existing wrappers. Later wrappers come by the
// cache's events.
func (r *WrapperIndex) Start(ctx context.Context) error {
	var synced []cache.InformerSynced
	for _, obj := range []client.Object{&v1alpha1.Federated{}, &v1alpha1.ClusterFederated{}} {
		informer, err := r.cache.GetInformer(ctx, obj)
		if err != nil {
			return fmt.Errorf("watching the wrappers: %w", err)
		}
		registered, err := informer.AddEventHandler(r)
		if err != nil {
			return fmt.Errorf("watching the wrappers: %w", err)
		}
		synced = append(synced, registered.HasSynced)
	}
	if cache.WaitForCacheSync(ctx.Done(), synced...) {
		r.orphans.WrappersListed()
	}
	return nil
}

var _ cache.ResourceEventHandler = &WrapperIndex{}

// OnAdd implements cache.ResourceEventHandler.
func (r *WrapperIndex) OnAdd(obj any, _ bool) {
	w, ok := obj.(v1alpha1.Wrapper)
	if !ok {
		return
	}
	r.orphans.AddWrapper(keyOf(w), w.GetUID())
	for _, loop := range r.loops {
		if loop.kind != w.WrapperKind() {
			continue
		}
		loop.renderers.follow(w)
		loop.writes.caughtUp(w)
	}
}

// OnUpdate implements cache.ResourceEventHandler. It also adds a wrapper: the cache reports an update if a wrapper was
// deleted and created again while the watch was down.
func (r *WrapperIndex) OnUpdate(_, obj any) { r.OnAdd(obj, false) }

// OnDelete implements cache.ResourceEventHandler.
func (r *WrapperIndex) OnDelete(obj any) {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	if w, ok := obj.(v1alpha1.Wrapper); ok {
		r.orphans.RemoveWrapper(keyOf(w), w.GetUID())
	}
}
