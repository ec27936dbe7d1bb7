// SPDX-License-Identifier: Apache-2.0

package push

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// holdsData are the kinds that KeepData keeps: what holds data, and the ground that data stands on.
// (docs/design.md, section 6.)
var holdsData = map[schema.GroupKind]bool{
	{Kind: "PersistentVolumeClaim"}: true,
	{Kind: "PersistentVolume"}:      true,
	{Kind: "Namespace"}:             true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:           true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                             true,
	{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"}:                  true,
	{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshotContent"}:           true,
	{Group: "groupsnapshot.storage.k8s.io", Kind: "VolumeGroupSnapshot"}:        true,
	{Group: "groupsnapshot.storage.k8s.io", Kind: "VolumeGroupSnapshotContent"}: true,
}

// isKept says whether an object stays on a member that its wrapper leaves. keep is the object's own
// annotation: "true" keeps it whatever the policy, "false" takes it out of KeepData.
func isKept(policy v1alpha1.DeletionPolicy, gk schema.GroupKind, keep string) bool {
	switch {
	case keep == "true" || policy == v1alpha1.KeepAll:
		return true
	case policy == v1alpha1.DeleteAll || keep == "false":
		return false
	}
	return holdsData[gk]
}

// whyKept says why isKept says so.
func whyKept(keep string) string {
	if keep == "true" {
		return `its annotation ` + annotationKeep + `: "true" asks for it`
	}
	return "it holds data, or is the ground that data stands on"
}

// mayReplace says whether an object of a kind may be deleted to be made again; what KeepData keeps
// never is, whatever its annotation says, but for StorageClasses, which hold no data themselves.
func mayReplace(gk schema.GroupKind) bool {
	return !holdsData[gk] || gk.Kind == "StorageClass"
}

// onlyRestrict are kinds that provide nothing: without them more is allowed.
var onlyRestrict = map[schema.GroupKind]bool{
	{Kind: "ResourceQuota"}:                                                           true,
	{Kind: "LimitRange"}:                                                              true,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:                               true,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                                    true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:        true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: true,
}

func onlyRestricts(gk schema.GroupKind) bool { return onlyRestrict[gk] }

// restrictions parts what only restricts from all else, each in its order.
func restrictions(all []*removal) (restricting, others []*removal) {
	for _, r := range all {
		if onlyRestricts(r.groupKind()) {
			restricting = append(restricting, r)
		} else {
			others = append(others, r)
		}
	}
	return restricting, others
}

// holdsOthers says whether deleting an object of a kind deletes what others have put into it.
func holdsOthers(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "Namespace"} ||
		gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}
