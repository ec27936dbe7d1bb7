// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WrapperStatus tells which members get the objects of a wrapper, and in which state the wrapper is on each of them.
type WrapperStatus struct {
	// conditions are the conditions of the wrapper. Reconciling and Stalled are present only while they are True: programs
	// that use kstatus, such as Flux and Argo CD, expect that.
	// - Placed: the manager has decided which members get the objects.
	// - Pushed: every placed member has the update revision, and the wrapper has left all other members.
	// - Healthy: every placed member is healthy with the revision that the manager wants there now. For a member that waits
	//   for its wave, this is an earlier revision.
	// - Ready: the summary. It is True only if Placed, Pushed and Healthy are True.
	// - Reconciling: the manager is still bringing the members to the desired state.
	// - Stalled: retrying cannot help, or a deadline has passed, for the whole wrapper or for at least one member. The
	//   message says which.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the metadata.generation of the wrapper that this status describes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// currentRevision is the last revision that all placed members had at the same time. It is the name of a
	// ControllerRevision, for example fed-web-5d8f7c9b64.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	CurrentRevision string `json:"currentRevision,omitempty"`

	// updateRevision is the revision of the present spec. The manager brings the members to it. It is the name of a
	// ControllerRevision, for example fed-web-5d8f7c9b64.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	UpdateRevision string `json:"updateRevision,omitempty"`

	// placement is the manager's decision on which members get the objects. The manager writes it before the first push.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Placement PlacementStatus `json:"placement,omitzero"`

	// rollout is the state of the present rollout, or of the last one if no rollout is under way. It is absent if
	// spec.rollout has none of waves, maxUnavailable, progressDeadlineSeconds and onFailure.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Rollout RolloutStatus `json:"rollout,omitzero"`

	// upgrade has the version that the manager took last for each Subscription with approve: Latest. It is absent if there
	// is no such Subscription.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Upgrade UpgradeStatus `json:"upgrade,omitzero"`

	// counts has the numbers of members in each state.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Counts ClusterCounts `json:"counts,omitzero"`

	// clusters has an entry for each member on which the wrapper is placed, and for each member that it is leaving, 500 at
	// most. Members with a problem come first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=500
	Clusters []ClusterStatus `json:"clusters,omitempty"`

	// clustersOmitted is the number of members that have no entry in clusters. It is absent if every member has one.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ClustersOmitted int32 `json:"clustersOmitted,omitempty"`

	// clustersOmittedByState counts, by state, the members that have no entry in clusters. Members with a problem get the
	// entries first. So if at most 500 members are not Healthy, all members without an entry are Healthy.
	// +optional
	// +listType=map
	// +listMapKey=state
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=10
	ClustersOmittedByState []OmittedClusters `json:"clustersOmittedByState,omitempty"`
}

// OmittedClusters is the number of members in one state that have no entry in status.clusters.
type OmittedClusters struct {
	// state is the state of the counted members.
	// +required
	// +kubebuilder:validation:Enum=Waiting;Pushing;Progressing;Healthy;Degraded;Stalled;Held;Removing;Unreachable;Unknown
	State ClusterState `json:"state,omitempty"`

	// count is the number of members in this state that have no entry in status.clusters.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count,omitempty"`
}

// ClusterCounts are numbers of members. A member in the state Unknown counts as unreachable.
type ClusterCounts struct {
	// placed is the number of members on which the wrapper is placed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Placed *int32 `json:"placed,omitempty"`

	// updated is the number of placed members that have the update revision.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Updated *int32 `json:"updated,omitempty"`

	// healthy is the number of placed members that are healthy with the revision that the manager wants there now. For a
	// member that waits for its wave, this is an earlier revision.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Healthy *int32 `json:"healthy,omitempty"`

	// progressing is the number of members in the state Waiting, Pushing, Progressing or Removing.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Progressing *int32 `json:"progressing,omitempty"`

	// degraded is the number of members where an object is not healthy, or where a push fails and is tried again.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Degraded *int32 `json:"degraded,omitempty"`

	// stalled is the number of members where the manager cannot go on before a person changes something.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Stalled *int32 `json:"stalled,omitempty"`

	// held is the number of members where changes are suspended, or where a change or a removal waits until a person
	// decides.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Held *int32 `json:"held,omitempty"`

	// unreachable is the number of members whose API server does not answer or refuses the host, or that the manager has
	// not read since it started.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Unreachable *int32 `json:"unreachable,omitempty"`
}

// ClusterStatus is the state of a wrapper on one member.
type ClusterStatus struct {
	// name is the name of the MemberCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// revision is the revision that the member has, or that the manager is pushing to it. It is the name of a
	// ControllerRevision.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// state is the state of the wrapper on this member.
	// +required
	// +kubebuilder:validation:Enum=Waiting;Pushing;Progressing;Healthy;Degraded;Stalled;Held;Removing;Unreachable;Unknown
	State ClusterState `json:"state,omitempty"`

	// reason is a short reason in CamelCase, for programs. It comes from Fairlead, OLM or Kubernetes. It is absent if the
	// state needs no reason.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message explains the state to a person, in at most 256 bytes. It is absent if the state needs no explanation.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`

	// version is what OLM has installed for the wrapper on this member: the name of the CSV of its Subscription, or the
	// version of its ClusterExtension. It is absent if OLM has installed nothing for the wrapper.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`

	// delivery identifies the Delivery on this member if the reason is HostBehindMember or WrapperReplaced. The manager
	// overwrites this Delivery only after a person has created an Approval with allow: Overwrite, which must have this uid
	// and generation. It is absent for all other reasons.
	// +optional
	Delivery *DeliveryVersion `json:"delivery,omitempty"`

	// lastTransitionTime is when state or revision changed last.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty,omitzero"`
}

// DeliveryVersion identifies one version of a Delivery. Each write to the Delivery's spec makes a new generation.
//
// +kubebuilder:validation:AtLeastOneOf=uid;generation
type DeliveryVersion struct {
	// uid is the metadata.uid of the Delivery.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// generation is the metadata.generation of the Delivery.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation,omitempty"`
}

// ClusterState is the type of ClusterStatus.State: the state of one wrapper on one member.
type ClusterState string

// The values of ClusterState.
const (
	// StateWaiting: nothing is wrong, but something else has to happen first. For example, the member has to serve a kind,
	// a pod has to use a claim, or a person has to approve an InstallPlan.
	StateWaiting ClusterState = "Waiting"
	// StatePushing: the manager is writing the objects to the member.
	StatePushing ClusterState = "Pushing"
	// StateProgressing: the objects are on the member, and not healthy yet.
	StateProgressing ClusterState = "Progressing"
	// StateHealthy: the objects are on the member, and healthy. A member that waits for its turn in a rollout can be
	// Healthy with an earlier revision.
	StateHealthy ClusterState = "Healthy"
	// StateDegraded: an object on the member is not healthy, or a push fails and the manager tries it again.
	StateDegraded ClusterState = "Degraded"
	// StateStalled: the manager cannot go on before a person changes something.
	StateStalled ClusterState = "Stalled"
	// StateHeld: changes are suspended (spec.suspend), or a change or a removal waits for the decision of a person.
	StateHeld ClusterState = "Held"
	// StateRemoving: the manager is removing the wrapper from the member.
	StateRemoving ClusterState = "Removing"
	// StateUnreachable: the member's API server does not answer, or refuses the host.
	StateUnreachable ClusterState = "Unreachable"
	// StateUnknown: the manager has not read the member since the manager started.
	StateUnknown ClusterState = "Unknown"
)
