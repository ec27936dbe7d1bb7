// SPDX-License-Identifier: Apache-2.0

package health

import "k8s.io/apimachinery/pkg/runtime/schema"

// static are kinds whose health never changes after the apply. A kind that is missing here costs a read for each
// change. A kind that is wrongly here would hide a failure.
var static = map[schema.GroupKind]struct{}{
	{Kind: "ConfigMap"}:                         {},
	{Kind: "Endpoints"}:                         {},
	{Kind: "LimitRange"}:                        {},
	{Kind: "Namespace"}:                         {},
	{Kind: "PodTemplate"}:                       {},
	{Kind: "ResourceQuota"}:                     {},
	{Kind: "Secret"}:                            {},
	{Kind: "ServiceAccount"}:                    {},
	{Group: "apps", Kind: "ControllerRevision"}: {},
	{Group: "batch", Kind: "CronJob"}:           {},

	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: {},
	{Group: "policy", Kind: "PodDisruptionBudget"}:          {},

	{Group: "networking.k8s.io", Kind: "Ingress"}:       {},
	{Group: "networking.k8s.io", Kind: "IngressClass"}:  {},
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}: {},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:  {},

	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:        {},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: {},
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:               {},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        {},

	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                    {},
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                 {},
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}:        {},
	{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshotClass"}: {},

	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}:          {},
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}:   {},
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     {},
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:        {},
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: {},
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   {},

	{Group: "coordination.k8s.io", Kind: "Lease"}:                               {},
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"}:                 {},
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"}: {},
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                {},
	{Group: "resource.k8s.io", Kind: "DeviceClass"}:                             {},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                         {},

	{Group: "operators.coreos.com", Kind: "OperatorGroup"}: {},
}

// HasProgress reports whether objects of a kind have a health beyond a successful apply. If not, a successful apply is
// healthy, and no collector writes anything.
func HasProgress(gk schema.GroupKind) bool {
	_, ok := static[gk]
	return !ok
}

// builtIn are the API groups of Kubernetes itself; the kinds of every other group are custom resources.
var builtIn = map[string]struct{}{
	"": {}, "apps": {}, "autoscaling": {}, "batch": {}, "policy": {},
	"admissionregistration.k8s.io": {}, "apiextensions.k8s.io": {}, "apiregistration.k8s.io": {},
	"certificates.k8s.io": {}, "coordination.k8s.io": {}, "discovery.k8s.io": {}, "events.k8s.io": {},
	"flowcontrol.apiserver.k8s.io": {}, "internal.apiserver.k8s.io": {}, "networking.k8s.io": {},
	"node.k8s.io": {}, "rbac.authorization.k8s.io": {}, "resource.k8s.io": {}, "scheduling.k8s.io": {},
	"storage.k8s.io": {}, "storagemigration.k8s.io": {},
}

func isCustom(gk schema.GroupKind) bool {
	_, ok := builtIn[gk.Group]
	return !ok
}

// HasVersion reports whether objects of a kind report an installed version.
func HasVersion(gk schema.GroupKind) bool {
	return gk == kindSubscription || gk == kindClusterExtension
}
