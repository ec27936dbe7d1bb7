// SPDX-License-Identifier: Apache-2.0

package crdfields_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/crdfields"
)

const deliveries = "deliveries." + v1alpha1.Group

func embedded(t *testing.T, name string) map[string]any {
	t.Helper()
	crd, err := config.CustomResourceDefinition(name)
	if err != nil {
		t.Fatal(err)
	}
	return crd.Object
}

// schema returns the schema of the first version of a CRD.
func schema(t *testing.T, crd map[string]any) map[string]any {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	if err != nil || len(versions) == 0 {
		t.Fatalf("no version: %v", err)
	}
	version := crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	return version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
}

func TestFieldsThatACRDLacksAreNamed(t *testing.T) {
	properties := func(s map[string]any) map[string]any { return s["properties"].(map[string]any) }
	spec := func(s map[string]any) map[string]any { return properties(s)["spec"].(map[string]any) }
	entry := func(s map[string]any) map[string]any {
		return properties(spec(s))["inventory"].(map[string]any)["items"].(map[string]any)
	}
	for name, tc := range map[string]struct {
		// change changes a copy of the host's CRD, which then stands for the member's CRD.
		change func(crd, schema map[string]any)
		want   []string
	}{
		"the same CRD lacks nothing": {change: func(_, _ map[string]any) {}},
		"a field of an entry of a list": {change: func(_, s map[string]any) { delete(properties(entry(s)), "adopted") },
			want: []string{"spec.inventory[].adopted"}},
		"a field with others below it is named once": {change: func(_, s map[string]any) { delete(properties(spec(s)), "target") }, want: []string{"spec.target"}},
		"two fields are sorted": {change: func(_, s map[string]any) {
			delete(properties(spec(s)), "seal")
			delete(properties(entry(s)), "uid")
		}, want: []string{"spec.inventory[].uid", "spec.seal"}},
		"a newer CRD has more, and lacks nothing": {change: func(_, s map[string]any) { properties(spec(s))["later"] = map[string]any{"type": "string"} }},
		"a part that preserves unknown fields loses none": {change: func(_, s map[string]any) {
			delete(properties(entry(s)), "adopted")
			entry(s)["x-kubernetes-preserve-unknown-fields"] = true
		}},
		"a version that is not served": {change: func(crd, _ map[string]any) {
			crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)["served"] = false
		}, want: []string{"version v1alpha1"}},
		"no CRD at all": {change: func(crd, _ map[string]any) { delete(crd, "spec") }, want: []string{"version v1alpha1"}},
	} {
		t.Run(name, func(t *testing.T) {
			have := embedded(t, deliveries)
			tc.change(have, schema(t, have))
			if diff := cmp.Diff(tc.want, crdfields.Missing(embedded(t, deliveries), have)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFieldsBelowAMapAreCompared(t *testing.T) {
	crd := func(below map[string]any) map[string]any {
		return map[string]any{"spec": map[string]any{"versions": []any{map[string]any{"name": "v1", "served": true, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"properties": map[string]any{"labels": map[string]any{
				"additionalProperties": map[string]any{"properties": below}}}}}}}}}
	}
	have, want := crd(map[string]any{"a": map[string]any{}}), crd(map[string]any{"a": map[string]any{}, "b": map[string]any{}})
	if diff := cmp.Diff([]string{"labels.*.b"}, crdfields.Missing(want, have)); diff != "" {
		t.Error(diff)
	}
}
