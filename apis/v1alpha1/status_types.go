// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WrapperStatus is what the host decided, has done and saw for one wrapper.
type WrapperStatus struct {
	// conditions are Placed (the decision stands), Pushed (every placed member holds the update
	// revision), Healthy (what is there is well) and Ready, their summary. Reconciling and Stalled are
	// there only while they are True, as kstatus expects.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// currentRevision is the newest revision that every placed member has held. It names a
	// ControllerRevision.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	CurrentRevision string `json:"currentRevision,omitempty"`

	// updateRevision is the revision of the spec that members are being brought to. It names a
	// ControllerRevision.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	UpdateRevision string `json:"updateRevision,omitempty"`

	// placement is the decision, written by the scheduler alone and before anything is pushed.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Placement PlacementStatus `json:"placement,omitzero"`

	// counts are numbers of members by state.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Counts ClusterCounts `json:"counts,omitzero"`

	// clusters has a line for each placed or leaving member, the troubled first, 500 at most.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=500
	Clusters []ClusterStatus `json:"clusters,omitempty"`

	// clustersOmitted is how many members have no line.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ClustersOmitted int32 `json:"clustersOmitted,omitempty"`

	// clustersOmittedByState counts, by state, the members that have no line. Members in trouble get lines first, so
	// all omitted members are healthy unless more than 500 are in trouble.
	// +optional
	// +listType=map
	// +listMapKey=state
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=10
	ClustersOmittedByState []OmittedClusters `json:"clustersOmittedByState,omitempty"`
}

// OmittedClusters are members that have no line.
type OmittedClusters struct {
	// state says how they fare.
	// +required
	// +kubebuilder:validation:Enum=Waiting;Pushing;Progressing;Healthy;Degraded;Stalled;Held;Removing;Unreachable;Unknown
	State ClusterState `json:"state,omitempty"`

	// count is how many they are.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count,omitempty"`
}

// ClusterCounts are numbers of members. Waiting, Pushing and Removing count as progressing, Unknown
// as unreachable.
type ClusterCounts struct {
	// placed is how many members the decision names.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Placed *int32 `json:"placed,omitempty"`

	// updated is how many of them hold the update revision.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Updated *int32 `json:"updated,omitempty"`

	// healthy is how many of them hold the update revision and are well.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Healthy *int32 `json:"healthy,omitempty"`

	// progressing is how many are on their way.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Progressing *int32 `json:"progressing,omitempty"`

	// degraded is how many hold the objects but are not well.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Degraded *int32 `json:"degraded,omitempty"`

	// stalled is how many need a person: trying again cannot help.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Stalled *int32 `json:"stalled,omitempty"`

	// held is how many are kept back on purpose.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Held *int32 `json:"held,omitempty"`

	// unreachable is how many cannot be asked.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Unreachable *int32 `json:"unreachable,omitempty"`
}

// ClusterStatus is one member's line: never payload, a message only in trouble.
type ClusterStatus struct {
	// name is the name of the MemberCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// revision is the revision that the member holds, or is being brought to.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// state says how the member fares.
	// +required
	// +kubebuilder:validation:Enum=Waiting;Pushing;Progressing;Healthy;Degraded;Stalled;Held;Removing;Unreachable;Unknown
	State ClusterState `json:"state,omitempty"`

	// reason is a word for programs: one of Fairlead's own, or OLM's or Kubernetes' passed on.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message is a sentence for people, 256 bytes at most.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`

	// version is the version of the operator that the wrapper's Subscription installed, where there is
	// one: the name of its CSV.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`

	// delivery is the Delivery on the member that a pair is held for (HostBehindMember, WrapperReplaced): what
	// an Approval with allow: Overwrite has to name. Absent otherwise.
	// +optional
	Delivery *DeliveryVersion `json:"delivery,omitempty"`

	// lastTransitionTime is when the state last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty,omitzero"`
}

// DeliveryVersion is a Delivery as it was at one time: whatever is written to its spec later makes it
// another.
//
// +kubebuilder:validation:AtLeastOneOf=uid;generation
type DeliveryVersion struct {
	// uid is the Delivery's own uid.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// generation is the Delivery's own generation.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation,omitempty"`
}

// ClusterState says how one member fares with one wrapper.
type ClusterState string

// The states of a member with one wrapper.
const (
	// StateWaiting: nothing is wrong; something else has to come first (a kind, a consumer, a person's approval).
	StateWaiting ClusterState = "Waiting"
	// StatePushing: the objects are being written.
	StatePushing ClusterState = "Pushing"
	// StateProgressing: the objects are there, and on their way to being well.
	StateProgressing ClusterState = "Progressing"
	// StateHealthy: the objects of the update revision are there and well.
	StateHealthy ClusterState = "Healthy"
	// StateDegraded: the objects are there and not well, or a push fails and is tried again.
	StateDegraded ClusterState = "Degraded"
	// StateStalled: trying again cannot help; a person has to change something.
	StateStalled ClusterState = "Stalled"
	// StateHeld: kept back on purpose (suspended, or not left before a person says so).
	StateHeld ClusterState = "Held"
	// StateRemoving: the member is being left.
	StateRemoving ClusterState = "Removing"
	// StateUnreachable: the member's API server does not answer, or not to us.
	StateUnreachable ClusterState = "Unreachable"
	// StateUnknown: nothing has been heard from the member since the manager started.
	StateUnknown ClusterState = "Unknown"
)
