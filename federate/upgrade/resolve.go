// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"slices"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Resolve returns the spec with the versions that the manager has taken. For each Subscription with approve: Latest it
// sets targetCSV to the taken version, and keeps approve. Only a revision has both fields. Without such a Subscription,
// Resolve returns the spec itself. The result shares all other fields with the spec.
func Resolve(spec *v1alpha1.WrapperSpec, status *v1alpha1.UpgradeStatus) *v1alpha1.WrapperSpec {
	if !TakesLatest(&spec.Upgrade) {
		return spec
	}
	resolved := *spec
	resolved.Upgrade.Subscriptions = slices.Clone(spec.Upgrade.Subscriptions)
	for i := range resolved.Upgrade.Subscriptions {
		if s := &resolved.Upgrade.Subscriptions[i]; s.Approve == v1alpha1.ApproveLatest {
			s.TargetCSV = taken(status, s.Name)
		}
	}
	return &resolved
}

// AsWritten changes the upgrade of a revision back to what the author wrote: it removes the versions that the manager
// took for approve: Latest.
func AsWritten(upgrade *v1alpha1.Upgrade) {
	for i := range upgrade.Subscriptions {
		if s := &upgrade.Subscriptions[i]; s.Approve == v1alpha1.ApproveLatest {
			s.TargetCSV = ""
		}
	}
}

// TakesLatest reports whether a Subscription has approve: Latest.
func TakesLatest(upgrade *v1alpha1.Upgrade) bool {
	return slices.ContainsFunc(upgrade.Subscriptions, func(s v1alpha1.SubscriptionUpgrade) bool { return s.Approve == v1alpha1.ApproveLatest })
}

// Carry returns a new status.upgrade for the Subscriptions with approve: Latest, in the order of the spec. It keeps the
// versions that the manager has taken, and the times at which it took them. It drops the reasons, and the entries of
// Subscriptions without approve: Latest.
func Carry(upgrade *v1alpha1.Upgrade, status *v1alpha1.UpgradeStatus) v1alpha1.UpgradeStatus {
	var next v1alpha1.UpgradeStatus
	for i := range upgrade.Subscriptions {
		s := &upgrade.Subscriptions[i]
		if s.Approve != v1alpha1.ApproveLatest {
			continue
		}
		kept := v1alpha1.SubscriptionVersion{Name: s.Name}
		if at := indexOf(status, s.Name); at >= 0 {
			kept.CSV, kept.Since = status.Subscriptions[at].CSV, status.Subscriptions[at].Since
		}
		next.Subscriptions = append(next.Subscriptions, kept)
	}
	return next
}

func taken(status *v1alpha1.UpgradeStatus, name string) string {
	if at := indexOf(status, name); at >= 0 {
		return status.Subscriptions[at].CSV
	}
	return ""
}

func indexOf(status *v1alpha1.UpgradeStatus, name string) int {
	return slices.IndexFunc(status.Subscriptions, func(s v1alpha1.SubscriptionVersion) bool { return s.Name == name })
}
