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

// The webhooks are registered, but no replica serves them. A wrapper is deleted, and the test removes its finalizer, as the manager
// does once the wrapper's objects are gone. Both must succeed, or the wrapper could never go.
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
	create(t, host, web) // create retries, because for some time the API server may still call the webhooks of another test

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
		t.Errorf("the wrapper still exists after its finalizer was removed (%v)", err)
	}
}
