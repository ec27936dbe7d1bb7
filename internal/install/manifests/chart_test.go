// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// chartVersion is the appVersion of the chart. An image without a tag gets it as its tag.
const chartVersion = "v0.0.0-dev"

// TestTheChartGivesTheSameObjects renders the chart with Helm's library and the installation with package manifests, from
// the same values files, and compares the objects.
func TestTheChartGivesTheSameObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("builds Helm: run without -short")
	}
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no values: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			v, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := Objects(v, chartVersion)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(byKey(t, rendered(t, file)), byKey(t, objects)); diff != "" {
				t.Errorf("(-chart +hostctl):\n%s", diff)
			}
		})
	}
}

// TestTheDefaultsAreThoseOfTheChart compares the function Default with charts/fairlead/values.yaml. Only createNamespace
// differs, for the reason in the package comment.
func TestTheDefaultsAreThoseOfTheChart(t *testing.T) {
	text, err := os.ReadFile("../../../charts/fairlead/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := sigsyaml.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	want["createNamespace"] = true
	got, err := asMap(Default())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-chart +hostctl):\n%s", diff)
	}
}

func rendered(t *testing.T, file string) (objects []*unstructured.Unstructured) {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", ".", "render", "helm", path)
	cmd.Dir = "../../../hack/manifests"
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("rendering the chart: %v\n%s", err, said.String())
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		obj := &unstructured.Unstructured{}
		switch err := decoder.Decode(obj); {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatal(err)
		case len(obj.Object) > 0:
			objects = append(objects, obj)
		}
	}
}

// byKey returns the objects by kind, namespace and name, without the annotation that makes Helm keep an object at an
// uninstallation.
func byKey(t *testing.T, objects []*unstructured.Unstructured) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, obj := range objects {
		key := obj.GetAPIVersion() + " " + obj.GetKind() + " " + obj.GetNamespace() + "/" + obj.GetName()
		if _, twice := all[key]; twice {
			t.Errorf("%s is there twice", key)
		}
		annotations := obj.GetAnnotations()
		if delete(annotations, "helm.sh/resource-policy"); len(annotations) == 0 {
			annotations = nil
		}
		obj.SetAnnotations(annotations)
		all[key] = obj.Object
	}
	return all
}
