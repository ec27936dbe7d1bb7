// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/federate/retention"
)

// MayReplace reports whether an object of a kind may be deleted to be made again; what KeepData keeps
// never is, whatever its annotation says, but for StorageClasses, which hold no data themselves.
func MayReplace(gk schema.GroupKind) bool {
	return !retention.HoldsData(gk) || gk.Kind == "StorageClass"
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

// holdsOthers reports whether deleting an object of a kind deletes what others have put into it.
func holdsOthers(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "Namespace"} ||
		gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}
