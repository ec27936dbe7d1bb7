// SPDX-License-Identifier: Apache-2.0

package prune

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/overrides"
)

// Removal is one inventory entry whose object is to be removed.
type Removal struct {
	Entry v1alpha1.InventoryEntry
	// Gone is true if the entry may leave the inventory: the object is gone, or the pass kept or released it.
	Gone bool
}

func (r *Removal) String() string { return memberapi.Ref(r.Entry.Kind, r.Entry.Name) }

// GroupKind returns the group and kind of the entry's object.
func (r *Removal) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Entry.Group, Kind: r.Entry.Kind}
}

// isAdopted reports whether Fairlead adopted the object. The Delivery and an annotation of the object both record an
// adoption. If an older CRD without the field adopted was installed on the member after the adoption, the Delivery has
// lost its record, and only the annotation shows the adoption.
func (r *Removal) isAdopted(found *metav1.PartialObjectMetadata) bool {
	return r.Entry.Adopted == v1alpha1.AdoptedYes || marks.IsAdopted(found, r.mark(found))
}

// isReserved reports whether the entry names an object that Fairlead must not federate, for example the ClusterRole of
// the host's account. An earlier version of Fairlead may have delivered and recorded such an object. If the manager
// deleted the rights of its own account, it could remove no further object from the member.
func (r *Removal) isReserved() bool {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(r.GroupKind().WithVersion("v1")) // no rule of Reserved depends on the version
	obj.SetName(r.Entry.Name)
	return overrides.Reserved(obj) != nil
}

// isMeant reports whether an object is the one that Fairlead delivered, and not a later object of the same name. If the
// entry has a uid, the object must have this uid. If it has none, because the pass that created the object ended too
// early, the object must have the marks of this wrapper, whose uid is the argument wrapper.
func (r *Removal) isMeant(wrapper types.UID, found *metav1.PartialObjectMetadata) bool {
	if r.Entry.UID != "" {
		return found.UID == r.Entry.UID
	}
	return marks.IsOurs(found, wrapper, r.mark(found))
}

// mark returns the value of AnnotationObject that the entry's object has.
func (r *Removal) mark(found *metav1.PartialObjectMetadata) string {
	return marks.ObjectPath(r.Entry.Resource, r.Entry.Group, found.Namespace, found.Name)
}
