// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MemberCluster describes one member: a cluster to which the manager pushes objects. `hostctl join` creates it.
// Placement and overrides select members by the labels of their MemberClusters. The condition Ready is True if the
// manager can push to the member.
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

	// spec has the address of the member, the reference to its credentials, and the policies for the member.
	// +required
	Spec MemberClusterSpec `json:"spec,omitzero"`

	// status is the state of the member, as the host observes it.
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

	// items are the MemberClusters.
	// +required
	Items []MemberCluster `json:"items"`
}

// MemberClusterSpec has the address of a member, the reference to its credentials, and the policies for the member.
type MemberClusterSpec struct {
	// endpoint is the URL of the member's API server, for example https://east.example.com:6443. Only https is allowed.
	// +required
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https'",message="endpoint is an https URL: https://HOST:PORT"
	Endpoint string `json:"endpoint,omitempty"`

	// caBundle is a PEM bundle of certificate authorities, base64-encoded. With it, the manager verifies the certificate
	// of the member's API server. If it is absent, the manager uses the root certificates of the system on which the
	// manager runs.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=131072
	CABundle []byte `json:"caBundle,omitempty"`

	// tlsServerName is the name that the certificate of the member's API server must have. If it is absent, the
	// certificate must have the host name in endpoint.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TLSServerName string `json:"tlsServerName,omitempty"`

	// proxyURL is the URL of the proxy through which the manager reaches the endpoint, for example
	// http://proxy.example.com:3128. The schemes are http, https and socks5. If it is absent, the manager connects without
	// a proxy. Do not put the user and the password of the proxy here, because everyone who can read MemberClusters would
	// see them. `hostctl join NAME --cluster-kubeconfig FILE --proxy-url URL` writes them into the Secret of
	// credentialsRef.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https', 'socks5']",message="proxyURL is an http, https or socks5 URL"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^/?#]*//[^/?#]*@')",message="proxyURL holds no user and password, because everyone who can read MemberClusters could see them: `hostctl join NAME --cluster-kubeconfig FILE --proxy-url URL` puts them into the Secret"
	ProxyURL string `json:"proxyURL,omitempty"`

	// credentialsRef names the Secret in fairlead-system that has the credentials for the member. Its type is
	// federation.fairlead.dev/member. The Secret also names one MemberCluster and its connection (endpoint, certificate
	// authority, server name and proxy). The manager uses the credentials only for these.
	// +required
	CredentialsRef CredentialsRef `json:"credentialsRef,omitzero"`

	// collector selects where the collector of the member runs. The collector observes the health and the drift of the
	// objects on the member. Defaults to Host.
	// - Host: inside the manager on the host.
	// - Member: as a Deployment on the member, which `hostctl join` installs.
	// - External: as a separate process (cmd/collector), which an administrator runs.
	// +optional
	// +default="Host"
	// +kubebuilder:validation:Enum=Host;Member;External
	Collector CollectorMode `json:"collector,omitempty"`

	// suspend set to Pushes makes the manager push nothing to this member, and remove nothing from it. The manager still
	// observes the member, and renews its own credentials there. No progress deadline of a rollout runs for the member.
	// Defaults to None.
	// +optional
	// +default="None"
	// +kubebuilder:validation:Enum=None;Pushes
	Suspend SuspendPolicy `json:"suspend,omitempty"`

	// namespacePolicy selects the open namespaces of the member. The manager pushes objects only into open namespaces.
	// Defaults to Managed.
	// - Managed: the namespaces that the manager created on the member, and the namespaces with the label
	//   federation.fairlead.dev/open: "true".
	// - All: every namespace except kube-* and fairlead-system.
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

// MemberClusterStatus is the state of a member, as the host observes it.
type MemberClusterStatus struct {
	// conditions are the conditions of the member.
	// - Reachable: the member's API server answers.
	// - CredentialsValid: the API server accepts the host's credentials, and belongs to the cluster that joined.
	// - CollectorReady: a collector observes the member.
	// - Ready: the summary. It is True if Reachable, CredentialsValid and CollectorReady are True.
	// - MemberOutdated: the member's CRDs lack fields that the host's CRDs have, or the member's collector is older than
	//   the manager. This condition is present only while it is True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// uid is the uid of the kube-system namespace of the cluster that joined, which identifies that cluster. The manager
	// writes nothing to an endpoint that leads to a cluster with another uid.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// kubernetesVersion is the version of the member's API server, for example v1.36.3.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// collectorVersion is the version of the member's collector, as that collector reports it. The host cannot verify it. It
	// is absent until a collector has reported it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	CollectorVersion string `json:"collectorVersion,omitempty"`

	// grants are the rights of the host on the member, as a person gave them with `hostctl join --allow`. Each is the name
	// of a profile, for example storage, or one resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	Grants []string `json:"grants,omitempty"`

	// facts are properties of the cluster, as the member reports them. The host cannot verify them, so they are only
	// hints. They are absent until a collector has reported them.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Facts MemberFacts `json:"facts,omitzero"`

	// credentialsExpireTime is when the host's token for the member expires. The manager renews the token daily, or after
	// a third of its life if that is sooner. Most tokens live for 30 days, so a time much less than 30 days ahead shows
	// that the renewal fails. It is absent if the credentials never expire.
	// +optional
	CredentialsExpireTime metav1.Time `json:"credentialsExpireTime,omitempty,omitzero"`

	// leaving is Cleared after a person has deleted the MemberCluster, and the manager has removed all Deliveries, the
	// Membership and Fairlead's CRDs from the member. Only the host's account is then left on the member. It is absent
	// before that.
	// +optional
	// +kubebuilder:validation:Enum=Cleared
	Leaving LeavingProgress `json:"leaving,omitempty"`

	// orphans are Deliveries on the member whose wrapper does not exist on the host, or is not placed on this member. For
	// example, the host lost wrappers or was restored from a backup, a person ended the wait for a removal (Approval with
	// allow: Release), or this host took the member over from another host. The manager does not change the objects of an
	// orphan. `hostctl recover` shows what you can do. It is absent if no Delivery is an orphan.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Orphans OrphanedDeliveries `json:"orphans,omitzero"`
}

// OrphanedDeliveries are the orphans on one member.
type OrphanedDeliveries struct {
	// count is the number of orphans on the member.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count,omitempty"`

	// names are the names of the first 10 orphans, sorted.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names,omitempty"`
}

// MemberFacts are properties of a member's cluster, as the collector of the member observes them.
type MemberFacts struct {
	// kubernetesVersion is the version of the member's API server, for example v1.36.3.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// storageClasses are the names of the first 64 StorageClasses, sorted.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	StorageClasses []string `json:"storageClasses,omitempty"`

	// defaultStorageClasses are the names of the StorageClasses that are annotated as the default. If there is none, a
	// claim that names no class stays Pending. If there are several, Kubernetes uses the newest of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	DefaultStorageClasses []string `json:"defaultStorageClasses,omitempty"`

	// provisioners are the provisioners of the StorageClasses and the names of the CSI drivers, sorted, 64 at most.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Provisioners []string `json:"provisioners,omitempty"`

	// olm has the generations of OLM that the member serves: V0 (with the kind Subscription) and V1 (with the kind
	// ClusterExtension). It is empty if the member has no OLM.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=V0;V1
	OLM []OLMGeneration `json:"olm,omitempty"`

	// nodes is the number of nodes of the member. It is absent if the collector could not count them.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Nodes *int32 `json:"nodes,omitempty"`

	// zones are the values of the label topology.kubernetes.io/zone on the member's nodes, sorted, 64 at most.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Zones []string `json:"zones,omitempty"`
}

// CollectorMode is the type of MemberClusterSpec.Collector.
type CollectorMode string

// The values of CollectorMode. MemberClusterSpec.Collector explains them.
const (
	CollectorHost     CollectorMode = "Host"
	CollectorMember   CollectorMode = "Member"
	CollectorExternal CollectorMode = "External"
)

// NamespacePolicy is the type of MemberClusterSpec.NamespacePolicy.
type NamespacePolicy string

// The values of NamespacePolicy. MemberClusterSpec.NamespacePolicy explains them.
const (
	NamespacesManaged NamespacePolicy = "Managed"
	NamespacesAll     NamespacePolicy = "All"
)

// LeavingProgress is the type of MemberClusterStatus.Leaving.
type LeavingProgress string

// LeavingCleared means that the manager has removed everything of Fairlead from the member, except the account with
// which it reaches the member.
const LeavingCleared LeavingProgress = "Cleared"

// OLMGeneration is a generation of the Operator Lifecycle Manager.
type OLMGeneration string

// The values of OLMGeneration: V0 has the kind Subscription, V1 the kind ClusterExtension.
const (
	OLMV0 OLMGeneration = "V0"
	OLMV1 OLMGeneration = "V1"
)
