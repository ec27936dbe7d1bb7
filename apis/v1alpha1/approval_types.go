// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Approval is one person's word that something may happen to one wrapper which Fairlead does not do by
// itself. It stands beside the Federated, or in fairlead-system for a ClusterFederated; `hostctl approve`
// and `hostctl recover` write it. It cannot be changed: delete it to take it back, as long as it was not
// acted upon.
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

	// spec says what is allowed.
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

	// items are the approvals.
	// +required
	Items []Approval `json:"items"`
}

// ApprovalSpec says what is allowed, to which wrapper, on which members.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="an Approval cannot be changed: delete it, and write another"
// +kubebuilder:validation:XValidation:rule="self.allow == 'Removal' ? has(self.decision) : !has(self.decision)",message="decision goes with allow: Removal, and only with it"
// +kubebuilder:validation:XValidation:rule="self.allow == 'Overwrite' ? has(self.overwrites) : !has(self.overwrites)",message="overwrites goes with allow: Overwrite, and only with it"
// +kubebuilder:validation:XValidation:rule="!has(self.overwrites) || size(self.overwrites) == size(self.clusters)",message="overwrites has one entry for each of clusters"
type ApprovalSpec struct {
	// wrapper is the wrapper that this is about.
	// +required
	Wrapper ApprovedWrapper `json:"wrapper,omitzero"`

	// allow is what may happen. Removal: the members are left though more are than spec.rollout.maxRemoval
	// lets go by itself. Release: the wrapper no longer waits for the members to be left, and what they
	// hold of it stays there. Overwrite: what the host says counts, though the member holds a newer
	// generation or an earlier wrapper's objects.
	// +required
	// +kubebuilder:validation:Enum=Removal;Release;Overwrite
	Allow ApprovedAct `json:"allow,omitempty"`

	// clusters are the names of the members that it is for.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Clusters []string `json:"clusters,omitempty"`

	// decision is the decision that wants the removal, as status.placement.decision says: another removal
	// of the same members, later, asks again.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Decision string `json:"decision,omitempty"`

	// overwrites are the Deliveries that may be written over, one for each of clusters, as the lines of
	// status.clusters name them. What the member holds now is meant, and nothing that comes later: an
	// Approval is used up by the first write, and is no word about another restored backup.
	// +optional
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Overwrites []OverwrittenDelivery `json:"overwrites,omitempty"`
}

// OverwrittenDelivery is the Delivery on one member that may be written over.
type OverwrittenDelivery struct {
	// cluster is the name of the member.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster,omitempty"`

	// uid is the Delivery's own uid.
	// +required
	UID types.UID `json:"uid,omitempty"`

	// generation is the Delivery's own generation.
	// +required
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation,omitempty"`
}

// ApprovedWrapper names a wrapper. Its namespace is the Approval's.
type ApprovedWrapper struct {
	// kind is Federated or ClusterFederated.
	// +required
	// +kubebuilder:validation:Enum=Federated;ClusterFederated
	Kind WrapperKind `json:"kind,omitempty"`

	// name is its name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// uid is its uid: one of the same name that is made later has to be approved by itself.
	// +required
	UID types.UID `json:"uid,omitempty"`
}

// ApprovedAct is what may happen.
type ApprovedAct string

// What may be approved.
const (
	AllowRemoval   ApprovedAct = "Removal"
	AllowRelease   ApprovedAct = "Release"
	AllowOverwrite ApprovedAct = "Overwrite"
)
