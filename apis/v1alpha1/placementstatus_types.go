// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PlacementStatus is a placement decision.
type PlacementStatus struct {
	// observedGeneration is the generation of the spec that was decided on.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// clusters are the members where the objects are to stand, sorted; those that are withheld among them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Clusters []string `json:"clusters,omitempty"`

	// leaving are the members that an earlier decision placed and this one does not, until the
	// objects are off them (or kept, as onDelete says), sorted.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Leaving []string `json:"leaving,omitempty"`

	// notFound are names in spec.placement that no MemberCluster has, sorted.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	NotFound []string `json:"notFound,omitempty"`

	// withheld are those of clusters that spec.placement does not select any more, and that are served
	// on until more may be left (spec.rollout.maxRemoval) or an Approval lets them go, sorted.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Withheld []string `json:"withheld,omitempty"`

	// decision names the removal that waits: an Approval that lets withheld members go repeats it. It
	// stays while these members, or fewer of them, wait for the same spec.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Decision string `json:"decision,omitempty"`

	// removals are those that began within the last hour, the oldest first. Older ones may still be
	// there: they are dropped with the next decision.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	Removals []Removals `json:"removals,omitempty"`

	// released are members of which a person said not to wait for them: what one holds of this wrapper
	// that was being left then stays there. One that is placed again is served again, and stays in this
	// list as well: an Approval counts once, also where there was nobody to wait for any more.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=5000
	Released []ReleasedCluster `json:"released,omitempty"`
}

// Removals are members that began to be left in the same minute.
type Removals struct {
	// since is when the last of them began to be left.
	// +required
	Since metav1.Time `json:"since,omitempty,omitzero"`

	// count is how many they are.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Count int32 `json:"count,omitempty"`

	// placed is how many members the wrapper stood on before the first of them was left.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Placed int32 `json:"placed,omitempty"`
}

// ReleasedCluster is a member that is not waited for.
type ReleasedCluster struct {
	// name is the name of the MemberCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// approved is when the Approval that said so was written. It counts once: to be released when it is
	// left another time, the member needs a newer one.
	// +required
	Approved metav1.Time `json:"approved,omitempty,omitzero"`
}
