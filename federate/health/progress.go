// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// static are kinds whose health never changes after the apply. The collector reads no objects of these kinds. If a kind
// is missing here, the collector reads its objects needlessly. If a kind is here by mistake, the collector misses its
// failures.
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

// HasProgress reports whether the health of objects of a kind can change after a successful apply. If not, an applied
// object is healthy, and the collector writes nothing about it.
func HasProgress(gk schema.GroupKind) bool {
	_, ok := static[gk]
	return !ok
}

// builtIn are the API groups of Kubernetes itself. The kinds of all other groups count as custom resources.
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

// HasVersion reports whether the verdict on objects of a kind has a Version.
func HasVersion(gk schema.GroupKind) bool {
	return gk == upgrade.Subscription || gk == kindClusterExtension
}
