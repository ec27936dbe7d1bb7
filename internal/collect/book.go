// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

// secrets are never watched: a collector is not to see them.
var secrets = schema.GroupResource{Resource: "secrets"}

var subscriptions = schema.GroupResource{Group: "operators.coreos.com", Resource: "subscriptions"}

// objectRef is an object as an inventory names it.
type objectRef struct {
	schema.GroupResource
	namespace, name string
}

// book is what is known of the Deliveries, and who listed what. It is guarded by the Collector's lock.
type book struct {
	pages map[string]*page
	// listed, users and waiting lead from objects, resources and kinds that are not served to the
	// names of Deliveries; subscribers from namespaces to those with a Subscription.
	listed      index[objectRef]
	users       index[schema.GroupResource]
	waiting     index[schema.GroupKind]
	subscribers index[string]
}

// page is what is known of one Delivery.
type page struct {
	delivery *v1alpha1.Delivery
	// arrived is when this generation was first seen.
	arrived time.Time
	// memory is touched only by the worker that looks at this Delivery.
	memory *memory
}

// index leads from a thing to the names of the Deliveries that it concerns.
type index[K comparable] map[K]map[string]struct{}

func (x index[K]) add(key K, name string) {
	if x[key] == nil {
		x[key] = map[string]struct{}{}
	}
	x[key][name] = struct{}{}
}

func (x index[K]) remove(key K, name string) {
	delete(x[key], name)
	if len(x[key]) == 0 {
		delete(x, key)
	}
}

func newBook() book {
	return book{
		pages:       map[string]*page{},
		listed:      index[objectRef]{},
		users:       index[schema.GroupResource]{},
		waiting:     index[schema.GroupKind]{},
		subscribers: index[string]{},
	}
}

// enter takes a Delivery unless a newer one is known, and says whether it did and whether its spec is
// news.
func (b *book) enter(d *v1alpha1.Delivery, now time.Time) (taken, respecified bool) {
	p := b.pages[d.Name]
	if p != nil && !newer(d.ResourceVersion, p.delivery.ResourceVersion) {
		return false, false
	}
	switch {
	case p == nil || p.delivery.UID != d.UID:
		if p != nil {
			b.strike(d.Name)
		}
		p = &page{arrived: now, memory: newMemory()}
		b.pages[d.Name] = p
	case p.delivery.Generation != d.Generation:
		b.unlist(p.delivery)
		p.arrived = now
	default:
		p.delivery = d
		return true, false
	}
	p.delivery = d
	b.list(d)
	return true, true
}

// strike forgets a Delivery.
func (b *book) strike(name string) {
	if p := b.pages[name]; p != nil {
		b.unlist(p.delivery)
		delete(b.pages, name)
	}
}

func (b *book) list(d *v1alpha1.Delivery) {
	for i := range d.Spec.Inventory {
		e := &d.Spec.Inventory[i]
		if e.Resource == "" {
			b.waiting.add(kindOf(e), d.Name)
			continue
		}
		ref := refOf(d, e)
		b.listed.add(ref, d.Name)
		if ref.GroupResource != secrets {
			b.users.add(ref.GroupResource, d.Name)
		}
		if ref.GroupResource == subscriptions {
			b.subscribers.add(ref.namespace, d.Name)
		}
	}
}

func (b *book) unlist(d *v1alpha1.Delivery) {
	for i := range d.Spec.Inventory {
		e := &d.Spec.Inventory[i]
		if e.Resource == "" {
			b.waiting.remove(kindOf(e), d.Name)
			continue
		}
		ref := refOf(d, e)
		b.listed.remove(ref, d.Name)
		b.users.remove(ref.GroupResource, d.Name)
		b.subscribers.remove(ref.namespace, d.Name)
	}
}

func kindOf(e *v1alpha1.InventoryEntry) schema.GroupKind {
	return schema.GroupKind{Group: e.Group, Kind: e.Kind}
}

func refOf(d *v1alpha1.Delivery, e *v1alpha1.InventoryEntry) objectRef {
	return objectRef{
		GroupResource: schema.GroupResource{Group: e.Group, Resource: e.Resource},
		namespace:     d.Spec.Wrapper.Namespace,
		name:          e.Name,
	}
}

// path is how people and marks name an object.
func (r objectRef) path() string {
	return marks.ObjectPath(r.Resource, r.Group, r.namespace, r.name)
}
