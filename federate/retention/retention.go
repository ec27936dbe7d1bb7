// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// holdsData are the kinds that `onDelete: KeepData` keeps, because they hold data, or because data depends on them
// (docs/design.md, section 6).
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

// HoldsData reports whether `onDelete: KeepData` keeps objects of this kind.
func HoldsData(gk schema.GroupKind) bool { return holdsData[gk] }

// IsKept reports whether an object stays on a member when its wrapper leaves the member. keep is the value of
// AnnotationKeep: "true" keeps the object under every policy, "false" lets KeepData delete it, and any other value has
// no effect.
func IsKept(policy v1alpha1.DeletionPolicy, gk schema.GroupKind, keep string) bool {
	switch {
	case keep == "true" || policy == v1alpha1.KeepAll:
		return true
	case policy == v1alpha1.DeleteAll || keep == "false":
		return false
	}
	return HoldsData(gk)
}

// WhyKept returns the reason why IsKept keeps an object. keep is the value of AnnotationKeep.
func WhyKept(keep string) string {
	if keep == "true" {
		return `annotated ` + v1alpha1.AnnotationKeep + `: "true"`
	}
	return "of a kind that holds data, or that data depends on"
}
