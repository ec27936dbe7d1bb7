// SPDX-License-Identifier: Apache-2.0

package deliveryindex

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

// Resources with special rules.
var (
	// Secrets are never watched: a collector must not read them.
	Secrets       = schema.GroupResource{Resource: "secrets"}
	Subscriptions = schema.GroupResource{Group: "operators.coreos.com", Resource: "subscriptions"}
)

// Ref is an object as an inventory names it.
type Ref struct {
	schema.GroupResource
	types.NamespacedName
}

// RefOf is the object of an entry. The entry must have a resource.
func RefOf(d *v1alpha1.Delivery, e *v1alpha1.InventoryEntry) Ref {
	return Ref{
		GroupResource:  schema.GroupResource{Group: e.Group, Resource: e.Resource},
		NamespacedName: types.NamespacedName{Namespace: d.Spec.Wrapper.Namespace, Name: e.Name},
	}
}

// Path is the object as messages and marks name it.
func (r Ref) Path() string {
	return marks.ObjectPath(r.Resource, r.Group, r.Namespace, r.Name)
}

// KindOf is the kind of an entry.
func KindOf(e *v1alpha1.InventoryEntry) schema.GroupKind {
	return schema.GroupKind{Group: e.Group, Kind: e.Kind}
}

// Newer reports whether resourceVersion a is after b. If the two cannot be compared, a counts as newer: a needless pass
// is better than a missing pass.
func Newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}
