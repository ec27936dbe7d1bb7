// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// WrapperSpec is the desired state of a Federated or a ClusterFederated: objects, and the members that get them.
type WrapperSpec struct {
	// objects are the wrapped objects: 1 to 64 complete manifests of any kinds, 1 MiB in total. In a Federated, leave out
	// metadata.namespace, or set it to the namespace of the Federated. A field that you leave out of a manifest belongs to
	// the member: the manager does not set it, and a change of it is no drift.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XEmbeddedResource
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="self.all(o, has(o.metadata) && has(o.metadata.name) && size(o.metadata.name) > 0)",message="every object needs a metadata.name (generateName would make a new object at each push)"
	// +kubebuilder:validation:XValidation:rule="self.all(o, !o.apiVersion.startsWith('federation.fairlead.dev/'))",message="Fairlead's own kinds are not federated: create them on the host itself"
	Objects []runtime.RawExtension `json:"objects,omitempty"`

	// placement selects the members that get the objects. It is required, because a forgotten placement must not mean
	// every member.
	// +required
	Placement Placement `json:"placement,omitzero"`

	// overrides change the objects for some members. The manager applies them in the order of this list. If two overrides
	// change the same field, the later one wins.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Overrides []Override `json:"overrides,omitempty"`

	// rollout limits how many members change at the same time, and how many members the wrapper may leave within an hour.
	// If it is absent, a change goes to all members at the same time, and maxRemoval has its default.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Rollout Rollout `json:"rollout,omitzero"`

	// upgrade makes the manager approve the InstallPlans of OLM on members, up to the versions that are named here. If it
	// is absent, the manager approves no InstallPlan. For a Subscription with installPlanApproval: Manual, a person then
	// has to approve the InstallPlans on each member.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Upgrade Upgrade `json:"upgrade,omitzero"`

	// drift selects what the manager does when another client changes or deletes a pushed object on a member. Defaults to
	// Repair.
	// - Repair: the manager applies the object again.
	// - Report: the manager only reports the change in the status.
	// +optional
	// +default="Repair"
	// +kubebuilder:validation:Enum=Repair;Report
	Drift DriftPolicy `json:"drift,omitempty"`

	// onConflict selects what the manager does if a member already has an object of that kind and name which Fairlead did
	// not create. Defaults to Fail.
	// - Fail: the manager does not change that object. The status names the object's field manager.
	// - AdoptIfEqual: the manager adopts the object, if that changes nothing in it except Fairlead's own labels and
	//   annotations. From then on the object belongs to the wrapper.
	// +optional
	// +default="Fail"
	// +kubebuilder:validation:Enum=Fail;AdoptIfEqual
	OnConflict ConflictPolicy `json:"onConflict,omitempty"`

	// onDelete selects what happens to objects on a member in three cases: the wrapper is deleted, its placement no longer
	// selects the member, or the wrapper drops an object. Defaults to KeepData.
	// - KeepData: the manager keeps objects that hold data, or that data depends on: claims, volumes, volume snapshots,
	//   Namespaces, CRDs and StorageClasses. It also keeps objects that own a claim, and custom resources with a
	//   finalizer. It deletes all other objects.
	// - DeleteAll: the manager deletes all objects, except a Namespace or CRD that it adopted, or that contains objects
	//   which do not belong to the wrapper.
	// - KeepAll: the manager deletes no object.
	//
	// The annotation federation.fairlead.dev/keep: "true" keeps an object under each of these policies. With the value
	// "false", KeepData deletes the object. An adopted object (onConflict) also stays, unless the policy is DeleteAll.
	// +optional
	// +default="KeepData"
	// +kubebuilder:validation:Enum=KeepData;DeleteAll;KeepAll
	OnDelete DeletionPolicy `json:"onDelete,omitempty"`

	// suspend stops writes to members for this wrapper. Defaults to None.
	// - None: the manager writes as usual.
	// - Rollout: no further wave of spec.rollout begins. The wave that has begun goes on, and so do repairs of drift.
	// - All: the manager writes nothing to any member. No progress deadline runs, and no wave passes. If you delete the
	//   wrapper, the manager still removes it from the members.
	// +optional
	// +default="None"
	// +kubebuilder:validation:Enum=None;Rollout;All
	Suspend SuspendPolicy `json:"suspend,omitempty"`
}

// Placement selects the members that get the objects.
type Placement struct {
	// clusters selects members by name and by label.
	// +required
	Clusters *ClusterSelection `json:"clusters,omitempty"`
}

// ClusterSelection selects members: those that are listed in names, and those that at least one of the selectors
// matches.
//
// +kubebuilder:validation:MinProperties=0
// +kubebuilder:validation:XValidation:rule="has(self.names) || has(self.selectors)",message="clusters is empty: name the members in names, or select them in selectors (selectors: [{}] selects every member)"
type ClusterSelection struct {
	// names are the names of MemberClusters. A name without a MemberCluster selects nothing. In spec.placement and in
	// spec.overrides, the status reports such a name as ClusterNotFound.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Names []string `json:"names,omitempty"`

	// selectors match the labels of MemberClusters, for example [{matchLabels: {env: prod}}]. A member is selected if at
	// least one of them matches it. `[{}]` selects every member.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Selectors []metav1.LabelSelector `json:"selectors,omitempty"`
}

// DriftPolicy is the type of WrapperSpec.Drift.
type DriftPolicy string

// The values of DriftPolicy. WrapperSpec.Drift explains them.
const (
	DriftRepair DriftPolicy = "Repair"
	DriftReport DriftPolicy = "Report"
)

// ConflictPolicy is the type of WrapperSpec.OnConflict.
type ConflictPolicy string

// The values of ConflictPolicy. WrapperSpec.OnConflict explains them.
const (
	ConflictFail         ConflictPolicy = "Fail"
	ConflictAdoptIfEqual ConflictPolicy = "AdoptIfEqual"
)

// DeletionPolicy is the type of WrapperSpec.OnDelete.
type DeletionPolicy string

// The values of DeletionPolicy. WrapperSpec.OnDelete explains them.
const (
	KeepData  DeletionPolicy = "KeepData"
	DeleteAll DeletionPolicy = "DeleteAll"
	KeepAll   DeletionPolicy = "KeepAll"
)

// SuspendPolicy is the type of the field spec.suspend, in wrappers and in MemberClusters.
type SuspendPolicy string

// The values of SuspendPolicy. A wrapper can have None, Rollout or All. A MemberCluster can have None or Pushes.
const (
	SuspendNone    SuspendPolicy = "None"
	SuspendRollout SuspendPolicy = "Rollout"
	SuspendAll     SuspendPolicy = "All"
	SuspendPushes  SuspendPolicy = "Pushes"
)

// HoldsWaves reports whether no further wave of the wrapper's rollout begins.
func (s SuspendPolicy) HoldsWaves() bool { return s == SuspendRollout || s == SuspendAll }

// WrapperReference identifies a wrapper. A Federated must be in the namespace of the object that has the reference. For a
// ClusterFederated, that object is in fairlead-system.
type WrapperReference struct {
	// kind is Federated or ClusterFederated.
	// +required
	// +kubebuilder:validation:Enum=Federated;ClusterFederated
	Kind WrapperKind `json:"kind,omitempty"`

	// name is the wrapper's metadata.name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// uid is the wrapper's metadata.uid. If a person deletes the wrapper and creates it again, the new wrapper has another
	// uid, and this reference does not identify it.
	// +required
	UID types.UID `json:"uid,omitempty"`
}
