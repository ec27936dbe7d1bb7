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

// DeliveryStatus is what the collector sees. While all is well with kinds that have no progress of
// their own it writes nothing.
type DeliveryStatus struct {
	// observedRendering is the target's rendering that was judged.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ObservedRendering string `json:"observedRendering,omitempty"`

	// version is the name of the CSV that the delivery's Subscription has installed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`

	// objects are those that are not well, have drifted, or can go on because their kind is served
	// now.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=256
	Objects []ObjectStatus `json:"objects,omitempty"`
}

// ObjectStatus is what the collector sees of one object.
type ObjectStatus struct {
	// group is the API group, left out for the core group.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// kind is the kind.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// name is the object's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// health says how it fares.
	// +required
	// +kubebuilder:validation:Enum=Healthy;Waiting;Progressing;Degraded
	Health Health `json:"health,omitempty"`

	// reason is a word for programs.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message is a sentence for people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// sinceTime is when it came into this health.
	// +optional
	SinceTime metav1.Time `json:"sinceTime,omitempty,omitzero"`

	// drift is there when the object is not as it was applied.
	// +optional
	Drift *Drift `json:"drift,omitempty"`
}

// Drift is what somebody did to a pushed object.
//
// +kubebuilder:validation:AtLeastOneOf=kind
type Drift struct {
	// kind says what was seen: Changed (an owned field was written), Gone (the object is not there) or
	// Replaced (an object of another uid is there).
	// +optional
	// +kubebuilder:validation:Enum=Changed;Gone;Replaced
	Kind DriftKind `json:"kind,omitempty"`

	// manager is the field manager that wrote, where it is known.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Manager string `json:"manager,omitempty"`

	// fields are the paths that no longer are ours, as in .spec.replicas, the first 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Fields []string `json:"fields,omitempty"`

	// resourceVersion is the object's when this was seen (of a Gone object, its uid): two drifts are
	// the same when it is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// DriftKind says what was seen.
type DriftKind string

// The kinds of drift.
const (
	DriftChanged  DriftKind = "Changed"
	DriftGone     DriftKind = "Gone"
	DriftReplaced DriftKind = "Replaced"
)

// Health says how one object fares.
type Health string

// The healths of an object.
const (
	// Healthy: it is what its author asked for.
	Healthy Health = "Healthy"
	// Waiting: nothing is wrong; something else has to come first.
	Waiting Health = "Waiting"
	// Progressing: it is on its way.
	Progressing Health = "Progressing"
	// Degraded: it says of itself, or its kind's rules say, that it is not well.
	Degraded Health = "Degraded"
)
