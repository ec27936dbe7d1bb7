// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EvidenceRequest asks the collector of a member for evidence about an object of a Delivery. MemberReports that ask for the
// same object and the same type of evidence share one EvidenceRequest.
type EvidenceRequest struct {
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

	// type is Logs or Events.
	// +required
	// +kubebuilder:validation:Enum=Logs;Events
	Type EvidenceType `json:"type,omitempty"`

	// sinceSeconds leaves out lines of logs that are older than this many seconds. It is absent for all lines.
	// +optional
	// +kubebuilder:validation:Minimum=1
	SinceSeconds int32 `json:"sinceSeconds,omitempty"`

	// expires is when the collector stops answering, by the member's clock. The collector never answers for longer than an hour.
	// +required
	Expires metav1.Time `json:"expires,omitempty,omitzero"`
}

// EvidenceAnswer is the collector's answer to an EvidenceRequest. The collector has redacted the texts.
type EvidenceAnswer struct {
	// request is the request as the Delivery had it when the collector answered.
	// +required
	Request EvidenceRequest `json:"request,omitzero"`

	// message tells what is missing in the answer, and why. For example, the object has no pods. It is absent if nothing is missing.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	Evidence `json:",inline"` //nolint:kubeapilinter // the answer has other properties, so it needs no minimum of its own
}
