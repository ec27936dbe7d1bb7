// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	manifests "github.com/fairlead-dev/fairlead/config"
)

// withoutField removes a field from the member's CRD of Deliveries until the test ends, as on a member that an older
// hostctl joined. Tests that change the CRD do not run in parallel, because all tests share the member.
func withoutField(t *testing.T, path ...string) (restore func()) {
	t.Helper()
	name := "deliveries." + v1alpha1.Group
	apply := func(strip bool) {
		t.Helper()
		crd, err := manifests.CustomResourceDefinition(name)
		if err != nil {
			t.Fatal(err)
		}
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		schema := []string{"schema", "openAPIV3Schema"}
		if _, there, _ := unstructured.NestedMap(versions[0].(map[string]any), append(schema, path...)...); !there {
			t.Fatalf("the CRD has no field %v", path)
		}
		if strip {
			unstructured.RemoveNestedField(versions[0].(map[string]any), append(schema, path...)...)
		}
		if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
			t.Fatal(err)
		}
		ctx := context.WithoutCancel(t.Context())
		if err := admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(crd), client.FieldOwner("test"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
		probe := &unstructured.Unstructured{Object: map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Delivery",
			"metadata": map[string]any{"namespace": v1alpha1.SystemNamespace, "name": "strict"},
			"spec": map[string]any{"seal": "s", "requests": []any{map[string]any{"kind": "A", "name": "a", "type": "Logs", "expires": "2026-01-01T10:00:00Z"}},
				"wrapper":   map[string]any{"kind": "ClusterFederated", "name": "strict", "uid": "u", "generation": int64(1)},
				"inventory": []any{map[string]any{"kind": "A", "name": "a", "state": "Pending", "rendering": "r", "adopted": "Yes", "uid": "u", "fields": "f"}}}}}
		err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			err := admin.Create(ctx, probe.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			return apierrors.IsBadRequest(err) == strip && (strip || err == nil), nil
		})
		if err != nil {
			t.Fatalf("the API server does not take the CRD: %v", err)
		}
	}
	apply(true)
	restored := false
	restore = func() {
		if !restored {
			restored = true
			apply(false)
		}
	}
	t.Cleanup(restore)
	return restore
}

func inventoryField(name string) []string {
	return []string{"properties", "spec", "properties", "inventory", "items", "properties", name}
}

// An API server drops a field that its CRD lacks. If it dropped the field adopted from a Delivery, the host would later
// delete an object of another client.
func TestAnObjectIsNotAdoptedOnAMemberThatCannotRecordIt(t *testing.T) {
	s := newSite(t)
	s.openNamespace()
	there := s.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {value: "1"}}`)
	restore := withoutField(t, inventoryField("adopted")...)
	w := s.want(configMap("a", "1"))
	w.OnConflict = v1alpha1.ConflictAdoptIfEqual
	s.mustFail(w, v1alpha1.ReasonMemberOutdated, "spec.inventory[0].adopted", "hostctl join east --cluster-kubeconfig FILE")
	if after := s.configMap("a"); after == nil || after.ResourceVersion != there.GetResourceVersion() {
		t.Errorf("the object was written to: %v", after)
	}
	s.mustPush(s.leave())
	if after := s.configMap("a"); after == nil || after.UID != there.GetUID() {
		t.Fatal("the object was deleted")
	}
	restore()
	s.mustDeliver(w)
}

func TestAPushThatTheMemberCannotRecordWritesNothing(t *testing.T) {
	s := newSite(t)
	s.openNamespace()
	restore := withoutField(t, inventoryField("rendering")...)
	w := s.want(configMap("a", "1"))
	s.mustFail(w, v1alpha1.ReasonMemberOutdated, "spec.inventory[0].rendering")
	if s.configMap("a") != nil {
		t.Error("the object was written")
	}
	restore()
	s.mustDeliver(w)
}

// An older CRD lacks the field adopted. A push that adopts nothing does not write that field, so the push must succeed.
func TestAMemberThatLacksAFieldThatNoPushNeedsIsServed(t *testing.T) {
	s := newSite(t)
	s.openNamespace()
	withoutField(t, inventoryField("adopted")...)
	s.mustDeliver(s.want(configMap("a", "1")))
	s.mustDeliver(s.want(configMap("a", "2")))
}
