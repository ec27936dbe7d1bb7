// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
)

func TestMerge(t *testing.T) {
	for name, tc := range map[string]struct {
		object, kind, merge string
		at                  []string
		want                any
	}{
		"a built-in kind merges its lists by key": {
			deployment, "Deployment", `{spec: {template: {spec: {containers: [{name: app, image: "web:2"}]}}}}`,
			[]string{"spec", "template", "spec", "containers"},
			[]any{
				map[string]any{"name": "app", "image": "web:2", "env": []any{map[string]any{"name": "A", "value": "a"}}},
				map[string]any{"name": "sidecar", "image": "proxy:1"},
			},
		},
		"a built-in kind knows directives": {
			deployment, "Deployment", `{spec: {template: {spec: {containers: [{name: sidecar, $patch: delete}]}}}}`,
			[]string{"spec", "template", "spec", "containers"},
			[]any{map[string]any{"name": "app", "image": "web:1", "env": []any{map[string]any{"name": "A", "value": "a"}}}},
		},
		"a custom kind replaces its lists": {
			widget, "Widget", `{spec: {parts: [{name: a, count: 9}]}}`,
			[]string{"spec", "parts"}, []any{map[string]any{"name": "a", "count": int64(9)}},
		},
		"a custom kind merges its objects": {
			widget, "Widget", `{spec: {limits: {cpu: 5, disk: 3}}}`,
			[]string{"spec", "limits"}, map[string]any{"cpu": int64(5), "memory": int64(2), "disk": int64(3)},
		},
		"a null removes": {
			widget, "Widget", `{spec: {limits: {cpu: null}, none: {a: null, b: 1}}}`,
			[]string{"spec"}, map[string]any{
				"size": int64(9007199254740993), "limits": map[string]any{"memory": int64(2)}, "none": map[string]any{"b": int64(1)},
				"parts": []any{map[string]any{"name": "a", "count": int64(1)}, map[string]any{"name": "b", "count": int64(2)}},
			},
		},
		"a kind unknown to this version of a built-in group": {
			"{apiVersion: apps/v9, kind: Deployment, metadata: {name: web}, spec: {l: [{name: a}, {name: b}]}}", "Deployment", `{spec: {l: [{name: b}]}}`,
			[]string{"spec", "l"}, []any{map[string]any{"name": "b"}},
		},
		"naming the object changes nothing": {
			deployment, "Deployment", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 5}}`,
			[]string{"spec", "replicas"}, int64(5),
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := object(t, tc.object)
			before := obj.DeepCopy()
			list := mergeOf(t, tc.kind, tc.merge)
			for range 2 { // a second time, which fails if the first one changed the compiled merge
				got, err := Apply([]*unstructured.Unstructured{obj}, list, east)
				if err != nil {
					t.Fatal(err)
				}
				value, _ := jsonpointer.Pointer(tc.at).Lookup(got[0].Object)
				if diff := cmp.Diff(tc.want, value); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("the wrapped object itself was changed:\n%s", diff)
			}
		})
	}
}

func TestAMergeIsNotSharedBetweenTheObjectsOfASet(t *testing.T) {
	set, err := Compile(mergeOf(t, "Widget", `{spec: {limits: {cpu: 5}}, extra: {list: [1]}}`))
	if err != nil {
		t.Fatal(err)
	}
	one, _, err := set.Apply([]*unstructured.Unstructured{object(t, widget)}, east)
	if err != nil {
		t.Fatal(err)
	}
	one[0].Object["extra"].(map[string]any)["list"].([]any)[0] = "spoilt"
	two, _, err := set.Apply([]*unstructured.Unstructured{object(t, widget)}, east)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"list": []any{int64(1)}}, two[0].Object["extra"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMergeErrors(t *testing.T) {
	for name, tc := range map[string]struct{ object, kind, merge, want string }{
		"a directive for a kind without strategic merge": {
			widget, "Widget", `{spec: {parts: [{name: a, $patch: delete}]}}`,
			"overrides[0].merge: changing fields of Widget cog for member east: $patch is a directive of the strategic merge, but the kind Widget gets a JSON merge patch: to remove a field, use patch in place of merge",
		},
		"a list where the kind has objects": {
			deployment, "Deployment", `{spec: {template: {spec: {containers: [1]}}}}`,
			"overrides[0].merge: changing fields of Deployment web for member east: the strategic merge",
		},
		"an unknown directive": {
			deployment, "Deployment", `{spec: {$patch: explode}}`,
			"overrides[0].merge: changing fields of Deployment web for member east: the strategic merge does not accept the patch:",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Apply([]*unstructured.Unstructured{object(t, tc.object)}, mergeOf(t, tc.kind, tc.merge), east)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}
