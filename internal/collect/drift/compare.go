// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// suspect compares an entry with the cached record of its object. It returns the kind of drift; "" if the entry and the
// record agree.
func suspect(e *v1alpha1.InventoryEntry, s *objectcache.Sighting) v1alpha1.DriftKind {
	r := &s.Record
	switch {
	case !s.Found:
		return v1alpha1.DriftGone
	case e.UID != "" && r.UID != e.UID:
		return v1alpha1.DriftReplaced
	case r.Deleting:
		return "" // an object that is being deleted has not drifted until it is gone
	case e.Rendering != "" && r.Rendering != e.Rendering:
		return v1alpha1.DriftChanged
	case e.Fields != "" && r.Fields != e.Fields && r.Lent != e.Fields:
		return v1alpha1.DriftChanged
	}
	return ""
}

// identity returns a text that identifies one drift of an object. A later drift of the same object has another text.
func identity(kind v1alpha1.DriftKind, e *v1alpha1.InventoryEntry, r *objectcache.Record) string {
	if kind == v1alpha1.DriftGone {
		return string(e.UID)
	}
	return r.ResourceVersion
}
