// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"slices"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/internal/join/cluster"
)

// The user may do everything except list and delete.
func TestRightsToPruneAreNeededBeforeTheFirstWrite(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Service"), meta.RESTScopeNamespace)
	mapper.Add(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), meta.RESTScopeRoot)
	c := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithRESTMapper(mapper).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			review := obj.(*authorizationv1.SelfSubjectAccessReview)
			asked := review.Spec.ResourceAttributes
			pruned := asked.Resource == "services" || asked.Resource == "clusterroles"
			review.Status.Allowed = asked.Verb != "*" && (!pruned || asked.Verb != "list" && asked.Verb != "delete")
			return nil
		},
	}).Build()
	var rights *RightsError
	err := checkRights(t.Context(), connection{Client: c}, nil)
	want := []string{"list services", "delete services in fairlead-system", "list, delete clusterroles.rbac.authorization.k8s.io"}
	if !errors.As(err, &rights) || !slices.Equal(rights.Missing, want) {
		t.Errorf("got: %v", err)
	}
}

// The API server refuses every role, because the user lacks its rights.
func TestARoleIsTriedWhereItsNamespaceIsThere(t *testing.T) {
	role := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
		"metadata": map[string]any{"namespace": systemNamespace, "name": "a"}}}
	c := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, "a", errors.New("attempting to grant RBAC permissions not currently held"))
		},
	}).Build()
	for _, hasNamespace := range []bool{true, false} {
		i := &installer{connection: connection{Client: c}, there: host{hasNamespace: hasNamespace}, objects: []*unstructured.Unstructured{role}}
		if err := i.checkRoles(t.Context()); (err != nil) != hasNamespace {
			t.Errorf("namespace %t: %v", hasNamespace, err)
		}
	}
}
