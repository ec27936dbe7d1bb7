// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// contents are the kinds of the objects that Fairlead, its tests and Kubernetes create in namespace fairlead-system. An object of
// another kind would stay in etcd, and be there again in the next namespace of the same name, unless it has an owner.
var contents = []schema.GroupVersionKind{
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	corev1.SchemeGroupVersion.WithKind("Pod"),
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	rbacv1.SchemeGroupVersion.WithKind("Role"),
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("ResourceQuota"),
	corev1.SchemeGroupVersion.WithKind("Service"),
	networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
	coordinationv1.SchemeGroupVersion.WithKind("Lease"),
	corev1.SchemeGroupVersion.WithKind("Event"),
}

// FinishNamespace finishes the deletion of a namespace, if something has deleted it. It does what the namespace controller of
// the cluster does, which begins only five seconds after the deletion: a cluster may have several API servers, and each has to notice
// the deletion first. The control planes of tests have one API server, and a package that deletes the namespace after each test
// would spend most of its time in that wait.
func FinishNamespace(ctx context.Context, c client.Client, name string) error {
	// The namespace controller may write the status of the namespace at the same time.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { return finishNamespace(ctx, c, name) })
}

func finishNamespace(ctx context.Context, c client.Client, name string) error {
	ns := &corev1.Namespace{}
	err := c.Get(ctx, types.NamespacedName{Name: name}, ns)
	if err != nil || ns.DeletionTimestamp == nil {
		return client.IgnoreNotFound(err)
	}
	for _, kind := range contents {
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(kind)
		if err := c.DeleteAllOf(ctx, obj, client.InNamespace(name), client.GracePeriodSeconds(0)); err != nil {
			return fmt.Errorf("deleting every %s in namespace %s: %w", kind.Kind, name, err)
		}
	}
	ns.Spec.Finalizers = nil
	if err := c.SubResource("finalize").Update(ctx, ns); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("finishing the deletion of namespace %s: %w", name, err)
	}
	return nil
}
