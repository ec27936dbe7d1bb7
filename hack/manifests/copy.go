// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// templates is the folder of the chart's templates, from the root of the repository. A copy has a name that begins with copyPrefix.
const (
	templates  = "charts/fairlead/templates"
	copyPrefix = "copy-"
)

// copied are the files of the chart that depend on no value, or on one: by name, the folder of config/.
var copied = map[string]string{
	"crds.yaml":     "config/crd",
	"rbac.yaml":     "config/rbac",
	"rotation.yaml": "config/rotation",
	"webhooks.yaml": "config/webhook",
}

// Conditions in copies.
const (
	ifManagerRotates = "{{- if not .Values.certManager.enabled }}\n"
	ifCertManager    = "{{- if .Values.certManager.enabled }}\n"
	endIf            = "{{- end }}\n"
)

// injected asks cert-manager's CA injector to write the authority into a webhook configuration.
const injected = ifCertManager + "  annotations:\n    cert-manager.io/inject-ca-from: fairlead-system/fairlead-webhook\n" + endIf

const copyHeader = `# SPDX-License-Identifier: Apache-2.0
#
# A copy of %s, by make generate: edit it there.
`

// copies returns the copies by their path from the root of the repository.
func copies(root string) (map[string]string, error) {
	all := make(map[string]string, len(copied))
	for name, folder := range copied {
		objects, err := renderKustomize(root, variant{folder: folder})
		if err != nil {
			return nil, err
		}
		text := &strings.Builder{}
		fmt.Fprintf(text, copyHeader, folder)
		if name == "rotation.yaml" {
			text.WriteString(ifManagerRotates)
		}
		for _, o := range objects {
			if o.content["kind"] == "Namespace" {
				continue // a template by hand makes it, if a value asks for it
			}
			if o.content["kind"] == "CustomResourceDefinition" {
				setPolicy(o)
			}
			written, err := marshal(o)
			if err != nil {
				return nil, err
			}
			// A description may hold what Helm reads as an action.
			written = strings.ReplaceAll(written, "{{", `{{ "{{" }}`)
			if name == "webhooks.yaml" {
				written = strings.Replace(written, "metadata:\n", "metadata:\n"+injected, 1)
			}
			fmt.Fprintf(text, "---\n%s", written)
		}
		if name == "rotation.yaml" {
			text.WriteString(endIf)
		}
		all[filepath.Join(templates, copyPrefix+name)] = text.String()
	}
	return all, nil
}

func setPolicy(o object) {
	annotations, ok := o.metadata()["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		o.metadata()["annotations"] = annotations
	}
	annotations[keepPolicy] = keep
}

// staleCopies returns the paths of the copies that differ from the files of the chart.
func staleCopies(root string) (stale []string, err error) {
	all, err := copies(root)
	if err != nil {
		return nil, err
	}
	for path, text := range all {
		if there, err := os.ReadFile(filepath.Join(root, path)); err != nil || string(there) != text {
			stale = append(stale, path)
		}
	}
	return stale, nil
}

// writeCopies writes the copies into the chart.
func writeCopies(root string) error {
	all, err := copies(root)
	if err != nil {
		return err
	}
	for path, text := range all {
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing a copy: %w", err)
		}
	}
	return nil
}
