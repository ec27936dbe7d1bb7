// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/internal/join/cluster"
)

// A controller writes the status between the read and the apply. That must not count as a change.
func TestAStatusThatAControllerWritesIsNoChange(t *testing.T) {
	for name, tc := range map[string]struct {
		labels map[string]any // the labels of the applied object
		want   outcome
	}{
		"the same":      {labels: map[string]any{"a": "1"}, want: unchanged},
		"another label": {labels: map[string]any{"a": "2"}, want: configured},
	} {
		t.Run(name, func(t *testing.T) {
			stored := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "a", Labels: map[string]string{"a": "1"}}}
			c := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(stored).WithInterceptorFuncs(interceptor.Funcs{
				Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, options ...client.ApplyOption) error {
					service := &corev1.Service{}
					if err := c.Get(ctx, client.ObjectKeyFromObject(stored), service); err != nil {
						t.Fatal(err)
					}
					service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
					if err := c.Update(ctx, service); err != nil {
						t.Fatal(err)
					}
					return c.Apply(ctx, obj, options...)
				},
			}).Build()
			counts := map[outcome]int{}
			err := (&applier{client: c}).apply(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Service",
				"metadata": map[string]any{"namespace": systemNamespace, "name": "a", "labels": tc.labels},
			}}, counts)
			if err != nil || counts[tc.want] != 1 {
				t.Errorf("%v %v", counts, err)
			}
		})
	}
}
