// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Federated wraps namespaced objects. The manager pushes the objects to every member that the placement selects. On a
// member they go into the namespace that has the name of the Federated's namespace. Overrides change the objects for
// some members. Ready is True when every selected member has the objects and they are healthy.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fed,categories=federation
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.counts.updated`
// +kubebuilder:printcolumn:name="Healthy",type=integer,JSONPath=`.status.counts.healthy`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Wave",type=string,priority=1,JSONPath=`.status.rollout.wave`
// +kubebuilder:printcolumn:name="Placed",type=integer,priority=1,JSONPath=`.status.counts.placed`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Federated struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the objects, and the members that get them.
	// +required
	Spec WrapperSpec `json:"spec,omitzero"`

	// status is the placement decision, and the state of the wrapper on its members.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Status WrapperStatus `json:"status,omitzero"`
}

// FederatedList is a list of Federated.
//
// +kubebuilder:object:root=true
type FederatedList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Federateds.
	// +required
	Items []Federated `json:"items"`
}

// ClusterFederated wraps cluster-scoped objects: StorageClasses, Namespaces, CRDs, ClusterRoles and the like. The
// manager pushes them to every member that the placement selects. Overrides change the objects for some members. Ready
// is True when every selected member has the objects and they are healthy.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cfed,categories=federation
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.counts.updated`
// +kubebuilder:printcolumn:name="Healthy",type=integer,JSONPath=`.status.counts.healthy`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Wave",type=string,priority=1,JSONPath=`.status.rollout.wave`
// +kubebuilder:printcolumn:name="Placed",type=integer,priority=1,JSONPath=`.status.counts.placed`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type ClusterFederated struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the objects, and the members that get them.
	// +required
	Spec WrapperSpec `json:"spec,omitzero"`

	// status is the placement decision, and the state of the wrapper on its members.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Status WrapperStatus `json:"status,omitzero"`
}

// ClusterFederatedList is a list of ClusterFederated.
//
// +kubebuilder:object:root=true
type ClusterFederatedList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the ClusterFederateds.
	// +required
	Items []ClusterFederated `json:"items"`
}
