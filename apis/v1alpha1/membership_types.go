// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MembershipName is the name of the one Membership of a member.
const MembershipName = "self"

// Membership is on each member, and names the host that owns the member. Each member has one, named self. `hostctl
// join` creates it, and refuses a member whose Membership names another host.
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

	// metadata is the standard object metadata. The name is self.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec names the host and its rights on the member. Only the host writes it.
	// +required
	Spec MembershipSpec `json:"spec,omitzero"`

	// status is the heartbeat of the collector, and the facts that it observed. Only the collector writes it.
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

	// items are the Memberships.
	// +required
	Items []Membership `json:"items"`
}

// MembershipSpec names the host that owns the member, and the host's rights there.
type MembershipSpec struct {
	// host is the host that owns this member and pushes objects to it.
	// +required
	Host HostIdentity `json:"host,omitzero"`

	// clusterName is the name of the MemberCluster that describes this member on the host, for example east.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="clusterName is a DNS label: lower case letters, digits and '-', 63 at most"
	ClusterName string `json:"clusterName,omitempty"`

	// grants are the rights on this member that `hostctl join --allow` gave to the host. Each is a profile, for example
	// storage, or one resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	Grants []string `json:"grants,omitempty"`

	// namespacePolicy selects the namespaces into which the host may write: see spec.namespacePolicy of the MemberCluster.
	// The member enforces it with the ValidatingAdmissionPolicy fairlead-host. Only `hostctl join` changes it. It is
	// absent if an earlier version of hostctl joined the member, and installed no such policy.
	// +optional
	// +kubebuilder:validation:Enum=Managed;All
	NamespacePolicy NamespacePolicy `json:"namespacePolicy,omitempty"`
}

// HostIdentity identifies a host.
type HostIdentity struct {
	// uid is the uid of the host's kube-system namespace.
	// +required
	UID types.UID `json:"uid,omitempty"`

	// name is a name of the host that people recognise. It need not be unique: the uid identifies the host.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// MembershipStatus is the heartbeat of the collector, and the facts that the collector observed.
type MembershipStatus struct {
	// renewTime is when the collector last wrote its heartbeat. It does so every 60 seconds.
	// +optional
	RenewTime metav1.MicroTime `json:"renewTime,omitempty,omitzero"`

	// collectorVersion is the version of the collector that writes this status.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	CollectorVersion string `json:"collectorVersion,omitempty"`

	// facts are properties of the cluster, as the collector observed them.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Facts MemberFacts `json:"facts,omitzero"`
}
