// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/overrides/selection"
)

func TestInstallOrderPutsObjectsBeforeTheirDependents(t *testing.T) {
	gk := func(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }
	inOrder := []schema.GroupKind{
		gk("", "Namespace"),
		gk("apiextensions.k8s.io", "CustomResourceDefinition"),
		gk("scheduling.k8s.io", "PriorityClass"),
		gk("storage.k8s.io", "StorageClass"),
		gk("networking.k8s.io", "NetworkPolicy"),
		gk("", "ServiceAccount"),
		gk("", "Secret"),
		gk("", "ConfigMap"),
		gk("rbac.authorization.k8s.io", "ClusterRole"),
		gk("rbac.authorization.k8s.io", "ClusterRoleBinding"),
		gk("rbac.authorization.k8s.io", "Role"),
		gk("rbac.authorization.k8s.io", "RoleBinding"),
		gk("", "PersistentVolume"),
		gk("snapshot.storage.k8s.io", "VolumeSnapshot"),
		gk("", "PersistentVolumeClaim"),
		gk("", "Service"),
		gk("apps", "Deployment"),
		gk("batch", "Job"),
		gk("policy", "PodDisruptionBudget"),
		gk("networking.k8s.io", "Ingress"), // ladder does not name this kind
		gk("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
		gk("operators.coreos.com", "CatalogSource"),
		gk("operators.coreos.com", "OperatorGroup"),
		gk("operators.coreos.com", "Subscription"),
		gk("example.com", "Deployment"), // a custom resource, although its kind has the name of a built-in kind
	}
	for i := 1; i < len(inOrder); i++ {
		if InstallOrder(inOrder[i-1]) >= InstallOrder(inOrder[i]) {
			t.Errorf("%s does not come before %s", inOrder[i-1], inOrder[i])
		}
	}
	for _, pair := range [][2]schema.GroupKind{
		{gk("apps", "Deployment"), gk("apps", "StatefulSet")},
		{gk("autoscaling", "HorizontalPodAutoscaler"), gk("policy", "PodDisruptionBudget")},
		{gk("gateway.networking.k8s.io", "HTTPRoute"), gk("", "Endpoints")},
		{gk("cluster.x-k8s.io", "Cluster"), gk("example.com", "Widget")},
	} {
		if InstallOrder(pair[0]) != InstallOrder(pair[1]) {
			t.Errorf("%s and %s must have the same place in the order", pair[0], pair[1])
		}
	}
}

func TestObjectsOfOneRungAreOrderedByKindAndName(t *testing.T) {
	s := spec(t, `
objects:
- {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}}
- {apiVersion: b.io/v1, kind: Widget, metadata: {name: b}}
- {apiVersion: a.io/v1, kind: Widget, metadata: {name: b}}
- {apiVersion: c.io/v1, kind: Widget, metadata: {name: a}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: z}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: w}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: z}}
`)
	var got []string
	for _, o := range rendering(t, renderer(t, s, "shop"), selection.Member{Name: "east"}).Objects {
		got = append(got, o.String()+" "+o.GVK.Group)
	}
	want := []string{"ConfigMap z ", "Deployment w apps", "Deployment z apps", "StatefulSet a apps", "Widget a c.io", "Widget b a.io", "Widget b b.io"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
