// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MemberCluster is a member in the host's registry. `hostctl join` makes it. Its labels are what
// placement and overrides select by. Ready says whether pushes reach the member.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=member
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.kubernetesVersion`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Orphans",type=integer,priority=1,JSONPath=`.status.orphans.count`
// +kubebuilder:printcolumn:name="Credentials Expire",type=string,priority=1,JSONPath=`.status.credentialsExpireTime`
// +kubebuilder:printcolumn:name="Endpoint",type=string,priority=1,JSONPath=`.spec.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of a MemberCluster is a DNS label: lower case letters, digits and '-', 63 at most"
type MemberCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is how the member is reached and what may be placed there.
	// +required
	Spec MemberClusterSpec `json:"spec,omitzero"`

	// status is what the host knows of the member.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Status MemberClusterStatus `json:"status,omitzero"`
}

// MemberClusterList is a list of MemberCluster.
//
// +kubebuilder:object:root=true
type MemberClusterList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the members.
	// +required
	Items []MemberCluster `json:"items"`
}

// MemberClusterSpec is how a member is reached and what may be placed there.
type MemberClusterSpec struct {
	// endpoint is the URL of the member's API server, https only.
	// +required
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https'",message="endpoint is an https URL: https://HOST:PORT"
	Endpoint string `json:"endpoint,omitempty"`

	// caBundle is the PEM bundle that the API server's certificate is verified with. Left out, the
	// system's roots are used.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=131072
	CABundle []byte `json:"caBundle,omitempty"`

	// tlsServerName is the name that the API server's certificate is verified for, where it is not the
	// endpoint's host.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TLSServerName string `json:"tlsServerName,omitempty"`

	// proxyURL is the proxy on the way to the endpoint: http, https or socks5. The user and password of the proxy
	// stand in the Secret alone: `hostctl join NAME --cluster-kubeconfig FILE --proxy-url URL` puts them there.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https', 'socks5']",message="proxyURL is an http, https or socks5 URL"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^/?#]*//[^/?#]*@')",message="proxyURL holds no user and password, which all who read MemberClusters would see: `hostctl join NAME --cluster-kubeconfig FILE --proxy-url URL` puts them into the Secret"
	ProxyURL string `json:"proxyURL,omitempty"`

	// credentialsRef names the Secret in fairlead-system that holds the credentials, of type
	// federation.fairlead.dev/member. The Secret says for which member and which connection they are.
	// +required
	CredentialsRef CredentialsRef `json:"credentialsRef,omitzero"`

	// collector says who observes the member: Host runs the collector inside the host's manager,
	// External means that somebody runs cmd/collector for it. Defaults to Host.
	// +optional
	// +default="Host"
	// +kubebuilder:validation:Enum=Host;External
	Collector CollectorMode `json:"collector,omitempty"`

	// suspend set to Pushes stops every write to this member. Defaults to None.
	// +optional
	// +default="None"
	// +kubebuilder:validation:Enum=None;Pushes
	Suspend SuspendPolicy `json:"suspend,omitempty"`

	// namespacePolicy says into which of the member's namespaces objects may be pushed. Managed: those
	// that Fairlead made there, or that carry the label federation.fairlead.dev/open: "true". All:
	// every one. Never kube-* and fairlead-system. Defaults to Managed.
	// +optional
	// +default="Managed"
	// +kubebuilder:validation:Enum=Managed;All
	NamespacePolicy NamespacePolicy `json:"namespacePolicy,omitempty"`
}

// CredentialsRef names a Secret in fairlead-system.
type CredentialsRef struct {
	// name is the Secret's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// MemberClusterStatus is what the host knows of a member.
type MemberClusterStatus struct {
	// conditions are Reachable (the API server answers), CredentialsValid (and answers to us),
	// CollectorReady (somebody observes there) and Ready, their summary.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// uid is the uid of the member's kube-system namespace: a kubeconfig that now leads to another
	// cluster is refused.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// kubernetesVersion is the version of the member's API server, as in v1.36.3.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// grants are what the host may do there, as given to `hostctl join --allow`.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	Grants []string `json:"grants,omitempty"`

	// facts are what the member says of itself: hints, not truths.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Facts MemberFacts `json:"facts,omitzero"`

	// credentialsExpireTime is when the host's token for the member ends. The manager renews it daily, or after a third of its
	// life, so it is about 30 days ahead while all is well. It is absent for credentials that say no end.
	// +optional
	CredentialsExpireTime metav1.Time `json:"credentialsExpireTime,omitempty,omitzero"`

	// leaving is Cleared when the manager has removed Deliveries, Membership and CRDs from a member that is being deleted,
	// and only the host's account remains there. It is absent before.
	// +optional
	// +kubebuilder:validation:Enum=Cleared
	Leaving LeavingProgress `json:"leaving,omitempty"`

	// orphans are Deliveries on the member that no wrapper of the host accounts for: the wrapper is gone
	// without having been deleted in order, or was made anew and is not placed there. Nothing is deleted for
	// that; `hostctl recover` says what to do. It is absent when there are none.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Orphans OrphanedDeliveries `json:"orphans,omitzero"`
}

// OrphanedDeliveries are Deliveries that no wrapper accounts for.
type OrphanedDeliveries struct {
	// count is how many there are.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count,omitempty"`

	// names are their names on the member, sorted, the first 10.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names,omitempty"`
}

// MemberFacts are what a collector found on its member.
type MemberFacts struct {
	// kubernetesVersion is the API server's version, as in v1.36.3.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// storageClasses are names of StorageClasses, sorted, the first 64.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	StorageClasses []string `json:"storageClasses,omitempty"`

	// defaultStorageClasses are names of the classes annotated as default. None: a claim without a
	// class stays Pending. Several: the newest is used, and hardly on purpose.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	DefaultStorageClasses []string `json:"defaultStorageClasses,omitempty"`

	// provisioners are the provisioners of the classes and the names of the CSI drivers, sorted.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Provisioners []string `json:"provisioners,omitempty"`

	// olm are the generations of OLM that are served: V0 (Subscription), V1 (ClusterExtension).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=V0;V1
	OLM []OLMGeneration `json:"olm,omitempty"`

	// nodes is how many nodes there are.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Nodes *int32 `json:"nodes,omitempty"`

	// zones are the values of topology.kubernetes.io/zone on the nodes, sorted, the first 64.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Zones []string `json:"zones,omitempty"`
}

// CollectorMode says where a member's collector runs.
type CollectorMode string

// The collector modes.
const (
	CollectorHost     CollectorMode = "Host"
	CollectorExternal CollectorMode = "External"
)

// NamespacePolicy says which namespaces of a member are open.
type NamespacePolicy string

// The namespace policies.
const (
	NamespacesManaged NamespacePolicy = "Managed"
	NamespacesAll     NamespacePolicy = "All"
)

// LeavingProgress says how far the host has come with leaving a member.
type LeavingProgress string

// LeavingCleared says that everything of Fairlead that carries no right of the host is off the member.
const LeavingCleared LeavingProgress = "Cleared"

// OLMGeneration is a generation of the Operator Lifecycle Manager.
type OLMGeneration string

// The generations of OLM: V0 has Subscriptions, V1 ClusterExtensions.
const (
	OLMV0 OLMGeneration = "V0"
	OLMV1 OLMGeneration = "V1"
)
