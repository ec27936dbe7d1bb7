// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// WrapperSpec is what a wrapper of either scope says.
type WrapperSpec struct {
	// objects are the wrapped objects, complete manifests of any kinds: a bundle, so that what
	// belongs together travels together. From 1 to 64 of them, 1 MiB in all. In a Federated
	// metadata.namespace may be left out or be the wrapper's own, nothing else. Fields that you leave
	// out stay the member's to fill in.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XEmbeddedResource
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="self.all(o, has(o.metadata) && has(o.metadata.name) && size(o.metadata.name) > 0)",message="every object needs a metadata.name (generateName would make a new object at each push)"
	// +kubebuilder:validation:XValidation:rule="self.all(o, !o.apiVersion.startsWith('federation.fairlead.dev/'))",message="Fairlead's own kinds are not federated: write them at the host that is to act on them"
	Objects []runtime.RawExtension `json:"objects,omitempty"`

	// placement says on which members the objects are to stand. It is required: nothing goes anywhere
	// by leaving a field out.
	// +required
	Placement Placement `json:"placement,omitzero"`

	// overrides tailor the objects for members, in this order: a later one wins.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Overrides []Override `json:"overrides,omitempty"`

	// rollout paces what is done to members.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Rollout Rollout `json:"rollout,omitzero"`

	// drift says what to do when somebody changes or deletes a pushed object on a member: Repair
	// applies the object again, Report only tells. Defaults to Repair.
	// +optional
	// +default="Repair"
	// +kubebuilder:validation:Enum=Repair;Report
	Drift DriftPolicy `json:"drift,omitempty"`

	// onConflict says what to do when an object of that name is already there and is not Fairlead's:
	// Fail leaves it alone and tells whose it is; AdoptIfEqual takes it into care when that would
	// change nothing but Fairlead's own marks. Defaults to Fail.
	// +optional
	// +default="Fail"
	// +kubebuilder:validation:Enum=Fail;AdoptIfEqual
	OnConflict ConflictPolicy `json:"onConflict,omitempty"`

	// onDelete says what happens on a member that this wrapper leaves, because it was deleted, no
	// longer selects the member, or dropped an object. KeepData deletes all but what holds data or the
	// ground that data stands on: claims, volumes, volume snapshots, Namespaces, CRDs and
	// StorageClasses. DeleteAll deletes these too. KeepAll leaves everything. An object annotated
	// federation.fairlead.dev/keep: "true" is always kept, one with "false" is not kept by KeepData.
	// Defaults to KeepData.
	// +optional
	// +default="KeepData"
	// +kubebuilder:validation:Enum=KeepData;DeleteAll;KeepAll
	OnDelete DeletionPolicy `json:"onDelete,omitempty"`

	// suspend set to All stops every write to members on behalf of this wrapper; deleting the wrapper
	// still removes it. Defaults to None.
	// +optional
	// +default="None"
	// +kubebuilder:validation:Enum=None;All
	Suspend SuspendPolicy `json:"suspend,omitempty"`
}

// Placement selects members.
type Placement struct {
	// clusters are the members by name and by label.
	// +required
	Clusters *ClusterSelection `json:"clusters,omitempty"`
}

// ClusterSelection selects members: the named ones and those that any of the selectors matches.
//
// +kubebuilder:validation:MinProperties=0
// +kubebuilder:validation:XValidation:rule="has(self.names) || has(self.selectors)",message="clusters is empty: give names or selectors; every member is written as selectors: [{}]"
type ClusterSelection struct {
	// names are names of MemberClusters. A name that no MemberCluster has is reported as
	// ClusterNotFound; the others are served.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Names []string `json:"names,omitempty"`

	// selectors match the labels of MemberClusters. One that matches is enough; within one, all that
	// it says must match. `[{}]` is every member.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Selectors []metav1.LabelSelector `json:"selectors,omitempty"`
}

// Rollout paces what is done to members.
type Rollout struct {
	// maxRemoval is how many members may be left within an hour because the placement, or a label of
	// theirs, no longer selects them: a number from 1 to 5000, or a percentage from 1% to 100% of those
	// where the wrapper stood when the hour began, rounded down; one always may. What is past it stays
	// placed and waits for an Approval, or for the hour to be over. Deleting the wrapper does not wait.
	// With 100% nothing waits. Defaults to 30%.
	// +optional
	// +default="30%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 5000 : string(self).matches('^(100|[1-9][0-9]?)%$')",message="maxRemoval is a number from 1 to 5000, or a percentage from 1% to 100%"
	MaxRemoval *intstr.IntOrString `json:"maxRemoval,omitempty"`
}

// DriftPolicy says what to do about changes made on a member.
type DriftPolicy string

// The drift policies.
const (
	DriftRepair DriftPolicy = "Repair"
	DriftReport DriftPolicy = "Report"
)

// ConflictPolicy says what to do about an object that somebody else made.
type ConflictPolicy string

// The conflict policies.
const (
	ConflictFail         ConflictPolicy = "Fail"
	ConflictAdoptIfEqual ConflictPolicy = "AdoptIfEqual"
)

// DeletionPolicy says what leaving a member does to the objects there.
type DeletionPolicy string

// The deletion policies.
const (
	KeepData  DeletionPolicy = "KeepData"
	DeleteAll DeletionPolicy = "DeleteAll"
	KeepAll   DeletionPolicy = "KeepAll"
)

// SuspendPolicy says what is stopped.
type SuspendPolicy string

// The suspend policies: All is a wrapper's, Pushes a member's.
const (
	SuspendNone   SuspendPolicy = "None"
	SuspendAll    SuspendPolicy = "All"
	SuspendPushes SuspendPolicy = "Pushes"
)
