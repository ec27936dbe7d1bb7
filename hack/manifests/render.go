// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// variant is a choice that kustomize and the chart both offer. The package comment lists the variants.
type variant struct {
	name   string
	folder string         // the folder that kustomize builds, relative to the root of the repository
	values map[string]any // the values with which Helm renders the chart
}

var variants = []variant{
	{"default", "config/default", map[string]any{}},
	{"cert-manager", "hack/manifests/variants/cert-manager", map[string]any{"certManager": map[string]any{"enabled": true}}},
	{"monitoring", "hack/manifests/variants/monitoring", map[string]any{
		"serviceMonitor": map[string]any{"enabled": true}, "prometheusRule": map[string]any{"enabled": true},
	}},
}

// variantOf returns the variant with this name. If name is the path of a .yaml file, it returns a variant for the chart only, with the file's values.
func variantOf(name string) (variant, error) {
	if strings.HasSuffix(name, ".yaml") {
		text, err := os.ReadFile(name)
		if err != nil {
			return variant{}, fmt.Errorf("reading values: %w", err)
		}
		v := variant{name: name, values: map[string]any{}}
		return v, yaml.UnmarshalStrict(text, &v.values)
	}
	for _, v := range variants {
		if v.name == name {
			return v, nil
		}
	}
	return variant{}, fmt.Errorf("there is no variant %q", name)
}

// object is one rendered object.
type object struct{ content map[string]any }

func (o object) metadata() map[string]any {
	m, _ := o.content["metadata"].(map[string]any)
	return m
}

// key returns what identifies the object in a cluster: apiVersion, kind, namespace and name.
func (o object) key() string {
	m := o.metadata()
	return fmt.Sprintf("%v %v %v/%v", o.content["apiVersion"], o.content["kind"], m["namespace"], m["name"])
}

// renderKustomize returns the objects that `kustomize build` prints.
func renderKustomize(root string, v variant) ([]object, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, v.folder))
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w", v.folder, err)
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w", v.folder, err)
	}
	return decode("kustomize build "+v.folder, string(text))
}

// renderHelm returns the objects that `helm template` prints with these values. The release is in another namespace than the manager,
// because only then the chart renders the manager's Namespace. kustomize always renders it.
func renderHelm(root string, values map[string]any) ([]object, error) {
	all := map[string]any{"createNamespace": true}
	for key, value := range values {
		all[key] = value
	}
	return renderRelease(root, all, "elsewhere")
}

func renderRelease(root string, values map[string]any, namespace string) ([]object, error) {
	chart, err := loader.Load(filepath.Join(root, "charts/fairlead"))
	if err != nil {
		return nil, fmt.Errorf("loading the chart: %w", err)
	}
	release := chartutil.ReleaseOptions{Name: "fairlead", Namespace: namespace, Revision: 1, IsInstall: true}
	// ToRenderValues also checks the values against values.schema.json.
	rendered, err := chartutil.ToRenderValues(chart, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, fmt.Errorf("reading values: %w", err)
	}
	files, err := engine.Engine{Strict: true}.Render(chart, rendered)
	if err != nil {
		return nil, fmt.Errorf("helm template: %w", err)
	}
	var objects []object
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		decoded, err := decode(name, text)
		if err != nil {
			return nil, err
		}
		objects = append(objects, decoded...)
	}
	slices.SortFunc(objects, func(a, b object) int { return strings.Compare(a.key(), b.key()) })
	return objects, nil
}

func decode(from, text string) (objects []object, err error) {
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		content := map[string]any{}
		document, err := reader.Read()
		if err == nil { // strict: Helm accepts a duplicate key, and other tools refuse it
			err = yaml.UnmarshalStrict(document, &content)
		}
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("decoding %s, document %d: %w", from, len(objects)+1, err)
		case len(content) > 0:
			objects = append(objects, object{content})
		}
	}
}
