// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/federate/retention"
)

// MayReplace reports whether the manager may delete and recreate an object of this kind if an annotation of the author
// asks for that. It may not if the kind holds data. A StorageClass is kept under KeepData, but holds no data itself, so
// it may be replaced.
func MayReplace(gk schema.GroupKind) bool {
	return !retention.HoldsData(gk) || gk.Kind == "StorageClass"
}

// onlyRestrict are the kinds whose objects only restrict: the removal of such an object allows more, and breaks
// nothing.
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

// restrictions separates the removals of kinds that only restrict from all other removals. Both results keep the order.
func restrictions(all []*Removal) (restricting, others []*Removal) {
	for _, r := range all {
		if onlyRestricts(r.GroupKind()) {
			restricting = append(restricting, r)
		} else {
			others = append(others, r)
		}
	}
	return restricting, others
}

// holdsOthers reports whether the deletion of an object of this kind also deletes objects of other clients: a Namespace
// is deleted with all objects in it, a CRD with all objects of its kind.
func holdsOthers(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "Namespace"} ||
		gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}
