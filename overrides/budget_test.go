// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// repeated returns 64 overrides, which each have the same operation 63 times.
func repeated(kind string, op v1alpha1.PatchOperation) []v1alpha1.Override {
	one := v1alpha1.Override{Target: v1alpha1.OverrideTarget{Kind: kind}}
	for range 63 {
		one.Patch = append(one.Patch, op)
	}
	list := make([]v1alpha1.Override, 64)
	for i := range list {
		list[i] = one
	}
	return list
}

// listed returns n items with the names KEYn, …, KEY2, KEY1.
func listed(n int, key string) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"name": fmt.Sprintf("%s%d", key, n-i), "value": "x"}
	}
	return list
}

// pod returns a Deployment with these containers in its pod template.
func pod(containers ...any) map[string]any {
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}},
	}
}

func asJSON(t testing.TB, value any) *apiextensionsv1.JSON {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return &apiextensionsv1.JSON{Raw: data}
}

func widgetWith(spec any) map[string]any {
	return map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "cog"}, "spec": spec}
}

func TestOverridesThatTakeTooMuchWorkAreRefused(t *testing.T) {
	numbers := make([]any, 500_000)
	for i := range numbers {
		numbers[i] = int64(1)
	}
	large := asJSON(t, strings.Repeat("x", 20<<10))
	annotated := widgetWith(nil)
	annotations := map[string]any{}
	for i := range 50_000 {
		annotations[fmt.Sprint("a", i)] = ""
	}
	annotated["metadata"] = map[string]any{"name": "cog", "annotations": annotations}
	mergeOf := func(patch map[string]any) []v1alpha1.Override {
		return []v1alpha1.Override{{Target: v1alpha1.OverrideTarget{Kind: "Deployment"}, Merge: asJSON(t, patch)}}
	}
	container := func(name string, env []any) map[string]any { return map[string]any{"name": name, "env": env} }
	var twice []any
	for i := range 500 {
		twice = append(twice, container("app", listed(40, fmt.Sprint("e", i, "-"))))
	}
	for name, tc := range map[string]struct {
		object map[string]any // if list has two overrides, the test makes 64 copies of this object; otherwise one
		list   []v1alpha1.Override
	}{
		"moves from one end of a long list to the other": {widgetWith(numbers),
			repeated("Widget", v1alpha1.PatchOperation{Op: v1alpha1.PatchMove, From: "/spec/499999", Path: "/spec/0"})},
		"moves into another list": {widgetWith(map[string]any{"a": numbers, "b": numbers[:10]}),
			repeated("Widget", v1alpha1.PatchOperation{Op: v1alpha1.PatchMove, From: "/spec/a/0", Path: "/spec/b/0"})},
		"items put before all others": {widgetWith(numbers),
			repeated("Widget", v1alpha1.PatchOperation{Op: v1alpha1.PatchAdd, Path: "/spec/0", Value: asJSON(t, 1)})},
		"a large value for 64 objects": {widgetWith(nil),
			repeated("Widget", v1alpha1.PatchOperation{Op: v1alpha1.PatchAdd, Path: "/spec", Value: large})[:2]},
		"a large test of 64 objects": {widgetWith(strings.Repeat("x", 20<<10)),
			repeated("Widget", v1alpha1.PatchOperation{Op: v1alpha1.PatchTest, Path: "/spec", Value: large})[:2]},
		"annotations added to 50,000 others": {annotated,
			repeated("Widget", v1alpha1.PatchOperation{Op: v1alpha1.PatchAdd, Path: "/metadata/annotations/b", Value: asJSON(t, "")})},
		"a strategic merge of one item into a long list": {pod(container("app", listed(20_000, "E"))),
			mergeOf(pod(container("app", listed(1, "E"))))},
		"a strategic merge of a long list into a short one": {pod(container("app", listed(1, "E"))),
			mergeOf(pod(container("app", listed(20_000, "E"))))},
		"a strategic merge that orders a long list": {pod(container("app", listed(2, "E"))),
			mergeOf(pod(map[string]any{"name": "app", "$setElementOrder/env": listed(20_000, "E")}))},
		"a strategic merge of an item that the patch has 500 times": {pod(container("app", listed(1, "E"))),
			mergeOf(pod(twice...))},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &v1alpha1.WrapperSpec{Overrides: tc.list}
			var objects []*unstructured.Unstructured
			for i := range 64 {
				if i > 0 && len(tc.list) != 2 {
					break
				}
				obj := (&unstructured.Unstructured{Object: tc.object}).DeepCopy()
				obj.SetName(fmt.Sprint("cog-", i))
				objects = append(objects, obj)
				spec.Objects = append(spec.Objects, runtime.RawExtension{Raw: asJSON(t, obj.Object).Raw})
			}
			set, err := Compile(tc.list)
			if err != nil {
				t.Fatal(err)
			}
			var first error
			var work int64
			for range 2 {
				_, again, err := set.Apply(objects, east)
				if e := (*Error)(nil); !errors.Is(err, ErrTooCostly) || !errors.As(err, &e) || e.Object == "" || e.Member != "east" {
					t.Fatalf("got %v after %d units", err, again)
				}
				if first != nil && (first.Error() != err.Error() || work != again) {
					t.Errorf("another operation is refused the second time:\n%v (%d)\n%v (%d)", first, work, err, again)
				}
				first, work = err, again
			}
			faults := ValidateWork(spec)
			if len(faults) != 1 || !strings.HasPrefix(faults[0].Field, "spec.overrides[") || !strings.Contains(first.Error(), faults[0].Detail[len(faults[0].Detail)-60:]) {
				t.Errorf("without a member: %v", faults)
			}
		})
	}
}

// No author writes overrides this large: 64 objects of a megabyte in total, and 64 overrides that each change all objects. The budget must
// still be enough for them.
func TestLargeRealisticOverridesFit(t *testing.T) {
	var objects []*unstructured.Unstructured
	for i := range 64 {
		o := widgetWith(map[string]any{"text": strings.Repeat("x", 14<<10), "list": listed(20, "i")})
		o["metadata"] = map[string]any{"name": fmt.Sprint("cog-", i), "labels": map[string]any{"a": "b"}}
		objects = append(objects, &unstructured.Unstructured{Object: o})
	}
	objects = append(objects, &unstructured.Unstructured{Object: pod(
		map[string]any{"name": "app", "env": listed(100, "E")}, map[string]any{"name": "proxy", "env": listed(100, "E")})})
	var list []v1alpha1.Override
	for i := range 64 {
		if i%8 == 0 {
			list = append(list, v1alpha1.Override{Target: v1alpha1.OverrideTarget{Kind: "Deployment"},
				Merge: asJSON(t, map[string]any{"spec": pod(map[string]any{"name": "app", "env": listed(5, "E")})["spec"]})})
			continue
		}
		list = append(list, v1alpha1.Override{Target: v1alpha1.OverrideTarget{Kind: "Widget"}, Patch: []v1alpha1.PatchOperation{
			{Op: v1alpha1.PatchAdd, Path: "/metadata/labels/cluster", ValueFrom: &v1alpha1.ValueSource{FieldPath: "metadata.name"}},
			{Op: v1alpha1.PatchAdd, Path: "/spec/list/0", Value: asJSON(t, map[string]any{"name": "first"})},
			{Op: v1alpha1.PatchReplace, Path: "/spec/text", Value: asJSON(t, strings.Repeat("y", 1<<10))},
		}})
	}
	set, err := Compile(list)
	if err != nil {
		t.Fatal(err)
	}
	_, work, err := set.Apply(objects, east)
	if err != nil || work > maxWork/2 {
		t.Errorf("%d of %d units, %v", work, maxWork, err)
	}
}

// Each move puts a deep value below another deep value. Every single value is within the depth limit, but the object as a whole would exceed
// it.
func TestMovesCannotExceedTheDepthLimit(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 90) + "1" + strings.Repeat("}", 90)
	bottom := "/spec/b" + strings.Repeat("/a", 90)
	var list []v1alpha1.Override
	for range 30 {
		one := v1alpha1.Override{Target: v1alpha1.OverrideTarget{Kind: "Widget"}}
		for range 20 {
			one.Patch = append(one.Patch,
				v1alpha1.PatchOperation{Op: v1alpha1.PatchAdd, Path: "/spec/b", Value: &apiextensionsv1.JSON{Raw: []byte(deep)}},
				v1alpha1.PatchOperation{Op: v1alpha1.PatchMove, From: "/spec/c", Path: bottom},
				v1alpha1.PatchOperation{Op: v1alpha1.PatchMove, From: "/spec/b", Path: "/spec/c"})
		}
		list = append(list, one)
	}
	obj := &unstructured.Unstructured{Object: widgetWith(map[string]any{"c": "x"})}
	_, err := Apply([]*unstructured.Unstructured{obj}, list, east)
	if err == nil || !strings.Contains(err.Error(), "deep, and 100 is the limit") {
		t.Fatalf("got %v", err)
	}
	if e := (*Error)(nil); !errors.As(err, &e) || e.Override != 0 {
		t.Errorf("the limit was noticed late: %v", err)
	}
}
