// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
)

// ObjectID identifies an object within one Delivery.
type ObjectID = render.ObjectID

// IDOf returns the ID of the object of an inventory entry.
func IDOf(e *v1alpha1.InventoryEntry) ObjectID {
	return ObjectID{Group: e.Group, Kind: e.Kind, Name: e.Name}
}

// SecretID returns the ID of the Secret with this name.
func SecretID(name string) ObjectID { return render.SecretID(name) }
