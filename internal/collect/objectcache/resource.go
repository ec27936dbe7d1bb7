// SPDX-License-Identifier: Apache-2.0

package objectcache

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// State is the state of the watch of one resource.
type State int

const (
	// Unread means that no list has arrived yet.
	Unread State = iota
	// Listed means that the records show the member's objects.
	Listed
	// Forbidden means that the collector's role does not let it list the resource.
	Forbidden
	// Unserved means that the member no longer serves the resource, so none of its objects exists.
	Unserved
)

// Sighting is the known state of one object at one time.
type Sighting struct {
	State  State
	GVR    schema.GroupVersionResource
	Record Record
	Found  bool
}

// Resource is one watched resource. It is safe for concurrent use.
type Resource struct {
	// GroupResource never changes.
	schema.GroupResource
	// Kick ends the wait of the resource's watch.
	Kick chan struct{}

	mu      sync.Mutex
	gvr     schema.GroupVersionResource // empty until it is resolved
	state   State
	records records
	// doubted is true after the mapper named a version that the member does not serve. From then on the collector asks
	// the member itself.
	doubted bool
}

func newResource(gr schema.GroupResource) *Resource {
	return &Resource{GroupResource: gr, records: newRecords(), Kick: make(chan struct{}, 1)}
}

// IsDoubted reports whether the mapper has named a version that the member does not serve.
func (r *Resource) IsDoubted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doubted
}

// SetVersion stores the version in which the resource is read.
func (r *Resource) SetVersion(gvr schema.GroupVersionResource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gvr = gvr
}

// Put stores a record unless the Resource has a newer one. It reports whether it stored the record.
func (r *Resource) Put(key types.NamespacedName, record Record) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records.put(key, record)
}

// Drop removes an object that was deleted at a resourceVersion, unless it was seen after that. It reports whether it
// removed the object.
func (r *Resource) Drop(key types.NamespacedName, resourceVersion string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records.drop(key, resourceVersion)
}

// DropGone removes the object with this uid, because a read did not find it. It keeps a newer object of that name.
func (r *Resource) DropGone(key types.NamespacedName, uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records.dropGone(key, uid)
}

// Replace stores a whole list at a resourceVersion. It keeps the records of objects that were read later.
func (r *Resource) Replace(list map[types.NamespacedName]Record, resourceVersion string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records.replace(list, resourceVersion)
	r.state = Listed
}

// MarkForbidden records that the collector may not list the resource. It reports whether the state is new.
func (r *Resource) MarkForbidden() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == Forbidden {
		return false
	}
	r.state = Forbidden
	return true
}

// MarkNotServed records that a list did not find the resource. The first time it only doubts the version: the member
// may serve another version than the mapper has cached. From the second time on the resource is Unserved, and
// MarkNotServed reports true.
func (r *Resource) MarkNotServed() (unserved bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.doubted {
		r.doubted = true
		return false
	}
	r.state, r.gvr, r.records = Unserved, schema.GroupVersionResource{}, newRecords()
	return true
}

// IsUnserved reports whether the member does not serve the resource any more.
func (r *Resource) IsUnserved() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == Unserved
}

// see returns the known state of one object.
func (r *Resource) see(key types.NamespacedName) Sighting {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Sighting{State: r.state, GVR: r.gvr}
	s.Record, s.Found = r.records.held[key]
	return s
}
