// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Approval is the decision of a person: it permits the manager one action on one wrapper. `hostctl approve` and
// `hostctl recover` write it. It is in the namespace of the Federated, or in fairlead-system for a ClusterFederated. An
// Approval cannot be changed. To withdraw it, delete it before the manager has acted on it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.wrapper.kind`
// +kubebuilder:printcolumn:name="Wrapper",type=string,JSONPath=`.spec.wrapper.name`
// +kubebuilder:printcolumn:name="Allow",type=string,JSONPath=`.spec.allow`
// +kubebuilder:printcolumn:name="Clusters",type=string,JSONPath=`.spec.clusters`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Approval struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the permitted action.
	// +required
	Spec ApprovalSpec `json:"spec,omitzero"`
}

// ApprovalList is a list of Approval.
//
// +kubebuilder:object:root=true
type ApprovalList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Approvals.
	// +required
	Items []Approval `json:"items"`
}

// ApprovalSpec is the permitted action, and the wrapper and the members for which it is permitted.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="an Approval cannot be changed: delete it, and write another"
// +kubebuilder:validation:XValidation:rule="self.allow == 'Removal' ? has(self.decision) : !has(self.decision)",message="decision goes with `allow: Removal`, and only with it"
// +kubebuilder:validation:XValidation:rule="self.allow == 'Overwrite' ? has(self.overwrites) : !has(self.overwrites)",message="overwrites goes with `allow: Overwrite`, and only with it"
// +kubebuilder:validation:XValidation:rule="self.allow in ['Wave', 'Retry'] ? !has(self.clusters) : has(self.clusters)",message="Removal, Release, Overwrite and Skip need clusters; Wave and Retry must leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.overwrites) || has(self.clusters) && size(self.overwrites) == size(self.clusters)",message="overwrites must have one entry for each name in clusters"
// +kubebuilder:validation:XValidation:rule="self.allow in ['Wave', 'Skip', 'Retry'] ? has(self.rollout) && has(self.revision) : !has(self.rollout) && !has(self.revision)",message="Wave, Skip and Retry need rollout and revision, and no other action may have them: take both from status.rollout"
// +kubebuilder:validation:XValidation:rule="self.allow == 'Wave' ? has(self.wave) : !has(self.wave)",message="wave goes with `allow: Wave`, and only with it"
type ApprovalSpec struct {
	// wrapper identifies the wrapper for which the action is permitted.
	// +required
	Wrapper WrapperReference `json:"wrapper,omitzero"`

	// allow is the permitted action.
	// - Removal: the manager removes the wrapper from the members in clusters, even if that is more than
	//   spec.rollout.maxRemoval allows.
	// - Release: the manager stops waiting for the members in clusters that the wrapper is leaving. The wrapper's objects
	//   stay there.
	// - Overwrite: the manager replaces the Deliveries in overwrites, although they are of a later generation of the
	//   wrapper (reason HostBehindMember), or of an earlier wrapper of this name (reason WrapperReplaced).
	// - Wave: the wave in the field wave may begin.
	// - Skip: no wave waits for the members in clusters, and their failure does not count.
	// - Retry: the manager tries again a revision that failed.
	// +required
	// +kubebuilder:validation:Enum=Removal;Release;Overwrite;Wave;Skip;Retry
	Allow ApprovedAct `json:"allow,omitempty"`

	// clusters are the names of the members for which the action is permitted. It is absent for Wave and Retry.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Clusters []string `json:"clusters,omitempty"`

	// decision is the value of status.placement.decision of the wrapper. It is required for Removal. A later removal, even
	// from the same members, has another value and needs another Approval.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Decision string `json:"decision,omitempty"`

	// rollout is the value of status.rollout.id of the wrapper. It is required for Wave, Skip and Retry. A later rollout
	// has another value and needs another Approval.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Rollout string `json:"rollout,omitempty"`

	// revision is the value of status.rollout.revision of the wrapper, the name of a ControllerRevision. It is required
	// for Wave, Skip and Retry.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// wave is the name of the wave that may begin. It is required for Wave.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Wave string `json:"wave,omitempty"`

	// overwrites are the Deliveries that the manager may replace, one for each member in clusters. Copy uid and generation
	// from status.clusters[].delivery of the wrapper. The manager's write increments the generation, so the Approval
	// permits one write only. If the host is restored from a backup later, the Approval does not count a second time.
	// +optional
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Overwrites []OverwrittenDelivery `json:"overwrites,omitempty"`
}

// OverwrittenDelivery is the Delivery on one member that the manager may replace.
type OverwrittenDelivery struct {
	// cluster is the name of the member.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster,omitempty"`

	// uid is the metadata.uid of the Delivery.
	// +required
	UID types.UID `json:"uid,omitempty"`

	// generation is the metadata.generation of the Delivery.
	// +required
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation,omitempty"`
}

// ApprovedAct is the type of ApprovalSpec.Allow.
type ApprovedAct string

// The values of ApprovedAct. ApprovalSpec.Allow explains them.
const (
	AllowRemoval   ApprovedAct = "Removal"
	AllowRelease   ApprovedAct = "Release"
	AllowOverwrite ApprovedAct = "Overwrite"
	AllowWave      ApprovedAct = "Wave"
	AllowSkip      ApprovedAct = "Skip"
	AllowRetry     ApprovedAct = "Retry"
)
