// SPDX-License-Identifier: Apache-2.0

package objectcache

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
)

// records holds the records of one resource. The lock of the Resource protects it.
type records struct {
	held map[types.NamespacedName]Record
	// gone holds the uids of objects that a read did not find. The API server never uses a uid twice. So an event with
	// such a uid is older than the read, and put ignores it.
	gone map[types.NamespacedName]types.UID
}

func newRecords() records {
	return records{held: map[types.NamespacedName]Record{}, gone: map[types.NamespacedName]types.UID{}}
}

// put stores a record, unless it holds a newer one. It reports whether it stored the record.
func (r *records) put(key types.NamespacedName, rec Record) bool {
	if uid, ok := r.gone[key]; ok {
		if uid == rec.UID {
			return false
		}
		delete(r.gone, key)
	}
	if old, ok := r.held[key]; ok && !deliveryindex.Newer(rec.ResourceVersion, old.ResourceVersion) {
		return false
	}
	r.held[key] = rec
	return true
}

// drop removes the record of an object whose deletion the watch reports. resourceVersion is that of the deletion. drop
// keeps a record that is newer than the deletion. It reports whether it removed the record.
func (r *records) drop(key types.NamespacedName, resourceVersion string) bool {
	delete(r.gone, key)
	old, ok := r.held[key]
	if !ok || deliveryindex.Newer(old.ResourceVersion, resourceVersion) {
		return false
	}
	delete(r.held, key)
	return true
}

// dropGone removes the record of the object with this uid, because a read did not find the object. It keeps the record
// of a newer object of the same name.
func (r *records) dropGone(key types.NamespacedName, uid types.UID) {
	if old, ok := r.held[key]; ok && old.UID == uid {
		r.gone[key] = uid
		delete(r.held, key)
	}
}

// replace stores the records of a complete list. resourceVersion is that of the list. replace keeps a record if it is
// newer than its object in the list. If the list lacks the object, replace keeps the record if it is newer than the
// list.
func (r *records) replace(list map[types.NamespacedName]Record, resourceVersion string) {
	for key, old := range r.held {
		listed, ok := list[key]
		switch {
		case ok && deliveryindex.Newer(old.ResourceVersion, listed.ResourceVersion):
			list[key] = old
		case !ok && deliveryindex.Newer(old.ResourceVersion, resourceVersion):
			list[key] = old
		}
	}
	r.held = list
	r.gone = map[types.NamespacedName]types.UID{}
}
