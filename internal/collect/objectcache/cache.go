// SPDX-License-Identifier: Apache-2.0

package objectcache

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
)

// Cache holds the watched resources of one member. It is safe for concurrent use.
type Cache struct {
	mu        sync.Mutex
	resources map[schema.GroupResource]*Resource
}

// New makes a Cache without resources.
func New() *Cache { return &Cache{resources: map[schema.GroupResource]*Resource{}} }

// Keep makes the cache hold exactly the wanted resources, and returns them. It keeps those that it has, adds those that
// are missing, and drops all others. A resource that was dropped and is wanted again is a new Resource, because the
// watch of the old one may still write to it.
func (c *Cache) Keep(wanted []schema.GroupResource) []*Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := make(map[schema.GroupResource]*Resource, len(wanted))
	for _, gr := range wanted {
		r := c.resources[gr]
		if r == nil {
			r = newResource(gr)
		}
		kept[gr] = r
	}
	c.resources = kept
	return slices.Collect(maps.Values(kept))
}

// See returns what the cache has about an object. It returns the zero Sighting if the resource is not watched.
func (c *Cache) See(ref deliveryindex.Ref) Sighting {
	if r := c.resource(ref.GroupResource); r != nil {
		return r.see(ref.NamespacedName)
	}
	return Sighting{}
}

// Put stores the record of an object that the collector has read, unless the cache has a newer one. It does nothing if
// the resource is not watched.
func (c *Cache) Put(ref deliveryindex.Ref, record Record) {
	if r := c.resource(ref.GroupResource); r != nil {
		r.Put(ref.NamespacedName, record)
	}
}

// DropGone removes the record of an object that a read did not find. uid is the uid in that record: DropGone keeps the
// record of a newer object of the same name.
func (c *Cache) DropGone(ref deliveryindex.Ref, uid types.UID) {
	if r := c.resource(ref.GroupResource); r != nil {
		r.DropGone(ref.NamespacedName, uid)
	}
}

// Unserved returns the watched resources that the member no longer serves.
func (c *Cache) Unserved() []*Resource {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.resources))
	c.mu.Unlock()
	return slices.DeleteFunc(all, func(r *Resource) bool { return !r.IsUnserved() })
}

func (c *Cache) resource(gr schema.GroupResource) *Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resources[gr]
}
