// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// TestADeletionEndsWhileNoReplicaServesTheWebhooks takes the finalizer off a deleted wrapper, as the manager does at the end of a deletion.
func TestADeletionEndsWhileNoReplicaServesTheWebhooks(t *testing.T) {
	box := shared.Sandbox(t)
	_, host := connect(t, box, sandbox.HostName)
	apply(t, host, config.CRD, config.RBAC)
	unregister := func() {
		for _, obj := range []client.Object{&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}} {
			obj.SetName("fairlead")
			_ = host.Delete(context.Background(), obj)
		}
	}
	unregister()
	t.Cleanup(unregister)
	web := build.Federated("leaving").In("default").With(build.ConfigMap("a", "v", "0")).To("nowhere").Obj()
	web.Finalizers = []string{v1alpha1.Finalizer}
	create(t, host, web) // it tries again while the API server still calls the webhooks of another test

	registerWebhooks(t, host, "https://127.0.0.1:1", authority(t, box))
	change := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":"All"}}`))
	eventually(t, "the API server calls the webhooks", func(ctx context.Context) bool {
		return apierrors.IsInternalError(host.Patch(ctx, web.DeepCopy(), change, client.DryRunAll))
	})
	if err := host.Delete(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	free := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := host.Patch(t.Context(), web, free); err != nil {
		t.Fatalf("taking the finalizer off: %v", err)
	}
	if err := host.Get(t.Context(), client.ObjectKeyFromObject(web), web); !apierrors.IsNotFound(err) {
		t.Errorf("the wrapper is still there (%v)", err)
	}
}
