// SPDX-License-Identifier: Apache-2.0

package member

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// kindMap maps kinds to resources, and resources to kinds.
type kindMap struct {
	byKind     map[schema.GroupKind]meta.RESTMapping
	byResource map[schema.GroupResource]schema.GroupKind
}

// builtIn maps Fairlead's own kinds, and the kinds that Kubernetes 1.36 serves in a stable version. Each kind has the
// version that API servers prefer, and newKindMap derives the plural from the kind. Every member that serves such a
// kind uses the same name and the same scope, so the manager needs no discovery documents of members for it. A member
// may lack a kind if its Kubernetes is older, or if an administrator has switched the API off.
// TestBuiltInKindsAreThoseOfARealAPIServer compares the list with a real API server.
var builtIn = newKindMap([]builtInGroup{
	{"", "v1", "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
		"Namespace Node PersistentVolume"},
	{"admissionregistration.k8s.io", "v1", "", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration " +
		"ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration"},
	{"apiextensions.k8s.io", "v1", "", "CustomResourceDefinition"},
	{"apiregistration.k8s.io", "v1", "", "APIService"},
	{"apps", "v1", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", ""},
	{"autoscaling", "v2", "HorizontalPodAutoscaler", ""},
	{"batch", "v1", "CronJob Job", ""},
	{"certificates.k8s.io", "v1", "", "CertificateSigningRequest"},
	{"coordination.k8s.io", "v1", "Lease", ""},
	{"discovery.k8s.io", "v1", "EndpointSlice", ""},
	{"events.k8s.io", "v1", "Event", ""},
	{"flowcontrol.apiserver.k8s.io", "v1", "", "FlowSchema PriorityLevelConfiguration"},
	{"networking.k8s.io", "v1", "Ingress NetworkPolicy", "IPAddress IngressClass ServiceCIDR"},
	{"node.k8s.io", "v1", "", "RuntimeClass"},
	{"policy", "v1", "PodDisruptionBudget", ""},
	{"rbac.authorization.k8s.io", "v1", "Role RoleBinding", "ClusterRole ClusterRoleBinding"},
	{"resource.k8s.io", "v1", "ResourceClaim ResourceClaimTemplate", "DeviceClass ResourceSlice"},
	{"scheduling.k8s.io", "v1", "", "PriorityClass"},
	{"storage.k8s.io", "v1", "CSIStorageCapacity", "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass"},
	{v1alpha1.Group, v1alpha1.GroupVersion.Version, "Delivery", "Membership"},
})

type builtInGroup struct{ group, version, namespaced, clusterScoped string }

func newKindMap(groups []builtInGroup) kindMap {
	all := kindMap{byKind: map[schema.GroupKind]meta.RESTMapping{}, byResource: map[schema.GroupResource]schema.GroupKind{}}
	add := func(g builtInGroup, kinds string, scope meta.RESTScope) {
		for kind := range strings.FieldsSeq(kinds) {
			gvk := schema.GroupVersionKind{Group: g.group, Version: g.version, Kind: kind}
			resource, _ := meta.UnsafeGuessKindToResource(gvk)
			all.byKind[gvk.GroupKind()] = meta.RESTMapping{Resource: resource, GroupVersionKind: gvk, Scope: scope}
			all.byResource[resource.GroupResource()] = gvk.GroupKind()
		}
	}
	for _, g := range groups {
		add(g, g.namespaced, meta.RESTScopeNamespace)
		add(g, g.clusterScoped, meta.RESTScopeRoot)
	}
	return all
}

// ServedEverywhere reports whether a kind is built in. Every member's API server serves such a kind, unless it is older
// than Kubernetes 1.36 or an administrator has switched the API off.
func ServedEverywhere(gk schema.GroupKind) bool { return builtIn.mapping(gk, "") != nil }

// mapping returns the resource and the scope of a built-in kind in a version, or nil for a kind that is not built in. The
// version "" means the preferred version.
func (m kindMap) mapping(gk schema.GroupKind, version string) *meta.RESTMapping {
	found, ok := m.byKind[gk]
	if !ok {
		return nil
	}
	if version != "" {
		found.Resource.Version, found.GroupVersionKind.Version = version, version
	}
	return &found
}
