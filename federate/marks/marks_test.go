// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
)

func TestNames(t *testing.T) {
	for name, test := range map[string]struct{ got, want string }{
		"the Delivery of a Federated":                    {DeliveryName(v1alpha1.KindFederated, "shop", "web"), "fed.shop.web"},
		"the Delivery of a ClusterFederated":             {DeliveryName(v1alpha1.KindClusterFederated, "", "web"), "cfed.web"},
		"the path of a Federated":                        {WrapperPath(v1alpha1.KindFederated, "shop", "web"), "federated/shop/web"},
		"the path of a ClusterFederated":                 {WrapperPath(v1alpha1.KindClusterFederated, "", "web"), "clusterfederated/web"},
		"the path of a core object":                      {ObjectPath("configmaps", "", "shop", "a"), "configmaps/shop/a"},
		"the path of an object of a group":               {ObjectPath("deployments", "apps", "shop", "a"), "deployments.apps/shop/a"},
		"the path of a cluster-scoped object":            {ObjectPath("namespaces", "", "", "a"), "namespaces/a"},
		"the path of a cluster-scoped object of a group": {ObjectPath("storageclasses", "storage.k8s.io", "", "a"), "storageclasses.storage.k8s.io/a"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLongNamesOfDeliveriesAreValidAndDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, tail := range []string{"", "a", "b", ".x", "-x", strings.Repeat("-", 20) + "x", strings.Repeat("x", 60)} {
		for n := 180; n <= 253; n++ {
			name := strings.Repeat("n", n-min(n, len(tail))) + tail
			got := DeliveryName(v1alpha1.KindFederated, strings.Repeat("s", 63), name)
			if faults := validation.IsDNS1123Subdomain(got); len(faults) > 0 && len(validation.IsDNS1123Subdomain(name)) == 0 {
				t.Errorf("%q is not a valid name: %v", got, faults)
			}
			if other, taken := seen[got]; taken && other != name {
				t.Errorf("%q and %q have the same Delivery", other, name)
			}
			seen[got] = name
		}
	}
}

func TestFieldsAreThoseOfFairleadsApply(t *testing.T) {
	fields := metav1.NewFieldsV1
	ours := metav1.ManagedFieldsEntry{Manager: v1alpha1.FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: fields("{}")}
	with := func(change func(*metav1.ManagedFieldsEntry)) metav1.ManagedFieldsEntry {
		e := ours
		change(&e)
		return e
	}
	for name, test := range map[string]struct {
		entry metav1.ManagedFieldsEntry
		ours  bool
	}{
		"the manager's apply":                        {ours, true},
		"the manager's apply at another time":        {with(func(e *metav1.ManagedFieldsEntry) { e.Time = &metav1.Time{} }), true},
		"an update with the manager's field manager": {with(func(e *metav1.ManagedFieldsEntry) { e.Operation = metav1.ManagedFieldsOperationUpdate }), false},
		"a subresource":                              {with(func(e *metav1.ManagedFieldsEntry) { e.Subresource = "scale" }), false},
		"an apply by another field manager":          {with(func(e *metav1.ManagedFieldsEntry) { e.Manager = "fairlead-replicas" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			got := FieldsDigest([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}, test.entry})
			want := ""
			if test.ours {
				want = digest.Of([]byte("{}"))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMarks(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"labels":      map[string]any{"team": "red", v1alpha1.LabelUID: "forged"},
		"annotations": map[string]any{"note": "x"},
	}}}
	const path = "configmaps/shop/a"
	Stamp(obj, Marks{UID: "u", Wrapper: "federated/shop/web", Object: path, Rendering: "sha256:1"})
	want := []map[string]string{
		{"team": "red", v1alpha1.LabelUID: "u"},
		{"note": "x", v1alpha1.AnnotationWrapper: "federated/shop/web", v1alpha1.AnnotationObject: path,
			v1alpha1.AnnotationRendering: "sha256:1"},
	}
	if diff := cmp.Diff(want, []map[string]string{obj.GetLabels(), obj.GetAnnotations()}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	adopted := &unstructured.Unstructured{Object: map[string]any{}}
	adopted.SetAnnotations(map[string]string{v1alpha1.AnnotationAdopted: path})
	for name, test := range map[string]struct {
		got, want bool
	}{
		"the wrapper's own object":                  {IsOurs(obj, "u", path), true},
		"the object for another wrapper":            {IsOurs(obj, "v", path), false},
		"a child that copied the wrapper's label":   {IsOurs(obj, "u", "pods/shop/a-1"), false},
		"a pushed object":                           {IsPushed(obj, path), true},
		"no wrapper pushed a child with its label":  {IsPushed(obj, "pods/shop/a-1"), false},
		"no wrapper pushed an object without marks": {IsPushed(&unstructured.Unstructured{Object: map[string]any{}}, path), false},
		"an adopted object":                         {IsAdopted(adopted, path), true},
		"a copy of another object's adoption mark":  {IsAdopted(adopted, "configmaps/shop/b"), false},
		"an object without the adoption mark":       {IsAdopted(obj, path), false},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v", name, test.got)
		}
	}
	bare := &unstructured.Unstructured{Object: map[string]any{}}
	Stamp(bare, Marks{UID: "u", Object: path})
	if !IsOurs(bare, "u", path) {
		t.Error("Stamp must mark an object without labels and annotations")
	}
}
