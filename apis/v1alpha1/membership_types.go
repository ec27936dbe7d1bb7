// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MembershipName is the name of the one Membership of a member.
const MembershipName = "self"

// Membership names, on a member, the host that owns the member. Each member has one, named self. `hostctl join` creates
// it, and refuses a member whose Membership names another host.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.host.name`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="Collector",type=string,JSONPath=`.status.collectorVersion`
// +kubebuilder:printcolumn:name="Heartbeat",type=date,JSONPath=`.status.renewTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'self'",message="a cluster has one Membership, named self"
type Membership struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is written by the host.
	// +required
	Spec MembershipSpec `json:"spec,omitzero"`

	// status is written by the collector.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Status MembershipStatus `json:"status,omitzero"`
}

// MembershipList is a list of Membership.
//
// +kubebuilder:object:root=true
type MembershipList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the memberships.
	// +required
	Items []Membership `json:"items"`
}

// MembershipSpec names the host that owns the member.
type MembershipSpec struct {
	// host is the host that pushes here.
	// +required
	Host HostIdentity `json:"host,omitzero"`

	// clusterName is the name of the MemberCluster at the host, a DNS label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="clusterName is a DNS label: lower case letters, digits and '-', 63 at most"
	ClusterName string `json:"clusterName,omitempty"`

	// grants are the rights that the join gave to the host.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	Grants []string `json:"grants,omitempty"`

	// namespacePolicy tells which namespaces are open to the host. The member's ValidatingAdmissionPolicy fairlead-host
	// enforces it. Only a join changes it. It is absent if an earlier version of hostctl, which installed no such
	// policy, joined the member.
	// +optional
	// +kubebuilder:validation:Enum=Managed;All
	NamespacePolicy NamespacePolicy `json:"namespacePolicy,omitempty"`
}

// HostIdentity names a host.
type HostIdentity struct {
	// uid is the uid of the host's kube-system namespace.
	// +required
	UID types.UID `json:"uid,omitempty"`

	// name is the display name of the host.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// MembershipStatus is the heartbeat of the collector, and the facts that it found.
type MembershipStatus struct {
	// renewTime is when the collector last wrote its heartbeat. The collector writes one every 60 s.
	// +optional
	RenewTime metav1.MicroTime `json:"renewTime,omitempty,omitzero"`

	// collectorVersion is the collector's version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	CollectorVersion string `json:"collectorVersion,omitempty"`

	// facts are what the collector found.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Facts MemberFacts `json:"facts,omitzero"`
}
