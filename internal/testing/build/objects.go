// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Manifest returns an object from YAML. format and args are those of fmt.Sprintf.
func Manifest(format string, args ...any) *unstructured.Unstructured {
	content := fmt.Sprintf(format, args...)
	obj := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(content))
	if err == nil {
		err = obj.UnmarshalJSON(data)
	}
	if err != nil {
		panic(fmt.Sprintf("building a test's object: %v in\n%s", err, content)) // the test passes a manifest that is not valid
	}
	return obj
}

// ConfigMap returns a ConfigMap. Its data are given as key, value, key, value.
func ConfigMap(name string, data ...string) *unstructured.Unstructured {
	content := make(map[string]any, len(data)/2)
	for k, v := range pairs(data) {
		content[k] = v
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": content,
	}}
}

// Claim returns a PersistentVolumeClaim that names no StorageClass, so each member uses its default class.
func Claim(name string) *unstructured.Unstructured {
	return Manifest(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`, name)
}

// StorageClass returns a StorageClass whose provisioner does not exist.
func StorageClass(name string) *unstructured.Unstructured {
	return Manifest(`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: %s}, provisioner: nobody.example.com}`, name)
}

// Namespace returns a Namespace.
func Namespace(name string) *unstructured.Unstructured {
	return Manifest(`{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, name)
}

// CRD returns the CRD of a namespaced kind in the API group e2e.fairlead.dev. Its schema accepts every object.
func CRD(kind, plural string) *unstructured.Unstructured {
	return Manifest(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.e2e.fairlead.dev}
spec:
  group: e2e.fairlead.dev
  scope: Namespaced
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]s, singular: %[3]s}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, kind, plural, plural[:len(plural)-1])
}

// Kept returns a copy of obj with the annotation AnnotationKeep, whose value is "true" or "false".
func Kept(obj *unstructured.Unstructured, keep string) *unstructured.Unstructured {
	return Annotated(obj, v1alpha1.AnnotationKeep, keep)
}

// Annotated returns a copy of obj with an annotation.
func Annotated(obj *unstructured.Unstructured, key, value string) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	all := obj.GetAnnotations()
	if all == nil {
		all = make(map[string]string)
	}
	all[key] = value
	obj.SetAnnotations(all)
	return obj
}
