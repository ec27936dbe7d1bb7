// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Delivery is, on a member, the receipt of one wrapper: what the host intends there, what it has
// applied and what it still has to remove, and how the objects fare. It is written by Fairlead; edits
// by hand are not wishes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=deliveries,singular=delivery
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.wrapper.kind`
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.wrapper.namespace`
// +kubebuilder:printcolumn:name="Wrapper",type=string,JSONPath=`.spec.wrapper.name`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.spec.target.revision`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Delivery struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is written by the host.
	// +required
	Spec DeliverySpec `json:"spec,omitzero"`

	// status is written by the collector.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Status DeliveryStatus `json:"status,omitzero"`
}

// DeliveryList is a list of Delivery.
//
// +kubebuilder:object:root=true
type DeliveryList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the deliveries.
	// +required
	Items []Delivery `json:"items"`
}

// DeliverySpec is what the host intends and has done.
type DeliverySpec struct {
	// wrapper is whose delivery this is.
	// +required
	Wrapper WrapperIdentity `json:"wrapper,omitzero"`

	// target is what the member is being brought to. It is absent while the member is being left.
	// +optional
	Target *DeliveryTarget `json:"target,omitempty"`

	// inventory lists every object of this wrapper that is, or may be, on this member. Nothing is
	// there that is not listed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=256
	Inventory []InventoryEntry `json:"inventory,omitempty"`

	// seal is an HMAC over the host, the member, wrapper and target, with a key that only the host has: by it
	// a host that has forgotten knows its own Deliveries from such as somebody wrote on the member.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Seal string `json:"seal,omitempty"`
}

// WrapperIdentity names a wrapper at the host.
type WrapperIdentity struct {
	// kind is Federated or ClusterFederated.
	// +required
	// +kubebuilder:validation:Enum=Federated;ClusterFederated
	Kind WrapperKind `json:"kind,omitempty"`

	// namespace is the wrapper's namespace, none for a ClusterFederated.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name is the wrapper's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// uid is the wrapper's uid.
	// +required
	UID types.UID `json:"uid,omitempty"`

	// generation is the wrapper's generation at the last push.
	// +required
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation,omitempty"`
}

// WrapperKind is the kind of a wrapper.
type WrapperKind string

// The kinds of wrappers.
const (
	KindFederated        WrapperKind = "Federated"
	KindClusterFederated WrapperKind = "ClusterFederated"
)

// DeliveryTarget is what a member is being brought to.
//
// +kubebuilder:validation:AtLeastOneOf=revision;rendering
type DeliveryTarget struct {
	// revision names the ControllerRevision at the host.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// rendering is the digest of all objects as rendered for this member, before Fairlead's marks.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Rendering string `json:"rendering,omitempty"`
}

// InventoryEntry is one object of a delivery. Its namespace is the wrapper's.
type InventoryEntry struct {
	// group is the API group, left out for the core group.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// kind is the kind, as in PersistentVolumeClaim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// resource is the plural that the kind is served as, as in persistentvolumeclaims. It is absent
	// while the member does not serve the kind: such an object is not there.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Resource string `json:"resource,omitempty"`

	// name is the object's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// state says how far it got. Pending: about to be applied, and may or may not be there. Applied:
	// there, as recorded. Removing: to be removed (or kept, or released) as onDelete says.
	// +required
	// +kubebuilder:validation:Enum=Pending;Applied;Removing
	State InventoryState `json:"state,omitempty"`

	// rendering is the digest of this object as rendered, before Fairlead's marks.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Rendering string `json:"rendering,omitempty"`

	// uid is the object's uid once it was applied. Only an object of this uid is ever removed.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// fields is the digest of our managedFields entry after the last apply: where it differs from
	// what is there, somebody else wrote a field of ours.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Fields string `json:"fields,omitempty"`

	// adopted is Yes for an object that was there before Fairlead: it is released, not deleted, in the
	// end.
	// +optional
	// +kubebuilder:validation:Enum=Yes
	Adopted Adoption `json:"adopted,omitempty"`
}

// InventoryState says how far an object got.
type InventoryState string

// The states of an inventory entry.
const (
	EntryPending  InventoryState = "Pending"
	EntryApplied  InventoryState = "Applied"
	EntryRemoving InventoryState = "Removing"
)

// Adoption says whether an object was there before Fairlead.
type Adoption string

// AdoptedYes marks an object that was there before Fairlead.
const AdoptedYes Adoption = "Yes"
