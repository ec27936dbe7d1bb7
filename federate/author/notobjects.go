// SPDX-License-Identifier: Apache-2.0

package author

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kustomizeGroup is the API group of kustomize's own files, which are not Kubernetes objects.
const kustomizeGroup = "kustomize.config.k8s.io"

// Hints for an author who passes a file of kustomize or Helm.
const (
	wayOfKustomize = "`kubectl kustomize FOLDER | hostctl federate -f -` federates its output"
	wayOfHelm      = "`helm template … | hostctl federate -f -` federates its output"
)

// ownFiles are names of files that often lie beside manifests and contain no objects, each with the text of the note.
var ownFiles = map[string]string{
	"kustomization.yaml": "it is a file of kustomize; " + wayOfKustomize,
	"kustomization.yml":  "it is a file of kustomize; " + wayOfKustomize,
	"Chart.yaml":         "it describes a Helm chart; " + wayOfHelm,
}

// skip reports whether hostctl skips a file, and why. It skips only a file that it found in a folder, if the file has
// no Kubernetes object or belongs to kustomize or Helm.
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

// groupOf returns the API group of a value. isObject is true if the value has at least two of the three fields
// apiVersion, kind and metadata.
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
