// SPDX-License-Identifier: Apache-2.0

package deliveryindex

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Known is a Delivery and the collector's notes about it. M is the type of the notes. The index makes a new M for each
// Delivery, and drops it with the Delivery.
type Known[M any] struct {
	Delivery *v1alpha1.Delivery
	// Arrived is when the collector first saw this generation.
	Arrived time.Time
	Memory  M
}

// Index holds the Deliveries of one member. It is safe for concurrent use. It never changes a Delivery that it holds.
type Index[M any] struct {
	newMemory func() M

	mu    sync.Mutex
	known map[string]*Known[M]
	// listing, using and waiting map objects, resources and unserved kinds to the names of Deliveries. subscribing maps
	// a namespace to the Deliveries with a Subscription there.
	listing     names[Ref]
	using       names[schema.GroupResource]
	waiting     names[schema.GroupKind]
	subscribing names[string]
}

// New makes an Index without Deliveries.
func New[M any](newMemory func() M) *Index[M] {
	return &Index[M]{
		newMemory:   newMemory,
		known:       map[string]*Known[M]{},
		listing:     names[Ref]{},
		using:       names[schema.GroupResource]{},
		waiting:     names[schema.GroupKind]{},
		subscribing: names[string]{},
	}
}

// Learn stores a Delivery unless the index has a newer version of it. It reports whether it stored the Delivery, and
// whether the spec has changed.
func (x *Index[M]) Learn(d *v1alpha1.Delivery, now time.Time) (taken, respecified bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.known[d.Name]
	if k != nil && !Newer(d.ResourceVersion, k.Delivery.ResourceVersion) {
		return false, false
	}
	switch {
	case k == nil || k.Delivery.UID != d.UID:
		if k != nil {
			x.unlist(k.Delivery)
		}
		k = &Known[M]{Arrived: now, Memory: x.newMemory()}
		x.known[d.Name] = k
	case k.Delivery.Generation != d.Generation:
		x.unlist(k.Delivery)
		k.Arrived = now
	default:
		k.Delivery = d
		return true, false
	}
	k.Delivery = d
	x.list(d)
	return true, true
}

// Forget drops a Delivery.
func (x *Index[M]) Forget(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k := x.known[name]; k != nil {
		x.unlist(k.Delivery)
		delete(x.known, name)
	}
}

// Get returns a Delivery and its memory. ok is false if the index has no Delivery of that name.
func (x *Index[M]) Get(name string) (k Known[M], ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.known[name]; known != nil {
		return *known, true
	}
	return k, false
}

// IsCurrent reports whether a Delivery from this index is still current: no newer version has arrived, and it was not
// deleted.
func (x *Index[M]) IsCurrent(d *v1alpha1.Delivery) bool {
	k, ok := x.Get(d.Name)
	return ok && k.Delivery == d
}

// Names are the names of all Deliveries.
func (x *Index[M]) Names() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.known))
}

// Listing are the names of the Deliveries that list an object.
func (x *Index[M]) Listing(ref Ref) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.listing.of(ref)
}

// Using are the names of the Deliveries that list objects of a resource.
func (x *Index[M]) Using(gr schema.GroupResource) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.using.of(gr)
}

// WaitingFor are the names of the Deliveries that wait for a kind to be served.
func (x *Index[M]) WaitingFor(gk schema.GroupKind) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.waiting.of(gk)
}

// SubscribingIn are the names of the Deliveries that list a Subscription in a namespace.
func (x *Index[M]) SubscribingIn(namespace string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.subscribing.of(namespace)
}

// UsedResources are the resources of all objects that Deliveries list, except Secrets.
func (x *Index[M]) UsedResources() []schema.GroupResource {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.using))
}

// AwaitedKinds are the kinds that Deliveries wait for.
func (x *Index[M]) AwaitedKinds() []schema.GroupKind {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.waiting))
}

// SubscribedNamespaces are the namespaces with a Subscription.
func (x *Index[M]) SubscribedNamespaces() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.subscribing))
}

// list adds the inventory of a Delivery to the maps. The caller holds the lock.
func (x *Index[M]) list(d *v1alpha1.Delivery) {
	for i := range d.Spec.Inventory {
		e := &d.Spec.Inventory[i]
		if e.Resource == "" {
			x.waiting.add(KindOf(e), d.Name)
			continue
		}
		ref := RefOf(d, e)
		x.listing.add(ref, d.Name)
		if ref.GroupResource != Secrets {
			x.using.add(ref.GroupResource, d.Name)
		}
		if ref.GroupResource == Subscriptions {
			x.subscribing.add(ref.Namespace, d.Name)
		}
	}
}

// unlist removes what list added. The caller holds the lock.
func (x *Index[M]) unlist(d *v1alpha1.Delivery) {
	for i := range d.Spec.Inventory {
		e := &d.Spec.Inventory[i]
		if e.Resource == "" {
			x.waiting.remove(KindOf(e), d.Name)
			continue
		}
		ref := RefOf(d, e)
		x.listing.remove(ref, d.Name)
		x.using.remove(ref.GroupResource, d.Name)
		x.subscribing.remove(ref.Namespace, d.Name)
	}
}

// names maps an object, a resource, a kind or a namespace to the names of Deliveries.
type names[K comparable] map[K]map[string]struct{}

func (n names[K]) add(key K, name string) {
	if n[key] == nil {
		n[key] = map[string]struct{}{}
	}
	n[key][name] = struct{}{}
}

func (n names[K]) remove(key K, name string) {
	delete(n[key], name)
	if len(n[key]) == 0 {
		delete(n, key)
	}
}

func (n names[K]) of(key K) []string { return slices.Collect(maps.Keys(n[key])) }
