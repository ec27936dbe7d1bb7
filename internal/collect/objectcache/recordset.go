// SPDX-License-Identifier: Apache-2.0

package objectcache

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
)

// records are the records of one resource. A Resource guards them with its lock.
type records struct {
	held map[types.NamespacedName]Record
	// gone holds the UIDs of objects that a read did not find. A UID never comes back, so put ignores late events of
	// such an object.
	gone map[types.NamespacedName]types.UID
}

func newRecords() records {
	return records{held: map[types.NamespacedName]Record{}, gone: map[types.NamespacedName]types.UID{}}
}

// put stores a record unless the set has a newer one. It reports whether it stored the record.
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

// drop removes a record unless the object was seen after the deletion. It reports whether it removed the record.
func (r *records) drop(key types.NamespacedName, resourceVersion string) bool {
	delete(r.gone, key)
	old, ok := r.held[key]
	if !ok || deliveryindex.Newer(old.ResourceVersion, resourceVersion) {
		return false
	}
	delete(r.held, key)
	return true
}

// dropGone removes the object with this uid, because a read did not find it. It keeps a newer object of that name.
func (r *records) dropGone(key types.NamespacedName, uid types.UID) {
	if old, ok := r.held[key]; ok && old.UID == uid {
		r.gone[key] = uid
		delete(r.held, key)
	}
}

// replace stores a whole list at a resourceVersion. It keeps the records of objects that were read later.
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
