// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeliveryStatus is the state of the objects, as the collector observes it. It stays empty while there is nothing to
// report about the objects, and all of them are of kinds that are healthy as soon as they are applied, such as
// ConfigMap.
type DeliveryStatus struct {
	// observedRendering is the value of spec.target.rendering for which the collector wrote this status. If
	// spec.target.rendering has another value, the collector has not judged the present desired state yet.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ObservedRendering string `json:"observedRendering,omitempty"`

	// version is what OLM has installed: the name of the CSV (ClusterServiceVersion) of the Delivery's Subscription, or
	// the version of the bundle of its ClusterExtension.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`

	// objects has an entry for each object that is not healthy, has drifted or is deprecated. It also has an entry for an
	// object that the manager can apply now, because the member has begun to serve the object's kind.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=256
	Objects []ObjectStatus `json:"objects,omitempty"`

	// subscriptions are the versions of the Subscriptions that spec.upgrade of the wrapper names.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Subscriptions []ObservedSubscription `json:"subscriptions,omitempty"`

	// evidence has what the collector saw about objects that are not healthy, of at most 32 KiB in all. An object that becomes
	// healthy loses its entry.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Evidence []ObjectEvidence `json:"evidence,omitempty"`

	// answers has what the collector answers to spec.requests, of at most 64 KiB in all. The collector removes an answer when
	// its request has expired.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Answers []EvidenceAnswer `json:"answers,omitempty"`
}

// ObservedSubscription has the versions of one Subscription that spec.upgrade of the wrapper names, as the collector
// observes them.
type ObservedSubscription struct {
	// name is the Subscription's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// targetCSV is the target that the Subscription had when the collector judged it: the name of a CSV
	// (ClusterServiceVersion), or Latest if the manager had not taken a version yet (approve: Latest).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TargetCSV string `json:"targetCSV,omitempty"`

	// installedCSV is the name of the installed CSV, if that CSV has succeeded. It is no copy of status.installedCSV of the Subscription:
	// it is absent while OLM installs this or a later CSV, and while the CSV has failed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	InstalledCSV string `json:"installedCSV,omitempty"`

	// offeredCSV is the name of the CSV that OLM would install next, or is installing. It is absent if there is none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	OfferedCSV string `json:"offeredCSV,omitempty"`
}

// ObjectStatus is the state of one object, as the collector observes it.
type ObjectStatus struct {
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

	// health is the state of the object.
	// - Healthy: the object is as its author wants it.
	// - Waiting: nothing is wrong, but another object or a person has to act first.
	// - Progressing: the object is on its way to the wanted state.
	// - Degraded: the object has failed.
	// +required
	// +kubebuilder:validation:Enum=Healthy;Waiting;Progressing;Degraded
	Health Health `json:"health,omitempty"`

	// reason is a short reason in CamelCase, for programs, for example ClaimPending.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message explains the health or the drift to a person.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// sinceTime is when the health of the object last changed.
	// +optional
	SinceTime metav1.Time `json:"sinceTime,omitempty,omitzero"`

	// drift is how the object differs from its entry in spec.inventory. Either another client changed the object, or the
	// manager changed it and did not record the change (reason Unfinished). It is absent if the object does not differ.
	// +optional
	Drift *Drift `json:"drift,omitempty"`
}

// Drift is how a pushed object differs from its entry in spec.inventory.
//
// +kubebuilder:validation:AtLeastOneOf=kind
type Drift struct {
	// kind is how the object differs.
	// - Changed: another client changed or removed a field that Fairlead owns, which includes Fairlead's labels and
	//   annotations. Or the manager wrote the object and did not record it.
	// - Gone: the object does not exist.
	// - Replaced: an object of the same name exists, with another uid.
	// +optional
	// +kubebuilder:validation:Enum=Changed;Gone;Replaced
	Kind DriftKind `json:"kind,omitempty"`

	// manager is the name of the field manager that made the change. It is fairlead if the manager itself made it.
	// Otherwise it is the field manager, other than fairlead, that wrote the object last according to the object's
	// managedFields. It is absent if the collector cannot tell.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Manager string `json:"manager,omitempty"`

	// fields are the paths of fields that this field manager owns now, for example .spec.replicas, 16 at most. The fields
	// that it changed are normally among them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Fields []string `json:"fields,omitempty"`

	// resourceVersion identifies this drift: two reports with the same value are about the same drift. It is the
	// resourceVersion that the object had when the collector noticed the drift. If kind is Gone, it is the uid in
	// spec.inventory.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// DriftKind is the type of Drift.Kind.
type DriftKind string

// The values of DriftKind. Drift.Kind explains them.
const (
	DriftChanged  DriftKind = "Changed"
	DriftGone     DriftKind = "Gone"
	DriftReplaced DriftKind = "Replaced"
)

// Health is the type of ObjectStatus.Health: the collector's judgement of one object.
type Health string

// The values of Health.
const (
	// Healthy: the object is in the state that its author asked for.
	Healthy Health = "Healthy"
	// Waiting: nothing is wrong, but another object or a person has to act before this object can become Healthy.
	Waiting Health = "Waiting"
	// Progressing: the object is on its way to the state that its author asked for.
	Progressing Health = "Progressing"
	// Degraded: the object's own status, or the rules of its kind, report a failure.
	Degraded Health = "Degraded"
)
