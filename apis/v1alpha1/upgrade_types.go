// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Upgrade tells the manager which versions OLM may install on members. It is part of the revision, so a new target goes
// out in the waves of spec.rollout.
type Upgrade struct {
	// subscriptions are the Subscriptions whose InstallPlans the manager approves. Each one is an object of the wrapper
	// with installPlanApproval: Manual.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Subscriptions []SubscriptionUpgrade `json:"subscriptions,omitempty"`

	// sharedNamespace set to Allow lets the manager create these Subscriptions in a namespace that has Subscriptions of
	// other owners. OLM makes one InstallPlan for all of them, and all of them then wait for approval. The manager approves no
	// plan that changes the operator of an owner who has not agreed. Defaults to Refuse.
	// +optional
	// +kubebuilder:validation:Enum=Refuse;Allow
	SharedNamespace SharedNamespacePolicy `json:"sharedNamespace,omitempty"`
}

// SubscriptionUpgrade is the version to which one Subscription is upgraded.
type SubscriptionUpgrade struct {
	// name is the metadata.name of the Subscription in spec.objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// targetCSV is the name of the ClusterServiceVersion to install, for example postgres.v1.2.0. The manager approves
	// each InstallPlan on the way to it, and none beyond it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="targetCSV is the name of a ClusterServiceVersion: lower case letters, digits, '-' and '.'"
	TargetCSV string `json:"targetCSV,omitempty"`
}

// SharedNamespacePolicy is what the manager does in a namespace with Subscriptions of other owners.
type SharedNamespacePolicy string

// The policies for shared namespaces.
const (
	SharedNamespaceRefuse SharedNamespacePolicy = "Refuse"
	SharedNamespaceAllow  SharedNamespacePolicy = "Allow"
)
