// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MemberCluster describes one member: a cluster to which the manager pushes objects. `hostctl join` creates it.
// Placement and overrides select members by its labels. The condition Ready is True if pushes reach the member.
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

	// spec is the connection to the member, and the policies for it.
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

	// items are the members.
	// +required
	Items []MemberCluster `json:"items"`
}

// MemberClusterSpec is the connection to a member, and the policies for it.
type MemberClusterSpec struct {
	// endpoint is the URL of the member's API server, https only.
	// +required
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https'",message="endpoint is an https URL: https://HOST:PORT"
	Endpoint string `json:"endpoint,omitempty"`

	// caBundle is the PEM bundle that verifies the certificate of the API server. If it is absent, the manager uses its
	// system's root certificates.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=131072
	CABundle []byte `json:"caBundle,omitempty"`

	// tlsServerName is the name that the certificate of the API server has to have, if that is not the host name in the
	// endpoint.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TLSServerName string `json:"tlsServerName,omitempty"`

	// proxyURL is the proxy between the host and the endpoint: http, https or socks5. Do not put the user and password
	// of the proxy here. `hostctl join NAME --cluster-kubeconfig FILE --proxy-url URL` writes them into the Secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https', 'socks5']",message="proxyURL is an http, https or socks5 URL"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^/?#]*//[^/?#]*@')",message="proxyURL holds no user and password, because everyone who can read MemberClusters could see them: `hostctl join NAME --cluster-kubeconfig FILE --proxy-url URL` puts them into the Secret"
	ProxyURL string `json:"proxyURL,omitempty"`

	// credentialsRef names the Secret in fairlead-system with the credentials, of type federation.fairlead.dev/member.
	// The Secret names the member and the connection that it is for.
	// +required
	CredentialsRef CredentialsRef `json:"credentialsRef,omitzero"`

	// collector selects where the collector of the member runs. Host: inside the host's manager. Member: as a
	// Deployment on the member, which `hostctl join` installs. External: as a separate process (cmd/collector) that an
	// administrator runs. Defaults to Host.
	// +optional
	// +default="Host"
	// +kubebuilder:validation:Enum=Host;Member;External
	Collector CollectorMode `json:"collector,omitempty"`

	// suspend set to Pushes stops pushes to this member and removals from it. The manager still observes the member and
	// renews its own credentials. Defaults to None.
	// +optional
	// +default="None"
	// +kubebuilder:validation:Enum=None;Pushes
	Suspend SuspendPolicy `json:"suspend,omitempty"`

	// namespacePolicy selects the open namespaces of the member: the manager pushes objects only into these. Managed:
	// the namespaces that Fairlead created there, and those with the label federation.fairlead.dev/open: "true". All:
	// every namespace except kube-* and fairlead-system. Defaults to Managed.
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
	// conditions are Reachable (the API server answers), CredentialsValid (it accepts the host's credentials),
	// CollectorReady (a collector observes the member) and Ready, their summary. MemberOutdated exists only while it is
	// True: the member's CRDs lack fields of the host's, or its collector is older than the manager.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// uid is the uid of the member's kube-system namespace. The manager refuses an endpoint that leads to a cluster
	// with another uid.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// kubernetesVersion is the version of the member's API server, as in v1.36.3.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// grants are the rights of the host on the member, as given to `hostctl join --allow`.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	Grants []string `json:"grants,omitempty"`

	// facts are properties of the cluster, as the member reports them. They are hints: the host cannot verify them.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Facts MemberFacts `json:"facts,omitzero"`

	// credentialsExpireTime is when the host's token for the member expires. The manager renews the token daily, or
	// after a third of its life, so it is about 30 days ahead while all is well. It is absent for credentials without
	// an expiry.
	// +optional
	CredentialsExpireTime metav1.Time `json:"credentialsExpireTime,omitempty,omitzero"`

	// leaving is about a MemberCluster that is being deleted. It is Cleared once the manager has removed Deliveries,
	// Membership and CRDs from the member, and only the host's account remains there. It is absent until then.
	// +optional
	// +kubebuilder:validation:Enum=Cleared
	Leaving LeavingProgress `json:"leaving,omitempty"`

	// orphans are Deliveries on the member whose wrapper does not exist on the host, or is not placed on this member.
	// This happens when the host lost wrappers or was restored from a backup, after an Approval of a release, and after
	// a takeover from another host. The manager changes nothing there. `hostctl recover` shows the ways out. The field
	// is absent if there are no orphans.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Orphans OrphanedDeliveries `json:"orphans,omitzero"`
}

// OrphanedDeliveries are Deliveries on a member that no wrapper of the host accounts for.
type OrphanedDeliveries struct {
	// count is the number of orphans.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count,omitempty"`

	// names are the names of these Deliveries, sorted, the first 10.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names,omitempty"`
}

// MemberFacts are properties of a member, as its collector found them.
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

	// defaultStorageClasses are the names of the classes that are annotated as default. If the list is empty, a claim
	// without a class stays Pending. If it has several names, Kubernetes uses the newest.
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

	// olm are the generations of OLM that the member serves: V0 (Subscription), V1 (ClusterExtension).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=V0;V1
	OLM []OLMGeneration `json:"olm,omitempty"`

	// nodes is the number of nodes.
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

// CollectorMode tells where a member's collector runs.
type CollectorMode string

// The collector modes.
const (
	CollectorHost     CollectorMode = "Host"
	CollectorMember   CollectorMode = "Member"
	CollectorExternal CollectorMode = "External"
)

// NamespacePolicy tells which namespaces of a member are open.
type NamespacePolicy string

// The namespace policies.
const (
	NamespacesManaged NamespacePolicy = "Managed"
	NamespacesAll     NamespacePolicy = "All"
)

// LeavingProgress is the progress of an unjoin.
type LeavingProgress string

// LeavingCleared means that the manager has removed everything of Fairlead from the member, except the host's account.
const LeavingCleared LeavingProgress = "Cleared"

// OLMGeneration is a generation of the Operator Lifecycle Manager.
type OLMGeneration string

// The generations of OLM: V0 has Subscriptions, V1 ClusterExtensions.
const (
	OLMV0 OLMGeneration = "V0"
	OLMV1 OLMGeneration = "V1"
)
