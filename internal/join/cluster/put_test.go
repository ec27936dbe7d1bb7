// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// While a join repairs an object, the member's garbage collector deletes it, because its owner was deleted.
func TestAnObjectThatIsDeletedBeforeItsUpdateIsCreated(t *testing.T) {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	deleted := false
	c := fake.NewClientBuilder().WithScheme(Scheme).WithObjects(role.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if !deleted {
				deleted = true
				if err := c.Delete(ctx, role.DeepCopy()); err != nil {
					return err
				}
			}
			return c.Update(ctx, obj, opts...)
		},
	}).Build()
	_, outcome, err := Put(t.Context(), Cluster{Client: c, Name: "member east"}, role, func(r *rbacv1.ClusterRole) {
		r.Labels = map[string]string{"wanted": "yes"}
	})
	if err != nil || outcome != steps.Created || !deleted {
		t.Fatalf("outcome %s, %v", outcome, err)
	}
	is := &rbacv1.ClusterRole{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(role), is); err != nil || is.Labels["wanted"] != "yes" {
		t.Errorf("%+v, %v", is.Labels, err)
	}
}
