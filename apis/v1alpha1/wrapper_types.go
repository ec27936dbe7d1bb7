// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// WrapperSpec is the desired state of a wrapper of either scope.
type WrapperSpec struct {
	// objects are the wrapped objects: 1 to 64 complete manifests of any kinds, 1 MiB in all. In a Federated,
	// metadata.namespace is absent or the wrapper's own namespace. Fields that you leave out belong to the member.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XEmbeddedResource
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="self.all(o, has(o.metadata) && has(o.metadata.name) && size(o.metadata.name) > 0)",message="every object needs a metadata.name (generateName would make a new object at each push)"
	// +kubebuilder:validation:XValidation:rule="self.all(o, !o.apiVersion.startsWith('federation.fairlead.dev/'))",message="Fairlead's own kinds are not federated: create them on the host itself"
	Objects []runtime.RawExtension `json:"objects,omitempty"`

	// placement selects the members that get the objects. It is required: a missing field never selects a member.
	// +required
	Placement Placement `json:"placement,omitzero"`

	// overrides change the objects for some members. They apply in this order, so a later one wins.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Overrides []Override `json:"overrides,omitempty"`

	// rollout limits how fast members change.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Rollout Rollout `json:"rollout,omitzero"`

	// upgrade tells which versions OLM may install on members. Without it a person approves the InstallPlans of Manual
	// Subscriptions on each member.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Upgrade Upgrade `json:"upgrade,omitzero"`

	// drift selects what the manager does when another client changes or deletes a pushed object on a member. Repair
	// applies the object again. Report only reports the change. Defaults to Repair.
	// +optional
	// +default="Repair"
	// +kubebuilder:validation:Enum=Repair;Report
	Drift DriftPolicy `json:"drift,omitempty"`

	// onConflict selects what the manager does if an object of that name exists on the member and is not Fairlead's.
	// Fail leaves it alone and reports its owner. AdoptIfEqual takes it over if that changes nothing except Fairlead's
	// own marks. Defaults to Fail.
	// +optional
	// +default="Fail"
	// +kubebuilder:validation:Enum=Fail;AdoptIfEqual
	OnConflict ConflictPolicy `json:"onConflict,omitempty"`

	// onDelete selects what happens to the objects on a member when the wrapper is deleted, when it no longer selects
	// the member, or when it drops an object. KeepData keeps objects that hold data or that data depends on: claims,
	// volumes, volume snapshots, Namespaces, CRDs, StorageClasses. It also keeps objects that own a claim, and custom
	// resources with a finalizer. It deletes the others. DeleteAll deletes all objects, except a Namespace or CRD
	// that holds objects of others. KeepAll deletes no object. An object annotated federation.fairlead.dev/keep: "true" is
	// always kept; with "false", KeepData deletes it. Defaults to KeepData.
	// +optional
	// +default="KeepData"
	// +kubebuilder:validation:Enum=KeepData;DeleteAll;KeepAll
	OnDelete DeletionPolicy `json:"onDelete,omitempty"`

	// suspend set to All stops every write to members for this wrapper, except its removal after you have deleted it.
	// Set to Rollout it lets no further wave of spec.rollout begin; repairs go on. Defaults to None.
	// +optional
	// +default="None"
	// +kubebuilder:validation:Enum=None;Rollout;All
	Suspend SuspendPolicy `json:"suspend,omitempty"`
}

// Placement selects members.
type Placement struct {
	// clusters selects the members by name and by label.
	// +required
	Clusters *ClusterSelection `json:"clusters,omitempty"`
}

// ClusterSelection selects members: the named ones, and those that any of the selectors matches.
//
// +kubebuilder:validation:MinProperties=0
// +kubebuilder:validation:XValidation:rule="has(self.names) || has(self.selectors)",message="clusters is empty: name the members in names, or select them in selectors (selectors: [{}] selects every member)"
type ClusterSelection struct {
	// names are names of MemberClusters. A name without a MemberCluster is reported as ClusterNotFound; the manager
	// serves the others.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Names []string `json:"names,omitempty"`

	// selectors match the labels of MemberClusters. A member is selected if one selector matches it. `[{}]` selects
	// every member.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Selectors []metav1.LabelSelector `json:"selectors,omitempty"`
}

// DriftPolicy is the policy for changes by other clients on a member.
type DriftPolicy string

// The drift policies.
const (
	DriftRepair DriftPolicy = "Repair"
	DriftReport DriftPolicy = "Report"
)

// ConflictPolicy is the policy for an existing object of another owner.
type ConflictPolicy string

// The conflict policies.
const (
	ConflictFail         ConflictPolicy = "Fail"
	ConflictAdoptIfEqual ConflictPolicy = "AdoptIfEqual"
)

// DeletionPolicy is the policy for the objects of a wrapper that leaves a member.
type DeletionPolicy string

// The deletion policies.
const (
	KeepData  DeletionPolicy = "KeepData"
	DeleteAll DeletionPolicy = "DeleteAll"
	KeepAll   DeletionPolicy = "KeepAll"
)

// SuspendPolicy tells which writes are suspended.
type SuspendPolicy string

// The suspend policies. All and Rollout are for wrappers, Pushes for MemberClusters.
const (
	SuspendNone    SuspendPolicy = "None"
	SuspendRollout SuspendPolicy = "Rollout"
	SuspendAll     SuspendPolicy = "All"
	SuspendPushes  SuspendPolicy = "Pushes"
)
