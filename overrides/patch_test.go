// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPatch(t *testing.T) {
	const spec = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: cog}
spec: `
	for name, tc := range map[string]struct{ spec, patch, want string }{
		"add sets a new field":              {"{a: 1}", `[{op: add, path: /spec/b, value: {c: [1]}}]`, "{a: 1, b: {c: [1]}}"},
		"add overwrites a field":            {"{a: 1}", `[{op: add, path: /spec/a, value: x}]`, "{a: x}"},
		"add inserts before an item":        {"{a: [1, 3]}", `[{op: add, path: /spec/a/1, value: 2}]`, "{a: [1, 2, 3]}"},
		"add appends at the length":         {"{a: [1]}", `[{op: add, path: /spec/a/1, value: 2}]`, "{a: [1, 2]}"},
		"add appends at the dash":           {"{a: [1]}", `[{op: add, path: /spec/a/-, value: 2}]`, "{a: [1, 2]}"},
		"add reaches through lists":         {"{a: [{b: [1]}]}", `[{op: add, path: /spec/a/0/b/0, value: 0}]`, "{a: [{b: [0, 1]}]}"},
		"remove takes a field":              {"{a: 1, b: 2}", `[{op: remove, path: /spec/a}]`, "{b: 2}"},
		"remove closes the gap in a list":   {"{a: [1, 2, 3]}", `[{op: remove, path: /spec/a/1}]`, "{a: [1, 3]}"},
		"replace writes a field":            {"{a: 1}", `[{op: replace, path: /spec/a, value: 2}]`, "{a: 2}"},
		"replace writes an item":            {"{a: [1, 2]}", `[{op: replace, path: /spec/a/0, value: 9}]`, "{a: [9, 2]}"},
		"move renames":                      {"{a: {x: 1}}", `[{op: move, from: /spec/a, path: /spec/b}]`, "{b: {x: 1}}"},
		"move within a list":                {"{a: [1, 2, 3]}", `[{op: move, from: /spec/a/0, path: /spec/a/2}]`, "{a: [2, 3, 1]}"},
		"move onto itself does nothing":     {"{a: 1}", `[{op: move, from: /spec/a, path: /spec/a}]`, "{a: 1}"},
		"copy leaves the original":          {"{a: {x: 1}}", `[{op: copy, from: /spec/a, path: /spec/b}, {op: replace, path: /spec/b/x, value: 2}]`, "{a: {x: 1}, b: {x: 2}}"},
		"test passes on equal objects":      {"{a: {x: 1, y: [a]}}", `[{op: test, path: /spec/a, value: {y: [a], x: 1}}]`, "{a: {x: 1, y: [a]}}"},
		"test compares numbers by value":    {"{a: 1}", `[{op: test, path: /spec/a, value: 1.0}]`, "{a: 1}"},
		"test passes on null":               {"{a: null, b: 1}", `[{op: test, path: /spec/a, value: null}, {op: replace, path: /spec/a, value: 2}]`, "{a: 2, b: 1}"},
		"escapes in keys are resolved":      {"{a/b: 1, m~n: 2}", `[{op: remove, path: /spec/a~1b}, {op: replace, path: /spec/m~0n, value: 3}]`, "{m~n: 3}"},
		"operations see what was before":    {"{}", `[{op: add, path: /spec/a, value: {}}, {op: add, path: /spec/a/b, value: 1}]`, "{a: {b: 1}}"},
		"an empty key is a key":             {`{"": 1}`, `[{op: replace, path: /spec/, value: 2}]`, `{"": 2}`},
		"integers past 2^53 stay as found":  {"{a: 9007199254740993}", `[{op: copy, from: /spec/a, path: /spec/b}]`, "{a: 9007199254740993, b: 9007199254740993}"},
		"integers past 2^53 stay as given":  {"{}", `[{op: add, path: /spec/a, value: 9223372036854775807}]`, "{a: 9223372036854775807}"},
		"valueFrom takes the member's name": {"{}", `[{op: add, path: /spec/a, valueFrom: {fieldPath: metadata.name}}]`, "{a: east}"},
		"valueFrom takes a label":           {"{}", `[{op: add, path: /spec/a, valueFrom: {fieldPath: "metadata.labels['topology.kubernetes.io/region']"}}]`, "{a: eu-west-1}"},
		"valueFrom falls back to default":   {"{}", `[{op: add, path: /spec/a, valueFrom: {fieldPath: "metadata.labels['zone']", default: ""}}]`, `{a: ""}`},
		"valueFrom skips its operation":     {"{}", `[{op: add, path: /spec/a, valueFrom: {fieldPath: "metadata.labels['zone']", whenMissing: Skip}}, {op: add, path: /spec/b, value: 1}]`, "{b: 1}"},
		"valueFrom can be tested for":       {"{a: aws}", `[{op: test, path: /spec/a, valueFrom: {fieldPath: "metadata.labels['cloud']"}}]`, "{a: aws}"},
	} {
		t.Run(name, func(t *testing.T) {
			obj := object(t, spec+tc.spec)
			before := obj.DeepCopy()
			got, err := Apply([]*unstructured.Unstructured{obj}, patchOf(t, "Widget", tc.patch), east)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object(t, spec+tc.want), got[0]); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("the wrapped object itself was changed:\n%s", diff)
			}
		})
	}
}

func TestAddCreatesMissingMapsOfLabelsAndAnnotations(t *testing.T) {
	for name, tc := range map[string]struct{ object, patch, want string }{
		"labels": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}",
			`[{op: add, path: /metadata/labels/a.b~1c, value: x}, {op: add, path: /metadata/labels/d, value: z}]`,
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {a.b/c: x, d: z}}}",
		},
		"annotations that are null": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: null}}",
			`[{op: add, path: /metadata/annotations/a, value: x}]`,
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {a: x}}}",
		},
		"annotations of a template without metadata": {
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: c}, spec: {template: {spec: {}}}}",
			`[{op: add, path: /spec/template/metadata/annotations/a, value: x}]`,
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: c}, spec: {template: {metadata: {annotations: {a: x}}, spec: {}}}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := object(t, tc.object)
			got, err := Apply([]*unstructured.Unstructured{obj}, patchOf(t, obj.GetKind(), tc.patch), east)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object(t, tc.want), got[0]); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatchErrorsNamePlaceCauseAndRemedy(t *testing.T) {
	for name, tc := range map[string]struct{ patch, want, found string }{
		"replacing a missing field": {
			patch: `[{op: replace, path: /spec/paused, value: true}]`,
			want:  `overrides[0].patch[0]: replacing /spec/paused of Deployment web for member east: the path does not exist in the object; "add" creates it`,
		},
		"replacing below a missing field": {
			patch: `[{op: replace, path: /spec/strategy/type, value: x}]`,
			want:  `overrides[0].patch[0]: replacing /spec/strategy/type of Deployment web for member east: the path does not exist, because /spec/strategy is missing: add that first`,
		},
		"adding below a missing field": {
			patch: `[{op: add, path: /spec/strategy/type, value: x}]`,
			want:  `overrides[0].patch[0]: adding /spec/strategy/type of Deployment web for member east: the path does not exist, because /spec/strategy is missing: add that first`,
		},
		"adding into a number": {
			patch: `[{op: add, path: /spec/replicas/x, value: 1}]`,
			want:  `overrides[0].patch[0]: adding /spec/replicas/x of Deployment web for member east: /spec/replicas is 3, neither an object nor a list`,
			found: "3",
		},
		"removing a missing field": {
			patch: `[{op: test, path: /kind, value: Deployment}, {op: remove, path: /spec/paused}]`,
			want:  `overrides[0].patch[1]: removing /spec/paused of Deployment web for member east: the path does not exist, so there is nothing to remove`,
		},
		"an index past the end": {
			patch: `[{op: replace, path: /spec/template/spec/containers/2/image, value: x}]`,
			want:  `overrides[0].patch[0]: replacing /spec/template/spec/containers/2/image of Deployment web for member east: the path does not exist: the list /spec/template/spec/containers has 2 items`,
		},
		"an index that is no number": {
			patch: `[{op: replace, path: /spec/template/spec/containers/app/image, value: x}]`,
			want:  `overrides[0].patch[0]: replacing /spec/template/spec/containers/app/image of Deployment web for member east: /spec/template/spec/containers is a list, and "app" is not an index (0, 1, 2 …)`,
		},
		"an index with a leading zero": {
			patch: `[{op: remove, path: /spec/template/spec/containers/01}]`,
			want:  `overrides[0].patch[0]: removing /spec/template/spec/containers/01 of Deployment web for member east: /spec/template/spec/containers is a list, and "01" is not an index (0, 1, 2 …)`,
		},
		"removing past the last item": {
			patch: `[{op: remove, path: /spec/template/spec/containers/-}]`,
			want:  `overrides[0].patch[0]: removing /spec/template/spec/containers/- of Deployment web for member east: "-" is the place after the last item of /spec/template/spec/containers: only add, move and copy can go there`,
		},
		"inserting past the end": {
			patch: `[{op: add, path: /spec/template/spec/containers/3, value: {}}]`,
			want:  `overrides[0].patch[0]: adding /spec/template/spec/containers/3 of Deployment web for member east: the index is too large: the list /spec/template/spec/containers has 2 items; "-" appends an item`,
		},
		"a test that fails": {
			patch: `[{op: test, path: /spec/replicas, value: 4}]`,
			want:  `overrides[0].patch[0]: testing /spec/replicas of Deployment web for member east: the value is 3, but the test expects 4`,
			found: "3",
		},
		"a test of a missing field": {
			patch: `[{op: test, path: /spec/paused, value: true}]`,
			want:  `overrides[0].patch[0]: testing /spec/paused of Deployment web for member east: /spec/paused does not exist in the object; the test expects true`,
		},
		"a test for null of another value": {
			patch: `[{op: test, path: /spec/replicas, value: null}]`,
			want:  `overrides[0].patch[0]: testing /spec/replicas of Deployment web for member east: the value is 3, but the test expects null`,
			found: "3",
		},
		"a test for null of a missing field": {
			patch: `[{op: test, path: /spec/paused, value: null}]`,
			want:  `overrides[0].patch[0]: testing /spec/paused of Deployment web for member east: /spec/paused does not exist in the object; the test expects null`,
		},
		"a null to be added": {
			patch: `[{op: add, path: /spec/x, value: null}]`,
			want:  `overrides[0].patch[0]: reading it: add takes value or valueFrom, exactly one of them (null counts as no value; to remove a field, use op: remove)`,
		},
		"moving into itself": {
			patch: `[{op: move, from: /spec, path: /spec/template/spec}]`,
			want:  `overrides[0].patch[0]: moving /spec to /spec/template/spec of Deployment web for member east: /spec/template/spec is below /spec: a value cannot be moved into itself`,
		},
		"copying a missing field": {
			patch: `[{op: copy, from: /spec/paused, path: /spec/x}]`,
			want:  `overrides[0].patch[0]: copying /spec/paused to /spec/x of Deployment web for member east: /spec/paused does not exist in the object`,
		},
		"a label that the member lacks": {
			patch: `[{op: add, path: /spec/x, valueFrom: {fieldPath: "metadata.labels['zone']"}}]`,
			want:  `overrides[0].patch[0]: adding /spec/x of Deployment web for member east: the member has no label zone; label its MemberCluster, or give a default or whenMissing: Skip`,
		},
		"a path that is no pointer": {
			patch: `[{op: add, path: spec.x, value: 1}]`,
			want:  `overrides[0].patch[0]: reading it: path: a JSON pointer begins with a slash: /spec/replicas`,
		},
		"no value": {
			patch: `[{op: add, path: /spec/x}]`,
			want:  `overrides[0].patch[0]: reading it: add takes value or valueFrom, exactly one of them (null counts as no value; to remove a field, use op: remove)`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Apply([]*unstructured.Unstructured{object(t, deployment)}, patchOf(t, "Deployment", tc.patch), east)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%T is no *Error", err)
			}
			if diff := cmp.Diff(tc.found, e.Found); diff != "" {
				t.Errorf("value found (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCopiesThatDoubleEndAtTheBudget(t *testing.T) {
	operations := "[{op: add, path: /spec/a, value: {x: xxxxxxxxxxxxxxxx}}"
	for range 60 {
		operations += ", {op: copy, from: /spec/a, path: /spec/b}, {op: copy, from: /spec/b, path: /spec/a/c}, {op: copy, from: /spec/b, path: /spec/a/d}"
	}
	_, err := Apply([]*unstructured.Unstructured{object(t, widget)}, patchOf(t, "Widget", operations+"]"), east)
	var e *Error
	if !errors.As(err, &e) || !e.TooCostly || e.Operation > 50 {
		t.Fatalf("got %v", err)
	}
}

func TestErrorsNeverHoldValuesOfASecret(t *testing.T) {
	secret := object(t, "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: hunter2}}")
	for name, patch := range map[string]string{
		"a test that fails":      `[{op: test, path: /stringData/password, value: hunter3}]`,
		"a path through a value": `[{op: add, path: /stringData/password/x, value: hunter3}]`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Apply([]*unstructured.Unstructured{secret}, patchOf(t, "Secret", patch), east)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if text := err.Error() + e.Found; contains(text, "hunter") {
				t.Errorf("the error holds the value: %s", text)
			}
		})
	}
}
