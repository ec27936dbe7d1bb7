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

// copied are the files of the chart that do not depend on values: by name, the folder of config/ and which of its objects.
var copied = map[string]struct {
	folder string
	wanted func(object) bool
}{
	"crds.yaml":     {"config/crd", func(object) bool { return true }},
	"rbac.yaml":     {"config/rbac", func(o object) bool { return o.content["kind"] != "Namespace" }},
	"webhooks.yaml": {"config/webhook", func(object) bool { return true }},
}

const copyHeader = `# SPDX-License-Identifier: Apache-2.0
#
# A copy of %s, by make generate.
`

// copies returns the copies by their path from the root of the repository.
func copies(root string) (map[string]string, error) {
	all := make(map[string]string, len(copied))
	for name, from := range copied {
		objects, err := renderKustomize(root, variant{folder: from.folder})
		if err != nil {
			return nil, err
		}
		text := &strings.Builder{}
		fmt.Fprintf(text, copyHeader, from.folder)
		for _, o := range objects {
			if !from.wanted(o) {
				continue
			}
			if o.content["kind"] == "CustomResourceDefinition" {
				setPolicy(o)
			}
			written, err := marshal(o)
			if err != nil {
				return nil, err
			}
			// A description may hold what Helm reads as an action.
			escaped := strings.ReplaceAll(written, "{{", `{{ "{{" }}`)
			fmt.Fprintf(text, "---\n%s", escaped)
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
