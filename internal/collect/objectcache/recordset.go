// SPDX-License-Identifier: Apache-2.0

package objectcache

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
)

// records are those of one resource. A Resource guards them with its lock.
type records struct {
	held map[types.NamespacedName]Record
	// gone are UIDs that were read to be gone. A UID does not come back, so a late event of one is not news.
	gone map[types.NamespacedName]types.UID
}

func newRecords() records {
	return records{held: map[types.NamespacedName]Record{}, gone: map[types.NamespacedName]types.UID{}}
}

// put takes a record unless a newer one is there. It reports whether it did.
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

// drop takes a record out unless the object was seen after its deletion. It reports whether it did.
func (r *records) drop(key types.NamespacedName, resourceVersion string) bool {
	delete(r.gone, key)
	old, ok := r.held[key]
	if !ok || deliveryindex.Newer(old.ResourceVersion, resourceVersion) {
		return false
	}
	delete(r.held, key)
	return true
}

// dropGone takes out an object that was read to be gone, but not another one of its name that arrived meanwhile.
func (r *records) dropGone(key types.NamespacedName, uid types.UID) {
	if old, ok := r.held[key]; ok && old.UID == uid {
		r.gone[key] = uid
		delete(r.held, key)
	}
}

// replace takes a whole list as of a resourceVersion; what was read after that stays.
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
