// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ObjectEvidence is what the collector saw on the member about an object that is not healthy, and about the objects that it
// owns: its events, and its failing containers with the end of their logs. The collector has redacted the texts.
type ObjectEvidence struct {
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

	Evidence `json:",inline"` //nolint:kubeapilinter // the object has other properties, so it needs no minimum of its own
}

// Evidence is what the collector saw on a member about an object.
type Evidence struct {
	// events are the latest events about the object and about the objects that it owns, the oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	Events []ObservedEvent `json:"events,omitempty"`

	// containers are the object's containers that do not run or are not ready, with at most 8 KiB of logs in all. The answer to a
	// request for logs also has the containers that run, and at most 32 KiB of logs in all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Containers []ObservedContainer `json:"containers,omitempty"`
}

// ObservedEvent is an event on a member. The collector folds similar events into one, for example those of the pods of one ReplicaSet.
type ObservedEvent struct {
	// kind is the kind of the object that the event is about, for example Pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// name is the name of the object that the event is about.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// type is Normal or Warning.
	// +required
	// +kubebuilder:validation:Enum=Normal;Warning
	Type string `json:"type,omitempty"`

	// reason is the event's reason, for example FailedScheduling.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// message is the event's message.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// count is how often the event happened.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count,omitempty"`

	// lastTime is when the event happened last, by the member's clock.
	// +required
	LastTime metav1.Time `json:"lastTime,omitempty,omitzero"`
}

// ObservedContainer is the state of a container on a member, and the end of its logs.
type ObservedContainer struct {
	// pod is the name of the pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod,omitempty"`

	// name is the name of the container.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// state is the state of the container: Waiting, Running or Terminated.
	// +required
	// +kubebuilder:validation:Enum=Waiting;Running;Terminated
	State string `json:"state,omitempty"`

	// reason is why the container is in this state, for example CrashLoopBackOff.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// restarts is how often the kubelet has started the container again. It is absent for 0.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Restarts int32 `json:"restarts,omitempty"`

	// log is the end of the log of the container's present run, or of its last run if the container does not run now.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	Log string `json:"log,omitempty"`

	// previousLog is the end of the log of an earlier run: the last one before the run that the field log shows.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	PreviousLog string `json:"previousLog,omitempty"`
}
