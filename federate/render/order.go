// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	core      = ""
	apps      = "apps"
	batch     = "batch"
	rbac      = "rbac.authorization.k8s.io"
	storage   = "storage.k8s.io"
	snapshot  = "snapshot.storage.k8s.io"
	groupsnap = "groupsnapshot.storage.k8s.io"
	olm       = "operators.coreos.com"
	olmV1     = "olm.operatorframework.io"
)

// ladder is the install order. Each entry, called a rung, lists kinds that are installed together. The objects of a
// rung are sorted by kind and name. Members get the objects of an earlier rung first.
var ladder = [][]schema.GroupKind{
	{{Group: core, Kind: "Namespace"}},
	{{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}},
	{{Group: "scheduling.k8s.io", Kind: "PriorityClass"}, {Group: "node.k8s.io", Kind: "RuntimeClass"}},
	{
		{Group: storage, Kind: "CSIDriver"},
		{Group: storage, Kind: "StorageClass"},
		{Group: storage, Kind: "VolumeAttributesClass"},
		{Group: snapshot, Kind: "VolumeSnapshotClass"},
		{Group: groupsnap, Kind: "VolumeGroupSnapshotClass"},
	},
	{{Group: "networking.k8s.io", Kind: "IngressClass"}, {Group: "gateway.networking.k8s.io", Kind: "GatewayClass"}},
	// Limits and policies come before the objects that they restrict.
	{
		{Group: core, Kind: "ResourceQuota"},
		{Group: core, Kind: "LimitRange"},
		{Group: "networking.k8s.io", Kind: "NetworkPolicy"},
	},
	{{Group: core, Kind: "ServiceAccount"}},
	{{Group: core, Kind: "Secret"}},
	{{Group: core, Kind: "ConfigMap"}},
	{{Group: rbac, Kind: "ClusterRole"}},
	{{Group: rbac, Kind: "ClusterRoleBinding"}},
	{{Group: rbac, Kind: "Role"}},
	{{Group: rbac, Kind: "RoleBinding"}},
	// A claim may be restored from a snapshot, so snapshots come before claims.
	{{Group: core, Kind: "PersistentVolume"}, {Group: snapshot, Kind: "VolumeSnapshotContent"}, {Group: groupsnap, Kind: "VolumeGroupSnapshotContent"}},
	{{Group: snapshot, Kind: "VolumeSnapshot"}, {Group: groupsnap, Kind: "VolumeGroupSnapshot"}},
	{{Group: core, Kind: "PersistentVolumeClaim"}},
	// Services come before workloads: a pod gets environment variables only of the services that exist when it starts.
	{{Group: core, Kind: "Service"}},
	{
		{Group: apps, Kind: "DaemonSet"},
		{Group: apps, Kind: "Deployment"},
		{Group: apps, Kind: "ReplicaSet"},
		{Group: apps, Kind: "StatefulSet"},
		{Group: core, Kind: "Pod"},
		{Group: core, Kind: "ReplicationController"},
	},
	{{Group: batch, Kind: "CronJob"}, {Group: batch, Kind: "Job"}},
	{{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, {Group: "policy", Kind: "PodDisruptionBudget"}},
	builtIn,
	{{Group: "apiregistration.k8s.io", Kind: "APIService"}},
	// Webhooks come after the workloads that serve them. If they came first, the API server would call a webhook without
	// a server, and refuse those workloads.
	{
		{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
	},
	// OLM installs a Subscription only with an OperatorGroup in its namespace, and from a known catalog.
	{{Group: olm, Kind: "CatalogSource"}, {Group: olmV1, Kind: "ClusterCatalog"}},
	{{Group: olm, Kind: "OperatorGroup"}},
	{{Group: olm, Kind: "Subscription"}, {Group: olmV1, Kind: "ClusterExtension"}},
	// Custom resources come last, because an operator from an earlier rung may first have to make the member serve
	// their kinds.
	custom,
}

// builtIn is the rung of all kinds of Kubernetes that ladder does not name, and custom is the rung of all other kinds.
var (
	builtIn = []schema.GroupKind{{Group: "*.k8s.io", Kind: "*"}}
	custom  = []schema.GroupKind{{Group: "*", Kind: "*"}}
)

var rungs = func() map[schema.GroupKind]int {
	m := make(map[schema.GroupKind]int, len(ladder)*3)
	for rung, kinds := range ladder {
		for _, gk := range kinds {
			m[gk] = rung
		}
	}
	return m
}()

// InstallOrder returns the rung of a kind: 0 for Namespaces, the highest number for custom resources. The manager
// installs from rung 0 up, and removes from the highest rung down.
func InstallOrder(gk schema.GroupKind) int {
	if rung, named := rungs[gk]; named {
		return rung
	}
	// By convention, groups without a dot and groups of k8s.io are Kubernetes' own.
	if !strings.Contains(gk.Group, ".") || strings.HasSuffix(gk.Group, ".k8s.io") {
		return rungs[builtIn[0]]
	}
	return rungs[custom[0]]
}
