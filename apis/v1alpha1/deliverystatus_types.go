// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeliveryStatus is the state of the objects, as the collector observes it. The collector writes nothing for ConfigMaps
// and other kinds without progress of their own, while they have no drift.
type DeliveryStatus struct {
	// observedRendering is the value of spec.target.rendering that this status is for.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ObservedRendering string `json:"observedRendering,omitempty"`

	// version is the name of the CSV (ClusterServiceVersion) that the Delivery's Subscription has installed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`

	// objects are the objects that are not healthy, have drifted, or can be applied now because the member serves their
	// kind.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=256
	Objects []ObjectStatus `json:"objects,omitempty"`
}

// ObjectStatus is the state of one object, as the collector observes it.
type ObjectStatus struct {
	// group is the API group, left out for the core group.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// kind is the object's kind.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// name is the object's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// health is the health of the object.
	// +required
	// +kubebuilder:validation:Enum=Healthy;Waiting;Progressing;Degraded
	Health Health `json:"health,omitempty"`

	// reason is a short reason for programs.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message is an explanation for people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// sinceTime is when the object's health became the present one.
	// +optional
	SinceTime metav1.Time `json:"sinceTime,omitempty,omitzero"`

	// drift is set if the object differs from the inventory: another client changed it, or the manager changed it and
	// did not record that (reason Unfinished).
	// +optional
	Drift *Drift `json:"drift,omitempty"`
}

// Drift is a difference between a pushed object and its entry in the inventory.
//
// +kubebuilder:validation:AtLeastOneOf=kind
type Drift struct {
	// kind says how the object differs. Changed: Fairlead's marks or the fields that it owns are not as recorded.
	// Gone: the object does not exist. Replaced: an object of the same name with another uid exists.
	// +optional
	// +kubebuilder:validation:Enum=Changed;Gone;Replaced
	Kind DriftKind `json:"kind,omitempty"`

	// manager is the field manager that made the change, if it is known.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Manager string `json:"manager,omitempty"`

	// fields are the paths that Fairlead no longer owns, as in .spec.replicas: the first 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Fields []string `json:"fields,omitempty"`

	// resourceVersion is the object's resourceVersion when the collector saw the drift; for a Gone object, its recorded
	// uid. Two drifts are the same if they have the same resourceVersion.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// DriftKind is a kind of drift.
type DriftKind string

// The kinds of drift.
const (
	DriftChanged  DriftKind = "Changed"
	DriftGone     DriftKind = "Gone"
	DriftReplaced DriftKind = "Replaced"
)

// Health is the health of one object.
type Health string

// The values of Health.
const (
	// Healthy: the object is in the state that its author asked for.
	Healthy Health = "Healthy"
	// Waiting: nothing is wrong, and another object or a person has to act first.
	Waiting Health = "Waiting"
	// Progressing: the object is on its way to the state that its author asked for.
	Progressing Health = "Progressing"
	// Degraded: the object's own status, or the rules of its kind, report a failure.
	Degraded Health = "Degraded"
)
