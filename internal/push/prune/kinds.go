// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/federate/retention"
)

// MayReplace reports whether an object of a kind may be deleted and made again. A kind that KeepData keeps never may,
// whatever its annotation says. StorageClasses are the exception, since they hold no data themselves.
func MayReplace(gk schema.GroupKind) bool {
	return !retention.HoldsData(gk) || gk.Kind == "StorageClass"
}

// onlyRestrict are kinds that only restrict: without them the cluster allows more.
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

// restrictions separates removals of kinds that only restrict from all others, each in its order.
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

// holdsOthers reports whether deleting an object of a kind also deletes objects of other clients in it.
func holdsOthers(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "Namespace"} ||
		gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}
