// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// The pattern matches the YAML files of every folder below this one, so a new folder needs no change here.
//
//go:embed */*.yaml
var files embed.FS

// Folder is a folder of manifests that are installed together.
type Folder string

const (
	// CRD has the CustomResourceDefinitions of all kinds of Fairlead, for the host and for members.
	CRD Folder = "crd"
	// RBAC has the roles of the manager, and roles for people.
	RBAC Folder = "rbac"
	// Webhook has the configurations that register the admission webhooks.
	Webhook Folder = "webhook"
	// Rotation has the role with which the manager writes the CA of its certificate into the webhook configurations.
	// Without cert-manager, the manager makes and renews that certificate itself.
	Rotation Folder = "rotation"
	// Manager has the Deployment of the manager, and the objects that the Deployment needs.
	Manager Folder = "manager"
	// CertManager has the objects with which cert-manager makes the certificate of the webhooks.
	CertManager Folder = "certmanager"
	// Prometheus has the ServiceMonitor of the manager, the objects that let Prometheus read the metrics, and the
	// PrometheusRule with recording rules and alerts.
	Prometheus Folder = "prometheus"
)

// Objects decodes every object of a folder, in the order of the file names and of the documents in a file. The caller
// may change the objects. A folder without files is an error, because an installation that installs nothing would look
// like a success.
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

// CustomResourceDefinition returns the CRD of this name, for example "deliveries.federation.fairlead.dev". The caller may
// change it.
func CustomResourceDefinition(name string) (*unstructured.Unstructured, error) {
	crd, ok := decodedCRDs.Load(name)
	if !ok {
		plural, group, _ := strings.Cut(name, ".")
		objects, err := decode(path.Join(string(CRD), group+"_"+plural+".yaml")) // controller-gen chooses the names of the files
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("looking up CRD %s: no embedded CRD has this name", name)
		case err != nil:
			return nil, err
		case len(objects) != 1 || objects[0].GetName() != name:
			return nil, fmt.Errorf("looking up CRD %s: its file has %d objects, want only the CRD", name, len(objects))
		}
		crd, _ = decodedCRDs.LoadOrStore(name, objects[0])
	}
	return crd.(*unstructured.Unstructured).DeepCopy(), nil //nolint:forcetypeassert // the map has nothing else
}

// decodedCRDs has the CRDs that CustomResourceDefinition has decoded, by name. The manager compares CRDs of every member
// with them, and to decode one takes much longer than to compare it.
var decodedCRDs sync.Map

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
		case len(object.Object) == 0: // a document without content, such as a comment between two separators
		default:
			objects = append(objects, object)
		}
	}
}
