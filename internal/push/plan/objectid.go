// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// ObjectID identifies an object within one Delivery.
type ObjectID struct {
	Group, Kind, Name string
}

// IDOf is the ID of an entry's object.
func IDOf(e *v1alpha1.InventoryEntry) ObjectID { return ObjectID{e.Group, e.Kind, e.Name} }

// SecretID is the ID of a Secret.
func SecretID(name string) ObjectID { return ObjectID{Kind: "Secret", Name: name} }

// IsSecret reports whether the object is a Secret.
func (id ObjectID) IsSecret() bool { return id == SecretID(id.Name) }

func (id ObjectID) compare(other ObjectID) int {
	return cmp.Or(cmp.Compare(id.Kind, other.Kind), cmp.Compare(id.Name, other.Name), cmp.Compare(id.Group, other.Group))
}
