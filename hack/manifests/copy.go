// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// These are paths of the chart's templates.
const (
	// templates is the folder of the templates, relative to the root of the repository.
	templates = "charts/fairlead/templates"
	// copyPrefix begins the file name of a copied template.
	copyPrefix = "copy-"
)

// copied are the templates that this program copies from config/. That is possible because they need few values of the chart. The key
// is the template's file name without copyPrefix, and the value the folder in config/.
var copied = map[string]string{
	"crds.yaml":     "config/crd",
	"rbac.yaml":     "config/rbac",
	"rotation.yaml": "config/rotation",
	"rules.yaml":    "config/prometheus",
	"webhooks.yaml": "config/webhook",
}

// These are conditions in Helm's template language. Function copies puts them around objects of a template.
const (
	ifManagerRotates = "{{- if not .Values.certManager.enabled }}\n"
	ifCertManager    = "{{- if .Values.certManager.enabled }}\n"
	ifRules          = "{{- if .Values.prometheusRule.enabled }}\n"
	endIf            = "{{- end }}\n"
)

// conditions are the conditions under which Helm renders a copied template.
var conditions = map[string]string{"rotation.yaml": ifManagerRotates, "rules.yaml": ifRules}

// ruleLabels adds the labels of value prometheusRule.labels to the PrometheusRule.
const ruleLabels = "    {{- with .Values.prometheusRule.labels }}\n    {{- toYaml . | nindent 4 }}\n    {{- end }}\n"

// injected is an annotation for the webhook configurations. It asks cert-manager's CA injector to write the certificate authority into them.
const injected = ifCertManager + "  annotations:\n    cert-manager.io/inject-ca-from: fairlead-system/fairlead-webhook\n" + endIf

const copyHeader = `# SPDX-License-Identifier: Apache-2.0
#
# A copy of %s, by make generate: edit it there.
`

// copies returns the texts of the copied templates, by their paths relative to the root of the repository.
func copies(root string) (map[string]string, error) {
	all := make(map[string]string, len(copied))
	for name, folder := range copied {
		objects, err := readFolder(root, name, folder)
		if err != nil {
			return nil, err
		}
		text := &strings.Builder{}
		fmt.Fprintf(text, copyHeader, folder)
		condition := conditions[name]
		text.WriteString(condition)
		for _, o := range objects {
			if o.content["kind"] == "Namespace" {
				continue // the hand-written namespace.yaml has it, under the condition createNamespace
			}
			if o.content["kind"] == "CustomResourceDefinition" {
				setPolicy(o)
			}
			written, err := marshal(o)
			if err != nil {
				return nil, err
			}
			// A description in a CRD can have text that Helm would take for an action of a template.
			written = strings.ReplaceAll(written, "{{", `{{ "{{" }}`)
			if name == "rules.yaml" {
				written = strings.Replace(written, "  name: fairlead\n", ruleLabels+"  name: fairlead\n", 1)
			}
			if name == "webhooks.yaml" {
				written = strings.Replace(written, "metadata:\n", "metadata:\n"+injected, 1)
			}
			fmt.Fprintf(text, "---\n%s", written)
		}
		if condition != "" {
			text.WriteString(endIf)
		}
		all[filepath.Join(templates, copyPrefix+name)] = text.String()
	}
	return all, nil
}

// readFolder returns the objects of a folder that go into the copied template of this name.
func readFolder(root, name, folder string) ([]object, error) {
	if name != "rules.yaml" {
		return renderKustomize(root, variant{folder: folder})
	}
	// This folder is a component, which kustomize cannot build alone; and monitor.yaml in it has a template of its own.
	path := filepath.Join(folder, name)
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, fmt.Errorf("reading the rules: %w", err)
	}
	return decode(path, string(text))
}

func setPolicy(o object) {
	annotations, ok := o.metadata()["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		o.metadata()["annotations"] = annotations
	}
	annotations[keepPolicy] = keep
}

// staleCopies returns the paths of the templates in the chart that differ from the results of the function copies.
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

// writeCopies writes the copied templates into the chart.
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
