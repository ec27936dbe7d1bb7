// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
)

// The host's manager writes the status of a MemberCluster while another client releases it.
func TestAMemberIsReleasedThoughItsStatusIsWrittenMeanwhile(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	m := &v1alpha1.MemberCluster{}
	m.Name, m.UID, m.Finalizers = "east", "u-1", []string{v1alpha1.Finalizer, "somebody.example.com/else"}
	m.Spec.CredentialsRef.Name = "east"
	writes := 0
	host := fake.NewClientBuilder().WithScheme(scheme).WithObjects(m).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if writes++; writes <= 2 {
				there := &v1alpha1.MemberCluster{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(obj), there); err != nil {
					return err
				}
				there.Status.KubernetesVersion += "+"
				if err := c.Update(ctx, there); err != nil {
					return err
				}
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	if err := host.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
		t.Fatal(err)
	}
	if err := join.Release(t.Context(), host, m, nil); err != nil {
		t.Fatal(err)
	}
	is, err := join.FindMember(t.Context(), host, "east")
	if err != nil || len(is.Finalizers) != 1 || is.Status.KubernetesVersion != "++" {
		t.Errorf("%v %+v", err, is)
	}
}
