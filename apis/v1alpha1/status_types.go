// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WrapperStatus is the placement decision for one wrapper, and the state of the wrapper on its members.
type WrapperStatus struct {
	// conditions are Placed (the placement is decided), Pushed (every placed member holds the update revision), Healthy
	// (the objects there are healthy) and Ready, their summary. Reconciling and Stalled exist only while they are True,
	// as kstatus expects.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status is for.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// currentRevision is the newest revision that every placed member has held. It is the name of a
	// ControllerRevision.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	CurrentRevision string `json:"currentRevision,omitempty"`

	// updateRevision is the revision of the present spec. The manager brings the members to it. It is the name of a
	// ControllerRevision.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	UpdateRevision string `json:"updateRevision,omitempty"`

	// placement is the placement decision. Only the manager's scheduler writes it, and it does so before the first push.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Placement PlacementStatus `json:"placement,omitzero"`

	// rollout is the state of the present rollout, or of the last one. It is absent when spec.rollout paces no change.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Rollout RolloutStatus `json:"rollout,omitzero"`

	// counts are numbers of members by state.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Counts ClusterCounts `json:"counts,omitzero"`

	// clusters has a line for each placed or leaving member, at most 500. Members in trouble come first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=500
	Clusters []ClusterStatus `json:"clusters,omitempty"`

	// clustersOmitted is the number of members without a line.
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

// OmittedClusters are the members in one state that have no line.
type OmittedClusters struct {
	// state is the state of these members.
	// +required
	// +kubebuilder:validation:Enum=Waiting;Pushing;Progressing;Healthy;Degraded;Stalled;Held;Removing;Unreachable;Unknown
	State ClusterState `json:"state,omitempty"`

	// count is the number of these members.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count,omitempty"`
}

// ClusterCounts are numbers of members. Waiting, Pushing and Removing count as progressing, Unknown
// as unreachable.
type ClusterCounts struct {
	// placed is the number of placed members.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Placed *int32 `json:"placed,omitempty"`

	// updated is the number of placed members that hold the update revision.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Updated *int32 `json:"updated,omitempty"`

	// healthy is the number of placed members that hold what they are to hold now, and are healthy. Those that wait for
	// their wave are to hold an earlier revision.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Healthy *int32 `json:"healthy,omitempty"`

	// progressing is the number of members that are on their way to a healthy state.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Progressing *int32 `json:"progressing,omitempty"`

	// degraded is the number of members where an object is not healthy, or where a push fails and is tried again.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Degraded *int32 `json:"degraded,omitempty"`

	// stalled is the number of members where another try cannot help: a person has to change something.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Stalled *int32 `json:"stalled,omitempty"`

	// held is the number of members to which the manager writes nothing, or from which it removes nothing, until a
	// person decides.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Held *int32 `json:"held,omitempty"`

	// unreachable is the number of members that do not answer.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Unreachable *int32 `json:"unreachable,omitempty"`
}

// ClusterStatus is the line of one member in the status of a wrapper. It never has content of objects, and a message
// only in trouble.
type ClusterStatus struct {
	// name is the name of the MemberCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// revision is the revision that the member holds, or that the manager is pushing to it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// state is the state of the wrapper on the member.
	// +required
	// +kubebuilder:validation:Enum=Waiting;Pushing;Progressing;Healthy;Degraded;Stalled;Held;Removing;Unreachable;Unknown
	State ClusterState `json:"state,omitempty"`

	// reason is a short reason for programs, from Fairlead, OLM or Kubernetes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message is an explanation for people, at most 256 bytes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`

	// version is the name of the CSV that the wrapper's Subscription installed, if there is a Subscription.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`

	// delivery is the Delivery that the manager does not overwrite (reason HostBehindMember or WrapperReplaced). An
	// Approval with allow: Overwrite has to name it. The field is absent for other reasons.
	// +optional
	Delivery *DeliveryVersion `json:"delivery,omitempty"`

	// lastTransitionTime is when the state or the revision last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty,omitzero"`
}

// DeliveryVersion identifies a Delivery and its present content. Every later write to its spec makes another version.
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

// ClusterState is the state of one wrapper on one member.
type ClusterState string

// The states of a member with one wrapper.
const (
	// StateWaiting: nothing is wrong, and something else has to come first (a kind, a consumer, an Approval).
	StateWaiting ClusterState = "Waiting"
	// StatePushing: the manager is writing the objects.
	StatePushing ClusterState = "Pushing"
	// StateProgressing: the objects are there, and on their way to a healthy state.
	StateProgressing ClusterState = "Progressing"
	// StateHealthy: the objects of the update revision are there, and healthy.
	StateHealthy ClusterState = "Healthy"
	// StateDegraded: the objects are there and not healthy, or a push fails and the manager tries it again.
	StateDegraded ClusterState = "Degraded"
	// StateStalled: another try cannot help; a person has to change something.
	StateStalled ClusterState = "Stalled"
	// StateHeld: changes are suspended, or wait for a person's Approval.
	StateHeld ClusterState = "Held"
	// StateRemoving: the manager is removing the wrapper from the member.
	StateRemoving ClusterState = "Removing"
	// StateUnreachable: the member's API server does not answer, or refuses the host.
	StateUnreachable ClusterState = "Unreachable"
	// StateUnknown: the manager has not reached the member since it started.
	StateUnknown ClusterState = "Unknown"
)
