// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Delivery is the record of one wrapper on a member: the state that the host intends there, the objects that it has
// applied or still has to remove, and the health of these objects. Only Fairlead writes it. Do not edit it by hand.
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

// DeliverySpec is the state that the host intends, and the objects that it has applied.
type DeliverySpec struct {
	// wrapper is the wrapper that the Delivery records.
	// +required
	Wrapper WrapperIdentity `json:"wrapper,omitzero"`

	// target is the desired state of the member. It is absent while the manager removes the wrapper from the member.
	// +optional
	Target *DeliveryTarget `json:"target,omitempty"`

	// inventory lists every object of this wrapper that is, or may be, on this member. Every object that the wrapper
	// has there is listed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=256
	Inventory []InventoryEntry `json:"inventory,omitempty"`

	// seal is an HMAC over the host, the member, the wrapper and the target, with a key that only the host has. A host
	// that lost its data uses the seal to tell its own Deliveries from those that another client wrote on the member.
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

// DeliveryTarget is the desired state of a member.
//
// +kubebuilder:validation:AtLeastOneOf=revision;rendering
type DeliveryTarget struct {
	// revision names the ControllerRevision at the host.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// rendering is the digest of all objects as rendered for this member, without Fairlead's marks.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Rendering string `json:"rendering,omitempty"`
}

// InventoryEntry is one object of a Delivery. Its namespace is the wrapper's.
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

	// resource is the plural name of the kind in the API, as in persistentvolumeclaims. It is absent while the member
	// does not serve the kind. Then the object is not on the member.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Resource string `json:"resource,omitempty"`

	// name is the object's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// state is the progress of the object. Pending: the manager is about to apply it, so it may be on the member or
	// not. Applied: it is on the member, as recorded. Removing: the manager is to remove, keep or release it, as
	// onDelete says.
	// +required
	// +kubebuilder:validation:Enum=Pending;Applied;Removing
	State InventoryState `json:"state,omitempty"`

	// rendering is the digest of this object as rendered, without Fairlead's marks.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Rendering string `json:"rendering,omitempty"`

	// uid is the object's uid after it was applied. The manager only removes an object with this uid.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// fields is the digest of Fairlead's managedFields entry after the last apply. If it differs from the digest on the
	// member, another client wrote a field that Fairlead owns.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Fields string `json:"fields,omitempty"`

	// adopted is Yes for an object that was on the member before Fairlead. The manager releases it in the end, and does
	// not delete it.
	// +optional
	// +kubebuilder:validation:Enum=Yes
	Adopted Adoption `json:"adopted,omitempty"`
}

// InventoryState is the progress of an object.
type InventoryState string

// The states of an inventory entry.
const (
	EntryPending  InventoryState = "Pending"
	EntryApplied  InventoryState = "Applied"
	EntryRemoving InventoryState = "Removing"
)

// Adoption marks an object that was on the member before Fairlead.
type Adoption string

// AdoptedYes marks such an object.
const AdoptedYes Adoption = "Yes"
