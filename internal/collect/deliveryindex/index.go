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

// Known is a Delivery in the index, and the collector's own data about that Delivery.
type Known[M any] struct {
	Delivery *v1alpha1.Delivery
	// Arrived is the time at which the collector first read this generation of the Delivery.
	Arrived time.Time
	Memory  M
}

// Index holds the Deliveries of one member, and for each a value of type M, in which the collector keeps its own data
// about the Delivery. The index makes this value when it stores a Delivery for the first time, and drops it with the
// Delivery. The index is safe for concurrent use, and never changes a Delivery that it holds.
type Index[M any] struct {
	newMemory func() M

	mu    sync.Mutex
	known map[string]*Known[M]
	// listing maps an object to the names of the Deliveries that list it.
	listing names[Ref]
	// using maps a resource to the names of the Deliveries that use it.
	using names[schema.GroupResource]
	// waiting maps an unserved kind to the names of the Deliveries that wait for it.
	waiting names[schema.GroupKind]
	// subscribing maps a namespace to the names of the Deliveries that list a Subscription there.
	subscribing names[string]
}

// New makes an Index without Deliveries. It calls newMemory for each new Delivery.
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

// Learn stores a Delivery, unless the index already holds this version of it or a newer one. taken reports whether it
// stored the Delivery. respecified reports whether the Delivery is new, or its spec has changed.
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

// Get returns a Delivery and the collector's data about it. ok is false if the index has no Delivery of that name.
func (x *Index[M]) Get(name string) (k Known[M], ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.known[name]; known != nil {
		return *known, true
	}
	return k, false
}

// IsCurrent reports whether a Delivery that came from this index is still in it: no newer version has arrived, and the
// Delivery was not deleted.
func (x *Index[M]) IsCurrent(d *v1alpha1.Delivery) bool {
	k, ok := x.Get(d.Name)
	return ok && k.Delivery == d
}

// WithEvidence returns how many Deliveries have evidence in their status, or according to the collector's own data.
func (x *Index[M]) WithEvidence(holds func(M) bool) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	count := 0
	for _, k := range x.known {
		if len(k.Delivery.Status.Evidence) > 0 || holds(k.Memory) {
			count++
		}
	}
	return count
}

// Names returns the names of all Deliveries.
func (x *Index[M]) Names() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.known))
}

// Listing returns the names of the Deliveries that list an object.
func (x *Index[M]) Listing(ref Ref) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.listing.of(ref)
}

// Using returns the names of the Deliveries that list an object of a resource, for example of configmaps. It finds none
// for secrets.
func (x *Index[M]) Using(gr schema.GroupResource) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.using.of(gr)
}

// WaitingFor returns the names of the Deliveries that wait until the member serves a kind.
func (x *Index[M]) WaitingFor(gk schema.GroupKind) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.waiting.of(gk)
}

// SubscribingIn returns the names of the Deliveries that list a Subscription in a namespace.
func (x *Index[M]) SubscribingIn(namespace string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.subscribing.of(namespace)
}

// UsedResources returns the resources of all objects that Deliveries list, except secrets.
func (x *Index[M]) UsedResources() []schema.GroupResource {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.using))
}

// AwaitedKinds returns the kinds for which Deliveries wait.
func (x *Index[M]) AwaitedKinds() []schema.GroupKind {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.waiting))
}

// SubscribedNamespaces returns the namespaces in which a Delivery lists a Subscription.
func (x *Index[M]) SubscribedNamespaces() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.subscribing))
}

// list adds the inventory of a Delivery to the maps of the index. The caller holds the lock.
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

// unlist removes the inventory of a Delivery from the maps of the index. The caller holds the lock.
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

// names maps a key (an object, a resource, a kind or a namespace) to the names of Deliveries.
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
