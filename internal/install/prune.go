// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// prunable lists the kinds whose objects prune may delete. It contains neither CRDs nor the namespace, because their
// deletion would delete all wrappers or all credentials.
var prunable = []schema.GroupVersionKind{
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"}, // deleted before its policy: a policy without a binding refuses nothing
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"},
	{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
	{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"},
	{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
	{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Version: "v1", Kind: "Service"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"},
}

// prune deletes objects that an earlier installation applied and that are not part of this installation.
func (i *installer) prune(ctx context.Context) error {
	stale, err := staleObjects(ctx, i.Client, i.objects)
	if err != nil {
		return err
	}
	for j := range stale {
		obj := &stale[j]
		if err := i.applier.delete(ctx, obj); err != nil {
			return err
		}
		i.progress.Note("%s is no longer part of the installation: %s", describeObject(obj), i.applier.describe(map[outcome]int{deleted: 1}))
	}
	return nil
}

// staleObjects lists the objects that an earlier installation applied and that are not among the objects in installed.
func staleObjects(ctx context.Context, c client.Reader, installed []*unstructured.Unstructured) (stale []metav1.PartialObjectMetadata, err error) {
	for _, gvk := range prunable {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		err := c.List(ctx, list)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, forbidden(err, "looking for objects of an earlier installation")
		}
		for _, item := range list.Items {
			item.SetGroupVersionKind(gvk)
			if appliedByUs(&item) && !contains(installed, &item) {
				stale = append(stale, item)
			}
		}
	}
	return stale, nil
}

// contains reports whether an object is among the objects in installed.
func contains(installed []*unstructured.Unstructured, obj *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(installed, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == obj.Kind && o.GetNamespace() == obj.Namespace && o.GetName() == obj.Name
	})
}
