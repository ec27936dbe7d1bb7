// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Delivery is the record of one wrapper on a member: the state that the host intends there, the objects that the
// manager has applied or still has to remove, and the health of these objects. Only Fairlead writes it. Do not edit it
// by hand.
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

	// spec is the state that the host intends, and the objects that the manager has applied. Only the host writes it.
	// +required
	Spec DeliverySpec `json:"spec,omitzero"`

	// status is the health and the drift of the objects. Only the collector writes it.
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

	// items are the Deliveries.
	// +required
	Items []Delivery `json:"items"`
}

// DeliverySpec is the desired state of one wrapper on one member, and the objects that the manager has applied.
type DeliverySpec struct {
	// wrapper identifies the wrapper on the host.
	// +required
	Wrapper WrapperIdentity `json:"wrapper,omitzero"`

	// target is the desired state of the wrapper on this member. It is absent while the manager removes the wrapper from
	// the member.
	// +optional
	Target *DeliveryTarget `json:"target,omitempty"`

	// inventory lists the objects that the manager has applied on this member, is about to apply, or still has to remove.
	// An object stays in the list until it no longer exists, or until the manager has decided to leave it on the member and
	// no longer manages it. A namespace that the manager created because a Federated needed it is not in the list.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=256
	Inventory []InventoryEntry `json:"inventory,omitempty"`

	// requests ask the collector for evidence about objects. A person asks at the host, by creating a MemberReport. The
	// manager then adds the request here. The collector writes the answer to status.answers until the request expires. A
	// request changes nothing about an object.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=4
	Requests []EvidenceRequest `json:"requests,omitempty"`

	// seal is an HMAC over the host, the member, the wrapper and the target. Its key is only on the host, so the seal
	// proves that this host wrote the Delivery. If a person deletes a wrapper and creates it again, the new wrapper takes
	// over the Delivery only if the seal is valid, or if a person approves the takeover.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Seal string `json:"seal,omitempty"`
}

// WrapperIdentity identifies a wrapper on the host.
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

	// name is the wrapper's metadata.name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// uid is the wrapper's metadata.uid.
	// +required
	UID types.UID `json:"uid,omitempty"`

	// generation is the wrapper's metadata.generation when the manager last wrote the Delivery. The wrapper can have a
	// later generation: the manager does not write the Delivery if the objects for this member stay the same.
	// +required
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation,omitempty"`
}

// WrapperKind is Federated or ClusterFederated.
type WrapperKind string

// The values of WrapperKind: for namespaced objects, and for cluster-scoped objects.
const (
	KindFederated        WrapperKind = "Federated"
	KindClusterFederated WrapperKind = "ClusterFederated"
)

// DeliveryTarget is the desired state of one wrapper on one member.
//
// +kubebuilder:validation:AtLeastOneOf=revision;rendering
type DeliveryTarget struct {
	// revision is the name of the ControllerRevision on the host from which the manager rendered the objects.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// rendering is the digest of all objects as the manager rendered them for this member, before it added Fairlead's
	// labels and annotations.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Rendering string `json:"rendering,omitempty"`
}

// InventoryEntry is one object of a Delivery. An object of a Federated is in the namespace of the Federated. An object
// of a ClusterFederated is cluster-scoped.
type InventoryEntry struct {
	// group is the API group of the object, for example apps. It is absent for the core group.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// kind is the object's kind, for example PersistentVolumeClaim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// resource is the plural name of the kind in the API, for example persistentvolumeclaims. It is absent while the
	// manager has not found the kind on the member. The collector reports when the member begins to serve the kind.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Resource string `json:"resource,omitempty"`

	// name is the object's metadata.name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// state is the progress of the object.
	// - Pending: the manager is about to apply the object, or cannot apply it yet. It may or may not be on the member.
	// - Applied: the manager has applied the object. The other fields of this entry describe the result.
	// - Removing: spec.onDelete of the wrapper decides about the object. The manager is about to delete it, to leave it on
	//   the member, or to leave it there without Fairlead's labels and annotations.
	// +required
	// +kubebuilder:validation:Enum=Pending;Applied;Removing
	State InventoryState `json:"state,omitempty"`

	// rendering is the digest of the object as the manager rendered it, before it added Fairlead's labels and annotations.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Rendering string `json:"rendering,omitempty"`

	// uid is the metadata.uid of the object that the manager applied or adopted. The manager never deletes an object with
	// another uid. It is absent while the manager has recorded no apply.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// fields is a digest of the set of fields that Fairlead owns in the object (metadata.managedFields), after the last
	// apply that the manager recorded. If the object on the member has another digest, another client has written a field
	// that Fairlead owned, or the manager failed to record an apply.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Fields string `json:"fields,omitempty"`

	// adopted is Yes for an object that another client created and the manager adopted (onConflict: AdoptIfEqual). It is
	// absent for all other objects. When the wrapper leaves the member or drops the object, an adopted object stays and
	// loses Fairlead's labels and annotations. Under onDelete: DeleteAll the manager deletes it instead, unless it is a
	// Namespace or CRD, or has the annotation federation.fairlead.dev/keep: "true".
	// +optional
	// +kubebuilder:validation:Enum=Yes
	Adopted Adoption `json:"adopted,omitempty"`
}

// InventoryState is the type of InventoryEntry.State.
type InventoryState string

// The values of InventoryState. InventoryEntry.State explains them.
const (
	EntryPending  InventoryState = "Pending"
	EntryApplied  InventoryState = "Applied"
	EntryRemoving InventoryState = "Removing"
)

// Adoption is the type of InventoryEntry.Adopted.
type Adoption string

// AdoptedYes is the only value of Adoption. For an object that was not adopted the field is empty.
const AdoptedYes Adoption = "Yes"
