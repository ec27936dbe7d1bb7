// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemberReport is evidence from members about an object of a wrapper. It is in the namespace of the Federated, or in
// fairlead-system for a ClusterFederated. There are two sorts:
//
// The manager writes reports about objects that are not healthy. Members that show the same failure share one report. The
// manager deletes the report when no member shows this failure any more. While the manager cannot reach a member, it keeps
// the reports about that member. So a report outlives the failed pods and the connection to the member.
//
// A person asks for logs or events of an object on one member, healthy or not, by creating a report with spec.request. The
// manager writes the answer into its status every few seconds, and deletes the report when it expires.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=mreport
// +kubebuilder:printcolumn:name="Wrapper",type=string,JSONPath=`.spec.wrapper.name`
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.status.object.kind`
// +kubebuilder:printcolumn:name="Object",type=string,JSONPath=`.status.object.name`
// +kubebuilder:printcolumn:name="Request",type=string,JSONPath=`.spec.request`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.clusterCount`
// +kubebuilder:printcolumn:name="Sample",type=string,JSONPath=`.status.cluster`
// +kubebuilder:printcolumn:name="Observed",type=date,JSONPath=`.status.observedTime`
// +kubebuilder:validation:XValidation:rule="!has(self.spec.request) || !self.metadata.name.matches('[.][0-9a-f]{10}$')",message="names that end in a dot and ten hexadecimal digits are for the reports of the manager: give a report with a request another name"
type MemberReport struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the report is about.
	// +required
	Spec MemberReportSpec `json:"spec,omitzero"`

	// status is the evidence.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Status MemberReportStatus `json:"status,omitzero"` //nolint:kubeapilinter // omitzero leaves an empty status out
}

// MemberReportList is a list of MemberReport.
//
// +kubebuilder:object:root=true
type MemberReportList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the MemberReports.
	// +required
	Items []MemberReport `json:"items"`
}

// MemberReportSpec is what the report is about.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a MemberReport cannot be changed"
// +kubebuilder:validation:XValidation:rule="has(self.request) == has(self.cluster) && has(self.request) == has(self.object) && has(self.request) == has(self.expires)",message="request, cluster, object and expires belong together: give all four of them to ask for evidence"
// +kubebuilder:validation:XValidation:rule="!has(self.sinceSeconds) || has(self.request) && self.request == 'Logs'",message="sinceSeconds goes with `request: Logs`, and only with it"
type MemberReportSpec struct {
	// wrapper identifies the wrapper.
	// +required
	Wrapper WrapperReference `json:"wrapper,omitzero"`

	// request is what a person asks for. It is absent in the reports of the manager.
	// - Logs: the ends of the logs of the object's containers, 32 KiB in all.
	// - Events: the latest events about the object, and about the objects that it owns.
	// +optional
	// +kubebuilder:validation:Enum=Logs;Events
	Request EvidenceType `json:"request,omitempty"`

	// cluster is the name of the member that is to answer.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster,omitempty"`

	// object is the object of the wrapper about which the person asks.
	// +optional
	Object ReportedObject `json:"object,omitzero"` //nolint:kubeapilinter // omitzero leaves an empty object out, and its zero value is not valid

	// sinceSeconds leaves out lines of logs that are older than this many seconds. It is absent for all lines.
	// +optional
	// +kubebuilder:validation:Minimum=1
	SinceSeconds int32 `json:"sinceSeconds,omitempty"`

	// expires is when the manager deletes the report and the member stops answering. A report lasts for one hour at most: if
	// expires is later than that, the report ends one hour after its creation.
	// +optional
	Expires metav1.Time `json:"expires,omitempty,omitzero"`
}

// EvidenceType is a sort of evidence for which a person asks.
type EvidenceType string

// The values of EvidenceType. MemberReportSpec.Request explains them.
const (
	EvidenceLogs   EvidenceType = "Logs"
	EvidenceEvents EvidenceType = "Events"
)

// MemberReportStatus is the evidence.
type MemberReportStatus struct {
	// object is the object of the wrapper that is not healthy, or about which the person asks.
	// +optional
	Object ReportedObject `json:"object,omitzero"` //nolint:kubeapilinter // omitzero leaves an empty object out, and a status field is optional

	// reason is why the object is not healthy, in CamelCase, for programs. If the person asked for the report, it is the state
	// of the request instead: Answered, or why there is no answer.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message explains the reason to a person.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// cluster is the name of the member that the events and the containers come from.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster,omitempty"`

	// clusters are the names of the members that show the same reason for the same object, the first 100 by name. The evidence
	// can be older than this list: if the member in the field cluster has become healthy since, it is no longer in the list.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Clusters []string `json:"clusters,omitempty"`

	// clusterCount is the number of all members that show the same reason for the same object, including those that clusters
	// leaves out.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ClusterCount int32 `json:"clusterCount,omitempty"`

	// observedTime is when the manager received this evidence, by the host's clock.
	// +optional
	ObservedTime metav1.Time `json:"observedTime,omitempty,omitzero"`

	Evidence `json:",inline"` //nolint:kubeapilinter // the object has other properties, so it needs no minimum of its own
}

// ReportedObject is an object of a wrapper.
type ReportedObject struct {
	// group is the API group of the object. It is absent for the core group.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// kind is the object's kind, for example Deployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// name is the object's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}
