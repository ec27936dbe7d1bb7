// SPDX-License-Identifier: Apache-2.0

package objectcache

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// State is what is known of the objects of one resource.
type State int

const (
	// Unread means that nothing was listed yet.
	Unread State = iota
	// Listed means that the records are what the member holds.
	Listed
	// Forbidden means that the collector's role does not let it list the resource.
	Forbidden
	// Unserved means that the member does not serve the resource any more, so none of its objects is there.
	Unserved
)

// Sighting is what is known of one object at a moment.
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
	gvr     schema.GroupVersionResource // empty until it was resolved
	state   State
	records records
	// doubted: the mapper named a version that is not served. From then on the member itself is asked.
	doubted bool
}

func newResource(gr schema.GroupResource) *Resource {
	return &Resource{GroupResource: gr, records: newRecords(), Kick: make(chan struct{}, 1)}
}

// IsDoubted reports whether the mapper has named a version that is not served.
func (r *Resource) IsDoubted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doubted
}

// SetVersion notes the version that the resource is read in.
func (r *Resource) SetVersion(gvr schema.GroupVersionResource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gvr = gvr
}

// Put takes a record unless a newer one is there. It reports whether it did.
func (r *Resource) Put(key types.NamespacedName, record Record) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records.put(key, record)
}

// Drop takes an object out as of a resourceVersion, unless it was seen after that. It reports whether it did.
func (r *Resource) Drop(key types.NamespacedName, resourceVersion string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records.drop(key, resourceVersion)
}

// DropGone takes out an object that was read to be gone.
func (r *Resource) DropGone(key types.NamespacedName, uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records.dropGone(key, uid)
}

// Replace takes a whole list as of a resourceVersion; what was read after that stays.
func (r *Resource) Replace(list map[types.NamespacedName]Record, resourceVersion string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records.replace(list, resourceVersion)
	r.state = Listed
}

// MarkForbidden notes that the collector may not list the resource. It reports whether that is news.
func (r *Resource) MarkForbidden() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == Forbidden {
		return false
	}
	r.state = Forbidden
	return true
}

// MarkNotServed notes that the resource was not found. The first time, its version is doubted: it may be served in another
// version than the mapper remembers. From the second time on it is Unserved, which is what MarkNotServed reports.
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

// see is what is known of one object.
func (r *Resource) see(key types.NamespacedName) Sighting {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Sighting{State: r.state, GVR: r.gvr}
	s.Record, s.Found = r.records.held[key]
	return s
}
