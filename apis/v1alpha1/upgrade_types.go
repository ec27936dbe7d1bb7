// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Upgrade names versions of operators. On members, the manager approves the InstallPlans of OLM up to these versions, and
// none for a later version. Upgrade is part of the revision, so a new version goes out in the waves of spec.rollout.
type Upgrade struct {
	// subscriptions are the Subscriptions whose InstallPlans the manager approves on each member. Each one must be an
	// object of this wrapper with installPlanApproval: Manual.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Subscriptions []SubscriptionUpgrade `json:"subscriptions,omitempty"`

	// sharedNamespace selects what the manager does if a namespace on a member already has Subscriptions of other owners.
	// OLM makes one InstallPlan for all Subscriptions of a namespace. So after the manager adds a Subscription with
	// installPlanApproval: Manual, the upgrades of all owners wait for approval. Defaults to Refuse.
	// - Refuse: the manager does not create the Subscriptions in that namespace.
	// - Allow: the manager creates them. It approves an InstallPlan that also changes the operator of another owner only
	//   if that owner has agreed, for example by installPlanApproval: Automatic.
	// +optional
	// +kubebuilder:validation:Enum=Refuse;Allow
	SharedNamespace SharedNamespacePolicy `json:"sharedNamespace,omitempty"`

	// rollback selects what the manager does on a member that has a later version installed than targetCSV. OLM cannot
	// downgrade an operator. rollback is not part of the revision. It acts on every member that has a later version, each
	// in its turn in the waves of spec.rollout. Defaults to Never.
	// - Never: the manager keeps the installed version, and the member is Degraded.
	// - Reinstall: the manager removes the ClusterServiceVersions and the Subscription on the member, and creates the
	//   Subscription again, so that OLM installs targetCSV. CRDs and custom resources stay. In between no operator runs.
	//   The status announces it 30 seconds before. Where a removal is not safe, the manager keeps the operator, and the
	//   status says why. Reinstall is refused with approve: Latest and with drift: Report. It has an effect only if the
	//   manager runs with --reinstall-operators, which is off by default: the operator may not come back in every case.
	// +optional
	// +kubebuilder:validation:Enum=Never;Reinstall
	Rollback UpgradeRollback `json:"rollback,omitempty"`
}

// Reinstalls reports whether the manager reinstalls an operator to bring it back to an earlier targetCSV.
func (u *Upgrade) Reinstalls() bool { return u.Rollback == RollbackReinstall }

// Targets maps the name of each Subscription in spec.upgrade to its target: targetCSV, or TargetLatest for a
// Subscription with approve: Latest while the manager has taken no version for it. The map is nil if spec.upgrade names
// no Subscription.
func (u *Upgrade) Targets() map[string]string {
	if len(u.Subscriptions) == 0 {
		return nil
	}
	targets := make(map[string]string, len(u.Subscriptions))
	for i := range u.Subscriptions {
		s := &u.Subscriptions[i]
		if targets[s.Name] = s.TargetCSV; s.TargetCSV == "" && s.Approve == ApproveLatest {
			targets[s.Name] = TargetLatest
		}
	}
	return targets
}

// SubscriptionUpgrade tells to which version the manager upgrades one Subscription: the version that the author names
// in targetCSV, or the latest one (approve).
//
// +kubebuilder:validation:XValidation:rule="has(self.targetCSV) != has(self.approve)",message="give either targetCSV (a version) or `approve: Latest` (the newest version that OLM offers on the first wave)"
type SubscriptionUpgrade struct {
	// name is the metadata.name of a Subscription in spec.objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// targetCSV is the name of the ClusterServiceVersion to install, for example postgres.v1.2.0. The manager approves
	// each InstallPlan on the way to this version, and none for a later version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="targetCSV is the name of a ClusterServiceVersion: lower case letters, digits, '-' and '.'"
	TargetCSV string `json:"targetCSV,omitempty"`

	// approve set to Latest makes the manager choose the version. It takes the version that OLM offers on the members of
	// the first wave, when all of them that report a version report the same one. Each version that the manager takes goes
	// out in the waves of spec.rollout. status.upgrade has the version that it took last.
	// +optional
	// +kubebuilder:validation:Enum=Latest
	Approve UpgradeApproval `json:"approve,omitempty"`
}

// UpgradeApproval is the type of SubscriptionUpgrade.Approve.
type UpgradeApproval string

// ApproveLatest makes the manager take the version that OLM offers on the members of the first wave.
const ApproveLatest UpgradeApproval = "Latest"

// UpgradeStatus has the version that the manager took last for each Subscription with approve: Latest.
type UpgradeStatus struct {
	// subscriptions has an entry for each Subscription with approve: Latest.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Subscriptions []SubscriptionVersion `json:"subscriptions,omitempty"`
}

// SubscriptionVersion is the version that the manager took last for one Subscription with approve: Latest.
type SubscriptionVersion struct {
	// name is the metadata.name of the Subscription in spec.objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// csv is the name of the ClusterServiceVersion that the manager took last. It is absent until the manager has taken
	// one. The manager writes it here before it approves an InstallPlan for it, and never replaces it by an earlier
	// version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	CSV string `json:"csv,omitempty"`

	// since is when the manager took the version in csv.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`

	// reason is why the manager takes no other version than csv now, for example VersionsDiffer. It is absent if there is
	// no such reason.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message explains the reason to a person, with the names of members and versions.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// SharedNamespacePolicy is the type of Upgrade.SharedNamespace.
type SharedNamespacePolicy string

// The values of SharedNamespacePolicy. Upgrade.SharedNamespace explains them.
const (
	SharedNamespaceRefuse SharedNamespacePolicy = "Refuse"
	SharedNamespaceAllow  SharedNamespacePolicy = "Allow"
)

// UpgradeRollback is the type of Upgrade.Rollback.
type UpgradeRollback string

// The values of UpgradeRollback. Upgrade.Rollback explains them.
const (
	RollbackNever     UpgradeRollback = "Never"
	RollbackReinstall UpgradeRollback = "Reinstall"
)
