// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// One level of folders, whatever they are called: a folder is there once it holds a file.
//
//go:embed */*.yaml
var files embed.FS

// Folder is a part of the configuration that is installed together.
type Folder string

const (
	// CRD holds the CustomResourceDefinitions of all kinds, those of the host and those of the members.
	CRD Folder = "crd"
	// RBAC holds the roles of the manager and those for people.
	RBAC Folder = "rbac"
	// Webhook holds the registration of the admission webhook.
	Webhook Folder = "webhook"
	// Rotation holds the role with which the manager writes the authority of its certificate into that registration.
	Rotation Folder = "rotation"
	// Manager holds the Deployment of the manager and the objects beside it.
	Manager Folder = "manager"
	// CertManager holds the objects with which cert-manager makes the certificate of the webhooks.
	CertManager Folder = "certmanager"
	// Prometheus holds the ServiceMonitor, and what opens the metrics.
	Prometheus Folder = "prometheus"
)

// Objects decodes every object of a folder, in the order of file names and, within a file, of documents.
// The objects are the caller's to change. A folder without files is an error: a program that installs nothing
// and calls it success would be believed.
func Objects(folder Folder) ([]*unstructured.Unstructured, error) {
	entries, err := files.ReadDir(string(folder))
	if err != nil {
		return nil, fmt.Errorf("reading embedded folder %s: %w", folder, err)
	}
	var objects []*unstructured.Unstructured
	for _, entry := range entries {
		if entry.IsDir() || entry.Name() == "kustomization.yaml" {
			continue
		}
		name := path.Join(string(folder), entry.Name())
		decoded, err := decode(name)
		if err != nil {
			return nil, err
		}
		objects = append(objects, decoded...)
	}
	return objects, nil
}

// CustomResourceDefinition is the CRD of that name, "deliveries.federation.fairlead.dev" for example.
func CustomResourceDefinition(name string) (*unstructured.Unstructured, error) {
	crds, err := Objects(CRD)
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		if crd.GetName() == name {
			return crd, nil
		}
	}
	return nil, fmt.Errorf("looking up CRD %s: none of the %d embedded ones is called that", name, len(crds))
}

func decode(name string) ([]*unstructured.Unstructured, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading embedded %s: %w", name, err)
	}
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("decoding embedded %s, document %d: %w", name, len(objects)+1, err)
		case len(object.Object) == 0: // only a comment between two separators
		default:
			objects = append(objects, object)
		}
	}
}
