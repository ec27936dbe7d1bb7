// SPDX-License-Identifier: Apache-2.0

package objectcache

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// State is the state of the watch of one resource. It tells what a missing record means.
type State int

const (
	// Unread means that no list has arrived yet. So a missing record means nothing.
	Unread State = iota
	// Listed means that the watch has listed the resource. So an object without a record does not exist, or lost
	// Fairlead's label.
	Listed
	// Forbidden means that the collector's role does not allow the collector to list the resource.
	Forbidden
	// Unserved means that the member does not serve the resource. So none of its objects exists.
	Unserved
)

// Sighting is what the cache has about one object at one moment. Found reports whether it has a record of the object.
type Sighting struct {
	State  State
	GVR    schema.GroupVersionResource
	Record Record
	Found  bool
}

// Resource holds the records of one watched resource, and the state of its watch. It is safe for concurrent use.
type Resource struct {
	// GroupResource never changes, so it needs no lock.
	schema.GroupResource
	// Kick ends the pause of the resource's watch before its next try.
	Kick chan struct{}

	mu      sync.Mutex
	gvr     schema.GroupVersionResource // the version in which the collector reads the resource; the zero value until it is known
	state   State
	records records
	// doubted is true after the member did not serve the version that the RESTMapper named. From then on the collector
	// asks the member's discovery for the version.
	doubted bool
}

func newResource(gr schema.GroupResource) *Resource {
	return &Resource{GroupResource: gr, records: newRecords(), Kick: make(chan struct{}, 1)}
}

// IsDoubted reports whether the member did not serve the version that the RESTMapper named. If so, the collector asks
// the member's discovery for the version.
func (r *Resource) IsDoubted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doubted
}

// SetVersion stores the version in which the collector reads the resource.
func (r *Resource) SetVersion(gvr schema.GroupVersionResource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gvr = gvr
}

// Put stores a record, unless the Resource has a newer one. It reports whether it stored the record.
func (r *Resource) Put(key types.NamespacedName, record Record) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records.put(key, record)
}

// Drop removes the record of an object whose deletion the watch reports. resourceVersion is that of the deletion. Drop
// keeps a record that is newer than the deletion. It reports whether it removed the record.
func (r *Resource) Drop(key types.NamespacedName, resourceVersion string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records.drop(key, resourceVersion)
}

// DropGone removes the record of the object with this uid, because a read did not find the object. It keeps the record
// of a newer object of the same name.
func (r *Resource) DropGone(key types.NamespacedName, uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records.dropGone(key, uid)
}

// Replace stores the records of a complete list. resourceVersion is that of the list. Replace keeps a record if it is
// newer than its object in the list. If the list lacks the object, Replace keeps the record if it is newer than the
// list. The state becomes Listed.
func (r *Resource) Replace(list map[types.NamespacedName]Record, resourceVersion string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records.replace(list, resourceVersion)
	r.state = Listed
}

// MarkForbidden records that the member does not allow the collector to list the resource. It returns false if the
// state was Forbidden already.
func (r *Resource) MarkForbidden() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == Forbidden {
		return false
	}
	r.state = Forbidden
	return true
}

// MarkNotServed records that the API server answered a list with 404. The first call only makes IsDoubted return true:
// the RESTMapper may have named a version that the member no longer serves, and the next list uses the version from
// discovery. Each later call sets the state to Unserved, and returns true.
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

// IsUnserved reports whether the member does not serve the resource.
func (r *Resource) IsUnserved() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == Unserved
}

// see returns what the Resource has about one object.
func (r *Resource) see(key types.NamespacedName) Sighting {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Sighting{State: r.state, GVR: r.gvr}
	s.Record, s.Found = r.records.held[key]
	return s
}
