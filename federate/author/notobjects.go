// SPDX-License-Identifier: Apache-2.0

package author

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kustomizeGroup is the API group of kustomize's own files.
const kustomizeGroup = "kustomize.config.k8s.io"

// The hints for files of kustomize and Helm.
const (
	wayOfKustomize = "`kubectl kustomize FOLDER | hostctl federate -f -` federates its output"
	wayOfHelm      = "`helm template … | hostctl federate -f -` federates its output"
)

// ownFiles are names of files that lie beside manifests and hold no objects.
var ownFiles = map[string]string{
	"kustomization.yaml": "it is a file of kustomize; " + wayOfKustomize,
	"kustomization.yml":  "it is a file of kustomize; " + wayOfKustomize,
	"Chart.yaml":         "it describes a Helm chart; " + wayOfHelm,
}

// skip returns why a file is skipped: it lies in a folder that the author named, and holds no Kubernetes object.
func (s Source) skip(documents []decoded) (why string, skipped bool) {
	if !s.Found {
		return "", false
	}
	base := s.Name[strings.LastIndexAny(s.Name, `/\`)+1:]
	if why, known := ownFiles[base]; known {
		return why, true
	}
	if len(documents) == 0 {
		return "", false
	}
	kustomize := true
	for _, d := range documents {
		if d.err != nil {
			return "", false
		}
		for _, value := range d.values {
			group, isObject := groupOf(value)
			if isObject && group != kustomizeGroup {
				return "", false
			}
			kustomize = kustomize && isObject
		}
	}
	if kustomize {
		return ownFiles["kustomization.yaml"], true
	}
	return "it holds no Kubernetes object, because no document in it has apiVersion, kind and metadata", true
}

// groupOf is the API group of a value that looks like an object.
func groupOf(value any) (group string, isObject bool) {
	content, isMapping := value.(map[string]any)
	if !isMapping {
		return "", false
	}
	gv, _ := schema.ParseGroupVersion(textAt(content, "apiVersion"))
	said := 0
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		if content[key] != nil {
			said++
		}
	}
	return gv.Group, said >= 2
}
