// SPDX-License-Identifier: Apache-2.0

package author

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const webMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\n"

// found returns each manifest as "DOCUMENT:LINE KIND NAME".
func found(manifests []Manifest) []string {
	var out []string
	for _, m := range manifests {
		out = append(out, fmt.Sprintf("%d:%d %s", m.Document, m.Line, m.Where.Object))
	}
	return out
}

func TestEveryObjectIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"one document": {webMap, []string{"1:1 ConfigMap web"}},
		"documents, empty ones not counted": {
			"# hello\n---\n---\n" + webMap + "--- # next\n\n" + webMap,
			[]string{"1:4 ConfigMap web", "2:9 ConfigMap web"},
		},
		"windows line ends and a byte order mark": {
			"\xef\xbb\xbf" + strings.ReplaceAll(webMap+"---\n"+webMap, "\n", "\r\n"),
			[]string{"1:1 ConfigMap web", "2:5 ConfigMap web"},
		},
		"a document that ends with dots": {webMap + "...\n---\n" + webMap, []string{"1:1 ConfigMap web", "2:6 ConfigMap web"}},
		"JSON values after each other": {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`, []string{"1:1 ConfigMap a", "2:1 ConfigMap b"}},
		"YAML in braces": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}", []string{"1:1 ConfigMap web"}},
		"a list of lists": {"kind: List\napiVersion: v1\nitems:\n- kind: List\n  apiVersion: v1\n  items:\n" +
			"  - {apiVersion: v1, kind: Secret, metadata: {name: a}}\n",
			[]string{"1:1 Secret a"}},
		"a typed list, whose items leave the kind out": {
			"kind: ConfigMapList\napiVersion: v1\nitems: [{metadata: {name: a}}]\n",
			[]string{"1:1 ConfigMap a"},
		},
		"a kind that ends in List and is none": {
			"kind: AllowList\napiVersion: example.com/v1\nmetadata: {name: a}\nspec: {items: []}\n",
			[]string{"1:1 AllowList a"},
		},
		"a scalar with a marker in it": {webMap + "data:\n  text: |\n    ---\n    more\n", []string{"1:1 ConfigMap web"}},
	} {
		t.Run(name, func(t *testing.T) {
			manifests, _, err := Parse([]Source{{Name: "in.yaml", Data: []byte(tc.text)}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, found(manifests)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParsingErrorsNameThePlaceAndTheRemedy(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	for name, tc := range map[string]struct{ text, want string }{
		"nothing at all": {"# only a comment\n", "reading in.yaml: there is no object in it"},
		"an empty list":  {"apiVersion: v1\nkind: List\nitems: []\n", "there is no object in it"},
		"too much":       {strings.Repeat("#", MaxInput) + "\n", "larger than 3 MiB"},
		"no text":        {"\xff\xfe", "it is not UTF-8"},
		"an anchor": {
			webMap + "data: &d {a: b}\n",
			"in.yaml, document 1 (line 1): data: YAML anchors (&d) and aliases (*) are not accepted: write the value out",
		},
		"an alias":            {webMap + "data: {a: *d}\n", "unknown anchor"},
		"an alias of a key":   {"a: &d b\n*d : c\n", "a: YAML anchors"},
		"a merge key":         {webMap + "data: {<<: {a: b}}\n", "data: the merge key << is not accepted"},
		"a key twice":         {webMap + "---\n" + webMap + "data:\n  a: b\n  a: c\n", "in.yaml, document 2 (line 5): data.a: occurs twice"},
		"a JSON key twice":    {`{"apiVersion":"v1","data":{"a.b":"1","a.b":"2"}}`, `data["a.b"]: occurs twice`},
		"a key twice, hidden": {webMap + "data: {0x1: a, 1: b}\n", "already set in map"},
		"a list as a key":     {"? [a]\n: b\n", "a key must be plain text"},
		"a tag":               {webMap + "data: !secret {a: b}\n", "data: the tag !secret is not accepted"},
		"too deep":            {webMap + "data: " + deep + "\n", "is nested deeper than 100 levels"},
		"too deep in JSON":    {`{"a": ` + deep + `}`, "is nested deeper than 100 levels"},
		"a number too large":  {webMap + "data: {a: [9223372036854775808]}\n", "data.a[0]: the number 9223372036854775808 does not fit 64 bits"},
		"one far too large":   {webMap + "data: {a: 18446744073709551617}\n", "data.a: the number 18446744073709551617 does not fit 64 bits"},
		"one written in hex":  {webMap + "data: {a: 0x8000000000000000}\n", "data.a: the number 0x8000000000000000 does not fit 64 bits"},
		"one too small":       {webMap + "data: {a: -9223372036854775809}\n", "data.a: the number -9223372036854775809 does not fit 64 bits"},
		"one too small, JSON": {`{"apiVersion":"v1","a":-9223372036854775809}`, "a: the number -9223372036854775809 does not fit 64 bits"},
		"10,000 levels deep":  {webMap + "data: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "\n", "data[0][0][0][0][0][0][0]…: is nested deeper than 100 levels"},
		"that in JSON":        {`{"a": ` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`, "a[0][0][0][0][0][0][0]…: is nested deeper than 100 levels"},
		"a million levels":    {webMap + "data: " + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + "\n", "exceeded max depth"},
		"a float too large":   {`{"apiVersion":"v1","a":1e19}`, "a: the number 1e19 does not fit 64 bits"},
		"infinity":            {webMap + "data: {a: .inf}\n", "data.a: .inf is a number that JSON cannot represent"},
		"broken YAML":         {webMap + "data: [\n", "in.yaml, document 1 (line 1): is not valid YAML"},
		"half a JSON value":   {`{"apiVersion": "v1", "kind": `, "is not valid YAML"},
		"no mapping":          {"- a\n", "is not a mapping"},
		"text":                {"hello\n", "is not a mapping"},
		"more behind the end": {webMap + "...\n" + webMap, "begin the next document with a line ---"},
		"no apiVersion":       {"kind: ConfigMap\nmetadata: {name: web}\n", "ConfigMap web: apiVersion: must be VERSION or GROUP/VERSION"},
		"no version":          {"apiVersion: a/b/c\nkind: ConfigMap\nmetadata: {name: web}\n", "apiVersion: must be VERSION or GROUP/VERSION"},
		"no kind":             {"apiVersion: v1\nmetadata: {name: web}\n", "kind: is missing"},
		"no name":             {"apiVersion: v1\nkind: Pod\nmetadata: {}\n", "Pod: metadata.name: is missing"},
		"a generated name": {
			"apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n",
			"metadata.generateName: would make a new object at each push",
		},
		"no name in a list": {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod}\n", "items[0].metadata.name: is missing"},
		"a wrapper": {
			"apiVersion: federation.fairlead.dev/v1alpha1\nkind: Federated\nmetadata: {name: a}\n",
			"Federated is Fairlead's own kind",
		},
		"a label no text": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {b: 1}}\n",
			"metadata.labels: b is not a string: quote its value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Parse([]Source{{Name: "in.yaml", Data: []byte(tc.text)}})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got: %v", tc.want, err)
			}
		})
	}
}

func TestMisspeltFieldsOfWrappersAreErrors(t *testing.T) {
	const head = "apiVersion: federation.fairlead.dev/v1alpha1\nkind: Federated\nmetadata: {name: a}\nspec:\n  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n"
	read := func(text string) ([]Found, error) {
		found, _, err := ParseWrappers([]Source{{Name: "in.yaml", Data: []byte(text)}})
		return found, err
	}
	wrappers, err := read(webMap + "---\n" + head + "  placement: {clusters: {names: [eu-1]}}\n")
	if err != nil || len(wrappers) != 1 || wrappers[0].Wrapper.WrapperSpec().Placement.Clusters.Names[0] != "eu-1" {
		t.Errorf("one wrapper for eu-1 was to be read, got %v, %v", wrappers, err)
	}
	if _, err = read(head + "  placement: {clusters: {}}\n  override: []\n"); err == nil || !strings.Contains(err.Error(), "override") {
		t.Errorf("want an error that names the unknown field, got: %v", err)
	}
	if _, err = read(webMap); err == nil {
		t.Error("a file without wrappers was to be refused")
	}
}
