// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Absent reports whether err means that an object does not exist, or that the cluster does not serve its kind.
func Absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// Describe names an object for people: "ClusterRole fairlead-host".
func Describe(obj client.Object) string {
	kind := fmt.Sprintf("%T", obj)
	if gvk, err := apiutil.GVKForObject(obj, Scheme); err == nil {
		kind = gvk.Kind
	}
	if obj.GetNamespace() != "" {
		return kind + " " + obj.GetNamespace() + "/" + obj.GetName()
	}
	return kind + " " + obj.GetName()
}

// SystemNamespace returns the namespace fairlead-system, with its name only.
func SystemNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
}

// ServiceAccount returns a service account in fairlead-system, with its name only.
func ServiceAccount(name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}}
}

// BelongTo makes the owners own obj, so that the cluster's garbage collector removes obj after the last owner. It skips an
// owner without a uid: in a dry run the API server gives a new object no uid.
func BelongTo(obj client.Object, owners ...client.Object) {
	var refs []metav1.OwnerReference
	for _, owner := range owners {
		ref := metav1.OwnerReference{Name: owner.GetName(), UID: owner.GetUID()}
		switch owner.(type) {
		case *corev1.ServiceAccount:
			ref.APIVersion, ref.Kind = "v1", "ServiceAccount"
		case *rbacv1.ClusterRole:
			ref.APIVersion, ref.Kind = rbacv1.SchemeGroupVersion.String(), "ClusterRole"
		}
		if ref.UID != "" {
			refs = append(refs, ref)
		}
	}
	if len(refs) > 0 {
		obj.SetOwnerReferences(refs)
	}
}
