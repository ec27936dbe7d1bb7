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

	// inventory lists the objects that the manager has applied here, is about to apply, or still has to remove. An
	// object stays in the list until it is gone, or until the manager has kept or released it. Namespaces that the
	// manager made for a Federated are not in the list.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=256
	Inventory []InventoryEntry `json:"inventory,omitempty"`

	// seal is an HMAC over the host, the member, the wrapper and the target, with a key that only the host has. It
	// proves that this host wrote the Delivery. Without such a proof, or an Approval, the manager does not adopt the
	// Delivery of an earlier wrapper of the same name.
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

	// namespace is the wrapper's namespace. It is absent for a ClusterFederated.
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

	// generation is the wrapper's generation when the manager last wrote the Delivery. A later generation that renders
	// the same objects for this member causes no write.
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

// InventoryEntry is one object of a Delivery. The object is in the namespace of its Federated; that of a ClusterFederated
// is cluster-scoped.
type InventoryEntry struct {
	// group is the API group, left out for the core group.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// kind is the object's kind, as in PersistentVolumeClaim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// resource is the plural name of the kind in the API, as in persistentvolumeclaims. The manager sets it when it
	// first finds the kind on the member. While it is absent, the manager has not written the object.
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
	// not. Applied: the manager has applied it, as recorded here. Removing: the manager is about to delete, keep or
	// release it, as onDelete says.
	// +required
	// +kubebuilder:validation:Enum=Pending;Applied;Removing
	State InventoryState `json:"state,omitempty"`

	// rendering is the digest of this object as rendered, without Fairlead's marks.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Rendering string `json:"rendering,omitempty"`

	// uid is the uid of the object that the manager applied or adopted. The manager deletes no object that has another
	// uid.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// fields is the digest of Fairlead's managedFields entry after the last recorded apply. If the object on the member
	// has another digest, another client has written a field that Fairlead owns, or the manager has not recorded an
	// apply.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Fields string `json:"fields,omitempty"`

	// adopted is Yes for an object that another client created and that the manager adopted (onConflict: AdoptIfEqual).
	// When the wrapper leaves the member or drops the object, the manager releases it: the object stays and loses
	// Fairlead's marks. Under onDelete: DeleteAll the manager deletes it, unless it is a Namespace or CRD, or annotated
	// federation.fairlead.dev/keep: "true".
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

// Adoption tells whether the manager adopted an object that another client created.
type Adoption string

// AdoptedYes marks an adopted object. Other objects have no value.
const AdoptedYes Adoption = "Yes"
