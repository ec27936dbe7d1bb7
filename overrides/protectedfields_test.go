// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestOverridesNeverChangeProtectedFields(t *testing.T) {
	for name, tc := range map[string]struct {
		patch, merge string // each case sets one of the two
		want         string // what follows "for member east: " in the error
	}{
		"apiVersion":                            {patch: `[{op: replace, path: /apiVersion, value: v2}]`, want: "this would change /apiVersion"},
		"kind":                                  {patch: `[{op: replace, path: /kind, value: Gadget}]`, want: "this would change /kind"},
		"name":                                  {patch: `[{op: replace, path: /metadata/name, value: x}]`, want: "this would change /metadata/name"},
		"name, by another metadata":             {patch: `[{op: replace, path: /metadata, value: {name: x}}]`, want: "this would change /metadata/name"},
		"name, by a move":                       {patch: `[{op: move, from: /metadata/name, path: /spec/name}]`, want: "this would change /metadata/name"},
		"name, by a copy":                       {patch: `[{op: copy, from: /kind, path: /metadata/name}]`, want: "this would change /metadata/name"},
		"namespace":                             {patch: `[{op: add, path: /metadata/namespace, value: kube-system}]`, want: "this would change /metadata/namespace"},
		"namespace, by a merge":                 {merge: `{metadata: {namespace: kube-system}}`, want: "this would change /metadata/namespace"},
		"generateName":                          {merge: `{metadata: {generateName: x-}}`, want: "this would change /metadata/generateName"},
		"owners":                                {patch: `[{op: add, path: /metadata/ownerReferences, value: []}]`, want: "this would change /metadata/ownerReferences"},
		"finalizers":                            {patch: `[{op: add, path: /metadata/finalizers, value: [a/b]}]`, want: "this would change /metadata/finalizers"},
		"finalizers, by a copy":                 {patch: `[{op: copy, from: /spec/parts, path: /metadata/finalizers}]`, want: "this would change /metadata/finalizers"},
		"status":                                {patch: `[{op: add, path: /status, value: {ready: true}}]`, want: "this would change /status"},
		"status, by a move":                     {patch: `[{op: move, from: /spec/limits, path: /status}]`, want: "this would change /status"},
		"status, by a merge":                    {merge: `{status: {ready: true}}`, want: "this would change /status"},
		"resourceVersion":                       {merge: `{metadata: {resourceVersion: "1"}}`, want: "this would change /metadata/resourceVersion"},
		"the uid mark":                          {patch: `[{op: add, path: /metadata/labels/federation.fairlead.dev~1uid, value: x}]`, want: "this would change /metadata/labels/federation.fairlead.dev~1uid"},
		"the wrapper mark":                      {merge: `{metadata: {annotations: {federation.fairlead.dev/wrapper: x}}}`, want: "this would change /metadata/annotations/federation.fairlead.dev~1wrapper"},
		"the object mark, in a new map":         {patch: `[{op: add, path: /metadata/annotations, value: {federation.fairlead.dev/object: x}}]`, want: "this would change /metadata/annotations/federation.fairlead.dev~1object"},
		"the adoption mark":                     {merge: `{metadata: {annotations: {federation.fairlead.dev/adopted: x}}}`, want: "this would change /metadata/annotations/federation.fairlead.dev~1adopted"},
		"the rendering mark":                    {merge: `{metadata: {annotations: {federation.fairlead.dev/rendering: x}}}`, want: "this would change /metadata/annotations/federation.fairlead.dev~1rendering"},
		"the target of an upgrade":              {merge: `{metadata: {annotations: {federation.fairlead.dev/target-csv: a.v9.0.0}}}`, want: "this would change /metadata/annotations/federation.fairlead.dev~1target-csv"},
		"a label that widens the host's rights": {merge: `{metadata: {labels: {federation.fairlead.dev/aggregate-to-host: "true"}}}`, want: "this would change /metadata/labels/federation.fairlead.dev~1aggregate-to-host"},
		"a label that opens a namespace":        {merge: `{metadata: {labels: {federation.fairlead.dev/open: "true"}}}`, want: "this would change /metadata/labels/federation.fairlead.dev~1open"},
		"a label that says the host made it":    {patch: `[{op: add, path: /metadata/labels, value: {federation.fairlead.dev/made: "true"}}]`, want: "this would change /metadata/labels/federation.fairlead.dev~1made"},
		"a label that is a number":              {patch: `[{op: add, path: /metadata/labels/a, value: 1}]`, want: "/metadata/labels/a has to be a string; put it in quotes"},
		"labels that are a list":                {patch: `[{op: add, path: /metadata/labels, value: []}]`, want: "/metadata/labels has to be an object"},
		"metadata, taken away by a replace":     {patch: `[{op: replace, path: /metadata, value: 3}]`, want: "this would change /metadata/name"},
	} {
		t.Run(name, func(t *testing.T) {
			list := patchOf(t, "Widget", tc.patch)
			at := "overrides[0].patch[0]: "
			if tc.merge != "" {
				list = mergeOf(t, "Widget", tc.merge)
				at = "overrides[0].merge: "
			}
			_, err := Apply([]*unstructured.Unstructured{object(t, widget)}, list, east)
			if err == nil {
				t.Fatal("it was let through")
			}
			if text := err.Error(); !strings.HasPrefix(text, at) || !strings.Contains(text, " of Widget cog for member east: "+tc.want) {
				t.Errorf("got  %s\nwant %s … %s", text, at, tc.want)
			}
		})
	}
}

func TestNoOverrideMakesAReservedObject(t *testing.T) {
	crd := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.example.com}, spec: {group: example.com}}`
	for name, list := range map[string][]v1alpha1.Override{
		"by a patch": patchOf(t, "CustomResourceDefinition", `[{op: replace, path: /spec/group, value: federation.fairlead.dev}]`),
		"by a merge": mergeOf(t, "CustomResourceDefinition", `{spec: {group: federation.fairlead.dev}}`),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Apply([]*unstructured.Unstructured{object(t, crd)}, list, east)
			if err == nil || !strings.Contains(err.Error(), "for member east: this would set /spec/group to a value that no wrapped object may have") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// upgraded is a Subscription that spec.upgrade names, as package render passes it to the overrides: it has AnnotationTargetCSV already.
const upgraded = `{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: a, annotations: {federation.fairlead.dev/target-csv: a.v1.0.0}},
  spec: {installPlanApproval: Manual, channel: stable}}`

func TestASubscriptionWithATargetStaysManual(t *testing.T) {
	const want = "this would change /spec/installPlanApproval, which no override may change: spec.upgrade names this Subscription"
	for name, tc := range map[string]struct {
		list []v1alpha1.Override
		at   string
	}{
		"by a merge":             {mergeOf(t, "Subscription", `{spec: {installPlanApproval: Automatic}}`), "overrides[0].merge: "},
		"by a merge with null":   {mergeOf(t, "Subscription", `{spec: {installPlanApproval: null}}`), "overrides[0].merge: "},
		"by a patch":             {patchOf(t, "Subscription", `[{op: add, path: /spec/x, value: 1}, {op: replace, path: /spec/installPlanApproval, value: Automatic}, {op: add, path: /spec/y, value: 1}]`), "overrides[0].patch[1]: "},
		"by a patch of the spec": {patchOf(t, "Subscription", `[{op: replace, path: /spec, value: {channel: beta}}]`), "overrides[0].patch[0]: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Apply([]*unstructured.Unstructured{object(t, upgraded)}, tc.list, east)
			if err == nil || !strings.HasPrefix(err.Error(), tc.at) || !strings.Contains(err.Error(), " of Subscription a for member east: "+want) {
				t.Errorf("got %v, want %s…%s", err, tc.at, want)
			}
			without := object(t, strings.Replace(upgraded, "federation.fairlead.dev/target-csv", "x", 1))
			if _, err := Apply([]*unstructured.Unstructured{without}, tc.list, east); err != nil {
				t.Errorf("without a target: %v", err)
			}
		})
	}
	for name, list := range map[string][]v1alpha1.Override{
		"the channel":     mergeOf(t, "Subscription", `{spec: {channel: beta}}`),
		"Manual as it is": mergeOf(t, "Subscription", `{spec: {installPlanApproval: Manual}}`),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Apply([]*unstructured.Unstructured{object(t, upgraded)}, list, east); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOverridesMay(t *testing.T) {
	for name, patch := range map[string]string{
		"move a field away and back":      `[{op: move, from: /metadata/name, path: /spec/name}, {op: move, from: /spec/name, path: /metadata/name}]`,
		"write what stands there":         `[{op: replace, path: /metadata/name, value: cog}]`,
		"keep and replace an object":      `[{op: add, path: /metadata/annotations/federation.fairlead.dev~1keep, value: "true"}, {op: add, path: /metadata/annotations/federation.fairlead.dev~1replace, value: "true"}]`,
		"test what they may not write":    `[{op: test, path: /kind, value: Widget}]`,
		"copy from what they may not":     `[{op: copy, from: /metadata/name, path: /spec/name}]`,
		"take the labels away altogether": `[{op: add, path: /metadata/labels, value: {a: b}}, {op: remove, path: /metadata/labels}]`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Apply([]*unstructured.Unstructured{object(t, widget)}, patchOf(t, "Widget", patch), east); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheErrorNamesTheFirstOperationOnAProtectedField(t *testing.T) {
	_, err := Apply([]*unstructured.Unstructured{object(t, widget)}, patchOf(t, "Widget", `
- {op: add, path: /spec/a, value: 1}
- {op: add, path: /status, value: {}}
- {op: add, path: /spec/b, value: 1}`), east)
	want := "overrides[0].patch[1]: adding /status of Widget cog for member east: this would change /status, which no override may change: only the member writes it"
	if err == nil || cmp.Diff(want, err.Error()) != "" {
		t.Errorf("got %v, want %s", err, want)
	}
}
