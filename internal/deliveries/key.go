// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// Key names a wrapper on the host.
type Key struct {
	Kind v1alpha1.WrapperKind
	types.NamespacedName
}

// KeyOf returns the key of the wrapper with this identity.
func KeyOf(id v1alpha1.WrapperIdentity) Key {
	return Key{Kind: id.Kind, NamespacedName: types.NamespacedName{Namespace: id.Namespace, Name: id.Name}}
}

// Delivery returns the name of the wrapper's Delivery, which is the same on each member.
func (k Key) Delivery() string { return marks.DeliveryName(k.Kind, k.Namespace, k.Name) }

// Resource is the API resource under which members serve Deliveries.
var Resource = schema.GroupVersionResource{Group: v1alpha1.Group, Version: "v1alpha1", Resource: "deliveries"}

// Path returns the URL path on a member: of the Delivery with this name, or of all Deliveries if name is "".
func Path(name string) []string { return member.Path(Resource, v1alpha1.SystemNamespace, name) }
