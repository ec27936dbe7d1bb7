// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PlacementStatus is a placement decision.
type PlacementStatus struct {
	// observedGeneration is the generation of the spec that this decision is for.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// clusters are the placed members, sorted. The withheld members are among them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Clusters []string `json:"clusters,omitempty"`

	// leaving are the members that an earlier decision placed and this one does not, sorted. A member stays in the list
	// until its objects are removed, or kept as onDelete says.
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

	// withheld are members in clusters that spec.placement no longer selects, sorted. The manager serves them until
	// spec.rollout.maxRemoval allows their removal, or an Approval does.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Withheld []string `json:"withheld,omitempty"`

	// decision identifies the removal that waits. An Approval of the removal has to repeat this value. The value stays
	// the same while the same members, or fewer of them, wait for the same spec.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Decision string `json:"decision,omitempty"`

	// removals are the removals that began within the last hour, the oldest first. Older ones may still be listed; the
	// next decision drops them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	Removals []Removals `json:"removals,omitempty"`

	// released lists the members for which an Approval ended the wait. The objects that the manager was removing from
	// such a member stay there. A member that is placed again is served again, and stays in the list. An Approval
	// counts once, even if no removal was waiting.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=5000
	Released []ReleasedCluster `json:"released,omitempty"`
}

// Removals are the members whose removal began in the same minute.
type Removals struct {
	// since is when the last of these removals began.
	// +required
	Since metav1.Time `json:"since,omitempty,omitzero"`

	// count is the number of these members.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Count int32 `json:"count,omitempty"`

	// placed is the number of members that the wrapper was placed on before the first of these removals.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Placed int32 `json:"placed,omitempty"`
}

// ReleasedCluster is a member that the manager no longer waits for.
type ReleasedCluster struct {
	// name is the name of the MemberCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// approved is when the Approval was created. An Approval counts once: to release the member from a later removal,
	// create a newer Approval.
	// +required
	Approved metav1.Time `json:"approved,omitempty,omitzero"`
}
