// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeliveryStatus is what the collector sees. While all is well with kinds that have no progress of
// their own it writes nothing.
type DeliveryStatus struct {
	// observedRendering is the target's rendering that was judged.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ObservedRendering string `json:"observedRendering,omitempty"`

	// version is the name of the CSV that the delivery's Subscription has installed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`

	// objects are those that are not well, have drifted, or can go on because their kind is served
	// now.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=256
	Objects []ObjectStatus `json:"objects,omitempty"`
}

// ObjectStatus is what the collector sees of one object.
type ObjectStatus struct {
	// group is the API group, left out for the core group.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// kind is the kind.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// name is the object's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// health says how it fares.
	// +required
	// +kubebuilder:validation:Enum=Healthy;Waiting;Progressing;Degraded
	Health Health `json:"health,omitempty"`

	// reason is a word for programs.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message is a sentence for people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// sinceTime is when it came into this health.
	// +optional
	SinceTime metav1.Time `json:"sinceTime,omitempty,omitzero"`

	// drift is there when the object is not as it was applied.
	// +optional
	Drift *Drift `json:"drift,omitempty"`
}

// Drift is what somebody did to a pushed object.
//
// +kubebuilder:validation:AtLeastOneOf=kind
type Drift struct {
	// kind says what was seen: Changed (an owned field was written), Gone (the object is not there) or
	// Replaced (an object of another uid is there).
	// +optional
	// +kubebuilder:validation:Enum=Changed;Gone;Replaced
	Kind DriftKind `json:"kind,omitempty"`

	// manager is the field manager that wrote, where it is known.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Manager string `json:"manager,omitempty"`

	// fields are the paths that no longer are ours, as in .spec.replicas, the first 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Fields []string `json:"fields,omitempty"`

	// resourceVersion is the object's when this was seen (of a Gone object, its uid): two drifts are
	// the same when it is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// DriftKind says what was seen.
type DriftKind string

// The kinds of drift.
const (
	DriftChanged  DriftKind = "Changed"
	DriftGone     DriftKind = "Gone"
	DriftReplaced DriftKind = "Replaced"
)

// Health says how one object fares.
type Health string

// The healths of an object.
const (
	// Healthy: it is what its author asked for.
	Healthy Health = "Healthy"
	// Waiting: nothing is wrong; something else has to come first.
	Waiting Health = "Waiting"
	// Progressing: it is on its way.
	Progressing Health = "Progressing"
	// Degraded: it says of itself, or its kind's rules say, that it is not well.
	Degraded Health = "Degraded"
)
