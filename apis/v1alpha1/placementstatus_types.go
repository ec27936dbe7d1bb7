// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PlacementStatus is the manager's decision on which members get the objects of a wrapper.
type PlacementStatus struct {
	// observedGeneration is the metadata.generation of the wrapper for which the manager made this decision.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// clusters are the names of the placed members, sorted. The members in the field withheld are among them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Clusters []string `json:"clusters,omitempty"`

	// leaving are the members that the wrapper is leaving, sorted: an earlier decision placed the wrapper there, and this
	// one does not. A member stays in the list until the manager has deleted or kept each object of the wrapper there
	// (spec.onDelete), or until a person ends the wait (Approval with allow: Release).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Leaving []string `json:"leaving,omitempty"`

	// notFound are the names in spec.placement.clusters.names for which no MemberCluster exists, sorted.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	NotFound []string `json:"notFound,omitempty"`

	// withheld are members that spec.placement no longer selects, but whose removal waits because of
	// spec.rollout.maxRemoval, sorted. The removal waits for the end of the hour, or for an Approval with allow: Removal.
	// Until then the manager serves these members like all placed members.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Withheld []string `json:"withheld,omitempty"`

	// decision identifies the removal that waits. An Approval with allow: Removal counts only if its spec.decision has
	// this value. The value changes with each change of the spec, and when the removal from one more member has to wait.
	// It is absent if no removal waits.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Decision string `json:"decision,omitempty"`

	// removals are the removals that count against spec.rollout.maxRemoval, the oldest first. A removal counts for one
	// hour. The manager drops older entries when it writes the next decision.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	Removals []Removals `json:"removals,omitempty"`

	// released are the members for which a person created an Approval with allow: Release. The Approval ends the wait for
	// the removal from the member, and the wrapper's objects stay there. If the wrapper is placed there again, the manager
	// serves the member again, and the entry stays. Each Approval counts once, so a later removal needs a newer Approval.
	// An Approval that a person creates while the wrapper is not leaving the member is used up too.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=5000
	Released []ReleasedCluster `json:"released,omitempty"`
}

// Removals counts the members from which the manager began to remove the wrapper within the same minute.
type Removals struct {
	// since is when the last of these removals began, rounded up to a second.
	// +required
	Since metav1.Time `json:"since,omitempty,omitzero"`

	// count is the number of members whose removal began in this minute.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Count int32 `json:"count,omitempty"`

	// placed is the number of members on which the wrapper was placed before the first of these removals. maxRemoval as a
	// percentage is a share of this number.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Placed int32 `json:"placed,omitempty"`
}

// ReleasedCluster is a member for which a person created an Approval with allow: Release.
type ReleasedCluster struct {
	// name is the name of the MemberCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// approved is the creation time of the Approval. Only a newer Approval releases the member from a later removal.
	// +required
	Approved metav1.Time `json:"approved,omitempty,omitzero"`
}
