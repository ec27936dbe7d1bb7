// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// wrapperSource passes the wrappers in the cache to the store. The workers of the loop start when the store has all of them.
type wrapperSource struct {
	cache  ctrlcache.Informers
	store  *Store
	start  func(workqueue.TypedRateLimitingInterface[deliveries.Key])
	synced []cache.InformerSynced
}

// Start implements source.TypedSource.
func (s *wrapperSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[deliveries.Key]) error {
	s.start(queue)
	evidenceOfAll.begin(ctx, s.store)
	for _, obj := range []client.Object{&v1alpha1.Federated{}, &v1alpha1.ClusterFederated{}} {
		informer, err := s.cache.GetInformer(ctx, obj)
		if err != nil {
			return fmt.Errorf("watching the wrappers: %w", err)
		}
		registered, err := informer.AddEventHandler(s)
		if err != nil {
			return fmt.Errorf("watching the wrappers: %w", err)
		}
		s.synced = append(s.synced, registered.HasSynced)
	}
	return nil
}

// WaitForSync implements source.TypedSyncingSource.
func (s *wrapperSource) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), s.synced...) {
		return errors.New("the cache of the wrappers was not filled in time")
	}
	s.store.wrappersListed()
	return nil
}

var _ cache.ResourceEventHandler = &wrapperSource{}

// OnAdd implements cache.ResourceEventHandler.
func (s *wrapperSource) OnAdd(obj any, _ bool) {
	if w, ok := obj.(v1alpha1.Wrapper); ok {
		s.store.addWrapper(w)
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (s *wrapperSource) OnUpdate(_, obj any) { s.OnAdd(obj, false) }

// OnDelete implements cache.ResourceEventHandler.
func (s *wrapperSource) OnDelete(obj any) {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	if w, ok := obj.(v1alpha1.Wrapper); ok {
		s.store.removeWrapper(deliveries.KeyOf(v1alpha1.Identity(w)), w.GetUID())
	}
}
