// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"encoding/json"
	"strings"
	"testing"

	evanphx "github.com/evanphx/json-patch/v5"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/jsonpatch"
	"github.com/fairlead-dev/fairlead/overrides/selection"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// FuzzPatch applies one operation, and compares the result with that of another implementation of RFC 6902. If both succeed, the results must
// be equal. No input may cause a panic or a change of the arguments.
func FuzzPatch(f *testing.F) {
	f.Add(`{"a":[1,2]}`, "add", "/spec/a/1", "", `{"x":1}`)
	f.Add(`{"a":[1,2]}`, "remove", "/spec/a/0", "", ``)
	f.Add(`{"a":{"b":9007199254740993}}`, "move", "/spec/c", "/spec/a/b", ``)
	f.Add(`{"a/b":{"~":1}}`, "copy", "/spec/a~1b/x", "/spec/a~1b/~0", ``)
	f.Add(`{"a":1}`, "test", "/spec/a", "", `1.0`)
	f.Add(`{"a":1}`, "replace", "/metadata", "", `{"name":"x"}`)
	f.Fuzz(func(t *testing.T, spec, op, path, from, value string) {
		obj := widgetOf(spec)
		if obj == nil {
			return
		}
		before, err := json.Marshal(obj.Object)
		if err != nil {
			t.Fatal(err)
		}
		operation := v1alpha1.PatchOperation{Op: v1alpha1.PatchOp(op), Path: path, From: from}
		if value != "" {
			operation.Value = &apiextensionsv1.JSON{Raw: []byte(value)}
		}
		list := []v1alpha1.Override{{Target: v1alpha1.OverrideTarget{Kind: "Widget"}, Patch: []v1alpha1.PatchOperation{operation}}}
		got, err := Apply([]*unstructured.Unstructured{obj}, list, east)
		if after, _ := json.Marshal(obj.Object); string(after) != string(before) {
			t.Fatalf("the wrapped object was changed:\n%s\n%s", before, after)
		}
		if err != nil {
			return
		}
		if other, ok := reference(before, op, path, from, value); ok {
			want, err := strictjson.DecodeValue(other)
			if err == nil && !jsonpatch.Equal(want, got[0].Object) {
				t.Fatalf("%s %s from %s value %s on %s\nwant %s\ngot  %v", op, path, from, value, before, other, got[0].Object)
			}
		}
	})
}

// widgetOf returns a Widget with this JSON as its spec; nil if spec is not JSON.
func widgetOf(spec string) *unstructured.Unstructured {
	value, err := strictjson.DecodeValue([]byte(spec))
	if err != nil {
		return nil
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "cog"}, "spec": value,
	}}
}

// reference applies the operation with the library json-patch. The second result is false if the library refuses the operation.
func reference(doc []byte, op, path, from, value string) ([]byte, bool) {
	operation := map[string]any{"op": op, "path": path}
	if from != "" {
		operation["from"] = from
	}
	if value != "" {
		operation["value"] = json.RawMessage(value)
	}
	data, err := json.Marshal([]any{operation})
	if err != nil {
		return nil, false
	}
	patch, err := evanphx.DecodePatch(data)
	if err != nil {
		return nil, false
	}
	options := evanphx.NewApplyOptions()
	options.SupportNegativeIndices = false
	out, err := patch.ApplyWithOptions(doc, options)
	return out, err == nil
}

// FuzzMerge merges a patch into an object of a built-in kind and into one of a custom kind. No patch may cause a panic or change a protected
// field. For the custom kind, the result must equal that of another implementation of RFC 7386.
func FuzzMerge(f *testing.F) {
	f.Add(`{"a":{"b":1}}`, `{"spec":{"a":{"b":null,"c":[1]}}}`)
	f.Add(`{"replicas":1}`, `{"spec":{"template":{"spec":{"containers":[{"name":"a","$patch":"delete"}]}}}}`)
	f.Add(`{"template":{"spec":{"containers":[{"name":"a"}]}}}`, `{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"a","image":"b"}]}}}}`)
	f.Add(`{"strategy":{"type":"x"}}`, `{"spec":{"strategy":{"$retainKeys":["type"],"type":"y"}},"status":{}}`)
	f.Fuzz(func(t *testing.T, spec, patch string) {
		obj := widgetOf(spec)
		if obj == nil {
			return
		}
		builtIn := obj.DeepCopy()
		builtIn.SetAPIVersion("apps/v1")
		builtIn.SetKind("Deployment")
		for _, o := range []*unstructured.Unstructured{obj, builtIn} {
			before, err := json.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			list := []v1alpha1.Override{{
				Target: v1alpha1.OverrideTarget{Kind: o.GetKind()},
				Merge:  &apiextensionsv1.JSON{Raw: []byte(patch)},
			}}
			got, err := Apply([]*unstructured.Unstructured{o}, list, east)
			if after, _ := json.Marshal(o.Object); string(after) != string(before) {
				t.Fatalf("the wrapped object was changed:\n%s\n%s", before, after)
			}
			if err != nil {
				continue
			}
			if path, crossed := protectedChange(o.Object, got[0].Object); crossed != nil {
				t.Fatalf("%s was changed", path)
			}
			if o == builtIn {
				continue
			}
			other, err := evanphx.MergePatch(before, []byte(patch))
			if err != nil {
				continue
			}
			if want, err := strictjson.DecodeValue(other); err == nil && !jsonpatch.Equal(want, got[0].Object) {
				t.Fatalf("want %s\ngot  %v", other, got[0].Object)
			}
		}
	})
}

// FuzzValidate checks that no spec causes a panic, and that Apply and package render accept every spec that Validate accepts.
func FuzzValidate(f *testing.F) {
	f.Add(`{"objects":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}],"placement":{"clusters":{"names":["a"]}}}`)
	f.Add(`{"objects":[{"apiVersion":"v1","kind":"List","metadata":{"name":"a","labels":{"x":1}},"items":[]}],"overrides":[{"target":{"kind":"List"},"patch":[{"op":"move","path":"/a","from":"/metadata/name"}]}]}`)
	f.Add(`{"objects":[{"metadata":[]},7],"overrides":[{"clusters":{"selectors":[{"matchExpressions":[{"key":"a","operator":"In"}]}]},"target":{"kind":"X","group":""},"merge":{"status":{}}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s v1alpha1.WrapperSpec
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return
		}
		for _, kind := range []v1alpha1.WrapperKind{v1alpha1.KindFederated, v1alpha1.KindClusterFederated} {
			namespace := ""
			if kind == v1alpha1.KindFederated {
				namespace = "shop"
			}
			if len(Validate(&s, namespace, kind)) > 0 {
				continue
			}
			set, err := Compile(s.Overrides)
			if err != nil {
				t.Fatalf("Validate let through what does not compile: %v", err)
			}
			var objects []*unstructured.Unstructured
			for i := range s.Objects {
				obj, err := strictjson.Decode(s.Objects[i])
				if err != nil {
					t.Fatalf("Validate let through what cannot be read: %v", err)
				}
				objects = append(objects, obj)
			}
			if _, _, err := set.Apply(objects, east); err != nil && strings.Contains(err.Error(), ".target:") {
				t.Fatalf("Validate let a target through: %v", err)
			}
		}
	})
}

// FuzzSelector checks that no selector causes a panic, and that a compiled Selection gives the same answer each time.
func FuzzSelector(f *testing.F) {
	f.Add("cloud", "In", "aws", "cloud", "aws", "east")
	f.Add("cloud", "NotIn", "aws", "cloud", "gcp", "")
	f.Add("cloud", "Exists", "", "a b", "", "west")
	f.Fuzz(func(t *testing.T, key, operator, value, label, labelValue, name string) {
		requirement := metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOperator(operator)}
		if value != "" {
			requirement.Values = []string{value}
		}
		s := &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{MatchExpressions: []metav1.LabelSelectorRequirement{requirement}}}}
		m := selection.Member{Name: name, Labels: map[string]string{label: labelValue}}
		read, err := selection.New(s)
		if refused := len(validateSelection(s, nil, true)) > 0; refused != (err != nil) {
			t.Fatalf("Validate refuses: %v, New: %v", refused, err)
		}
		s.Names = []string{name}
		if err == nil {
			selected := read.Selects(m)
			if named, err := selection.New(s); err != nil || !named.Selects(m) {
				t.Fatalf("a member's own name does not select it (%v): %v", selected, err)
			}
		}
	})
}
