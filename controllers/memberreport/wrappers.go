// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// addWrapper records the present state of a wrapper. Members on which it is not placed any more show nothing of it.
func (s *Store) addWrapper(w v1alpha1.Wrapper) {
	key := deliveries.KeyOf(v1alpha1.Identity(w))
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.wrappers[key]
	s.wrappers[key] = w
	if was != nil && was.GetUID() != w.GetUID() {
		s.close(wrapperID{key, was.GetUID()})
	}
	if was == nil || !isPlacedAs(was, w) {
		s.prune(wrapperID{key, w.GetUID()})
	}
	if was != nil && !isDecided(was) && isDecided(w) {
		s.wake(key)
	}
}

// isPlacedAs reports whether two states of wrappers have the same placement. Most changes of a wrapper leave it as it is.
func isPlacedAs(a, b v1alpha1.Wrapper) bool {
	was, is := &a.WrapperStatus().Placement, &b.WrapperStatus().Placement
	return isDecided(a) == isDecided(b) && slices.Equal(was.Clusters, is.Clusters) && slices.Equal(was.Leaving, is.Leaving)
}

// prune removes the members whose evidence about a wrapper does not count (see counts).
func (s *Store) prune(id wrapperID) {
	set := s.sets[id]
	if set == nil {
		return
	}
	w := s.wrappers[id.Key]
	if w != nil && w.GetUID() == id.uid && !isDecided(w) {
		return
	}
	placed := sets.New[string]()
	if w != nil && w.GetUID() == id.uid {
		placed.Insert(w.WrapperStatus().Placement.Clusters...).Insert(w.WrapperStatus().Placement.Leaving...)
	}
	for _, member := range set.Members() {
		if !placed.Has(member) {
			s.leave(member, id.Delivery())
		}
	}
	s.dropEmpty(id)
}

// removeWrapper records that the wrapper with this uid is gone. A newer wrapper of the same name stays.
func (s *Store) removeWrapper(key deliveries.Key, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.wrappers[key]; was != nil && was.GetUID() == uid {
		delete(s.wrappers, key)
	}
	s.close(wrapperID{key, uid})
	s.wake(key)
}

// close removes everything that members show of a wrapper.
func (s *Store) close(id wrapperID) {
	set := s.sets[id]
	if set == nil {
		return
	}
	for _, member := range set.Members() {
		delete(s.member(member).shown, id.Delivery())
	}
	set.Close()
	delete(s.sets, id)
}

// wrappersListed records that every wrapper of the host was added. Evidence about others does not count any more.
func (s *Store) wrappersListed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complete = true
	for id := range s.sets {
		s.prune(id)
		s.wake(id.Key)
	}
}

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
