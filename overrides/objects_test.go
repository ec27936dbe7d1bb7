// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: "web:1", env: [{name: A, value: a}]}
      - {name: sidecar, image: "proxy:1"}
`

const widget = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: cog}
spec: {size: 9007199254740993, parts: [{name: a, count: 1}, {name: b, count: 2}], limits: {cpu: 1, memory: 2}}
`

// object decodes an object from YAML.
func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	obj, err := strictjson.Decode(runtime.RawExtension{Raw: fromYAML(t, text)})
	if err != nil {
		t.Fatalf("the test's object: %v", err)
	}
	return obj
}

func fromYAML(t testing.TB, text string) []byte {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("the test's YAML: %v", err)
	}
	return data
}

// parse decodes a list of overrides from YAML.
func parse(t testing.TB, text string) []v1alpha1.Override {
	t.Helper()
	var list []v1alpha1.Override
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("the test's overrides: %v", err)
	}
	return list
}

// patchOf returns one override for all members, whose patch has these operations in YAML. It targets the objects of one kind.
func patchOf(t testing.TB, kind, operations string) []v1alpha1.Override {
	t.Helper()
	var ops []v1alpha1.PatchOperation
	if err := yaml.Unmarshal([]byte(operations), &ops); err != nil {
		t.Fatalf("the test's operations: %v", err)
	}
	return []v1alpha1.Override{{Target: v1alpha1.OverrideTarget{Kind: kind}, Patch: ops}}
}

// mergeOf returns one override for all members with this merge in YAML. It targets the objects of one kind.
func mergeOf(t testing.TB, kind, patch string) []v1alpha1.Override {
	t.Helper()
	return []v1alpha1.Override{{
		Target: v1alpha1.OverrideTarget{Kind: kind},
		Merge:  &apiextensionsv1.JSON{Raw: fromYAML(t, patch)},
	}}
}

var east = selection.Member{Name: "east", Labels: map[string]string{"cloud": "aws", "topology.kubernetes.io/region": "eu-west-1"}}
