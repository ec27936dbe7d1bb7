// SPDX-License-Identifier: Apache-2.0

package deliveryindex

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

// Resources that the collector treats differently from all others.
var (
	// Secrets are never watched, because a collector must not read them.
	Secrets       = schema.GroupResource{Resource: "secrets"}
	Subscriptions = schema.GroupResource{Group: "operators.coreos.com", Resource: "subscriptions"}
)

// Ref identifies an object by resource, namespace and name.
type Ref struct {
	schema.GroupResource
	types.NamespacedName
}

// RefOf returns the reference to the object of an inventory entry. The entry must have a resource.
func RefOf(d *v1alpha1.Delivery, e *v1alpha1.InventoryEntry) Ref {
	return Ref{
		GroupResource:  schema.GroupResource{Group: e.Group, Resource: e.Resource},
		NamespacedName: types.NamespacedName{Namespace: d.Spec.Wrapper.Namespace, Name: e.Name},
	}
}

// Path returns the text for the object in messages, which is also the value of AnnotationObject.
func (r Ref) Path() string {
	return marks.ObjectPath(r.Resource, r.Group, r.Namespace, r.Name)
}

// KindOf returns the kind of an inventory entry.
func KindOf(e *v1alpha1.InventoryEntry) schema.GroupKind {
	return schema.GroupKind{Group: e.Group, Kind: e.Kind}
}

// Newer reports whether resourceVersion a is later than b. If the two cannot be compared, it returns true: an event too
// many costs only one needless pass, but an event that is ignored can hide drift.
func Newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}
