// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// A GitOps tool restores the wrapper's onDelete between the patch and the deletion.
func TestAWrapperIsDeletedOnlyAsKeepAll(t *testing.T) {
	for name, tc := range map[string]struct {
		puts    int // how often the tool restores it
		wantErr string
	}{
		"no tool":                  {puts: 0},
		"a tool that does it once": {puts: 1},
		"a tool that does it each time": {puts: 1000,
			wantErr: "another client restores fed/web in shop each time this command changes or deletes it: suspend your GitOps tool first"},
	} {
		t.Run(name, func(t *testing.T) {
			wrapper := &v1alpha1.Federated{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			putBack := func(ctx context.Context, c client.Client) {
				if tc.puts--; tc.puts < 0 {
					return
				}
				w := &v1alpha1.Federated{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(wrapper), w); err != nil {
					t.Fatal(err)
				}
				w.Spec.OnDelete = v1alpha1.KeepData
				if err := c.Update(ctx, w); err != nil {
					t.Fatal(err)
				}
			}
			c := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(wrapper).WithInterceptorFuncs(interceptor.Funcs{
				Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.DeleteOption) error {
					putBack(ctx, c)
					stored := &v1alpha1.Federated{}
					if err := c.Get(ctx, client.ObjectKeyFromObject(obj), stored); err != nil {
						t.Fatal(err)
					}
					err := c.Delete(ctx, obj, options...)
					if err == nil && stored.Spec.OnDelete != v1alpha1.KeepAll {
						t.Errorf("deleted as %s", stored.Spec.OnDelete)
					}
					return err
				},
			}).Build()
			u := &uninstaller{connection: connection{Client: c}, opts: UninstallOptions{Wait: time.Minute}, progress: progress.Discard()}
			err := u.deleteWrappers(t.Context())
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("want %q, got: %v", tc.wantErr, err)
			}
			left := client.IgnoreNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(wrapper), wrapper)) == nil && wrapper.Spec.OnDelete == v1alpha1.KeepData
			if left != (tc.wantErr != "") {
				t.Errorf("the wrapper is left: %t", left)
			}
		})
	}
}

// A GitOps tool creates the wrapper again after each deletion.
func TestTheErrorNamesAWrapperThatAnotherClientRestores(t *testing.T) {
	wrapper := &v1alpha1.Federated{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	c := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(wrapper.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.DeleteOption) error {
			if err := c.Delete(ctx, obj, options...); err != nil {
				return err
			}
			return c.Create(ctx, wrapper.DeepCopy())
		},
	}).Build()
	u := &uninstaller{connection: connection{Client: c}, opts: UninstallOptions{Wait: time.Minute}, progress: progress.Discard()}
	if err := u.deleteWrappers(t.Context()); err == nil || !strings.Contains(err.Error(), "another client restores fed/web in shop") {
		t.Errorf("got: %v", err)
	}
}
