// SPDX-License-Identifier: Apache-2.0

package author

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Placeholder is the comment above an empty placement, which the author has to fill in. Admission refuses a wrapper
// with an empty placement.
const Placeholder = "# choose the members: names: [CLUSTER], or selectors: [{matchLabels: {KEY: VALUE}}], or selectors: [{}] for every cluster"

// first is the list of the keys with which ObjectYAML begins an object. The other keys follow in alphabetical order.
var first = []string{"apiVersion", "kind", "metadata"}

// WriteYAML writes wrappers as YAML documents. The same wrappers give the same bytes.
func WriteYAML(w io.Writer, wrappers []*Wrapper) error {
	var out bytes.Buffer
	for n, wrapper := range wrappers {
		if n > 0 {
			out.WriteString("---\n")
		}
		if err := writeWrapper(&out, wrapper); err != nil {
			return err
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

func writeWrapper(out *bytes.Buffer, w *Wrapper) error {
	head, err := yaml.Marshal(w.metadata())
	if err != nil {
		return fmt.Errorf("encoding %s %s: %w", w.Kind, w.Name, err)
	}
	fmt.Fprintf(out, "apiVersion: %s\nkind: %s\nmetadata:\n", v1alpha1.GroupVersion, w.Kind)
	indent(out, head, "  ", "  ")
	out.WriteString("spec:\n  objects:\n")
	for _, object := range w.Objects {
		text, err := ObjectYAML(object.Object)
		if err != nil {
			return fmt.Errorf("encoding %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		indent(out, text, "  - ", "    ")
	}
	out.WriteString("  placement:\n")
	if w.Clusters == nil {
		out.WriteString("    " + Placeholder + "\n    clusters: {}\n")
	} else {
		clusters, err := yaml.Marshal(map[string]any{"clusters": w.Clusters})
		if err != nil {
			return fmt.Errorf("encoding the placement: %w", err)
		}
		indent(out, clusters, "    ", "    ")
	}
	if len(w.Overrides) == 0 {
		return nil
	}
	overrides, err := yaml.Marshal(map[string]any{"overrides": w.Overrides})
	if err != nil {
		return fmt.Errorf("encoding the overrides: %w", err)
	}
	indent(out, overrides, "  ", "  ")
	return nil
}

func (w *Wrapper) metadata() map[string]any {
	metadata := map[string]any{"name": w.Name}
	if w.Namespace != "" {
		metadata["namespace"] = w.Namespace
	}
	return metadata
}

// ObjectYAML returns an object as YAML: apiVersion, kind, metadata, then the other keys in alphabetical order.
func ObjectYAML(content map[string]any) ([]byte, error) {
	keys := slices.DeleteFunc(slices.Clone(first), func(key string) bool { _, found := content[key]; return !found })
	for _, key := range sortedKeys(content) {
		if !slices.Contains(first, key) {
			keys = append(keys, key)
		}
	}
	var out bytes.Buffer
	for _, key := range keys {
		// The encoder sorts the keys of a mapping. So each key is encoded by itself, which keeps the order of keys.
		text, err := yaml.Marshal(map[string]any{key: content[key]})
		if err != nil {
			return nil, err
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// indent indents each line of a block of YAML, except empty lines. An empty line in a block scalar means the same with
// and without indentation.
func indent(out *bytes.Buffer, text []byte, firstPrefix, prefix string) {
	next := firstPrefix
	for line := range bytes.Lines(text) {
		if len(line) > 1 {
			out.WriteString(next)
		}
		out.Write(line)
		next = prefix
	}
}

// WriteJSON writes a single wrapper as one object, and several as a v1 List with one line for each wrapper. It does not
// indent, because indentation would make a deep object many times longer.
func WriteJSON(w io.Writer, wrappers []*Wrapper) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if len(wrappers) != 1 {
		out.WriteString(`{"apiVersion":"v1","kind":"List","items":[` + "\n")
	}
	for n, wrapper := range wrappers {
		if n > 0 {
			out.WriteByte(',')
		}
		if err := encoder.Encode(wrapper.content()); err != nil {
			return fmt.Errorf("encoding %s %s: %w", wrapper.Kind, wrapper.Name, err)
		}
	}
	if len(wrappers) != 1 {
		out.WriteString("]}\n")
	}
	_, err := w.Write(out.Bytes())
	return err
}

// content returns the wrapper as a map of JSON fields.
func (w *Wrapper) content() map[string]any {
	objects := make([]any, 0, len(w.Objects))
	for _, object := range w.Objects {
		objects = append(objects, object.Object)
	}
	clusters := w.Clusters
	if clusters == nil {
		clusters = &v1alpha1.ClusterSelection{}
	}
	spec := map[string]any{"objects": objects, "placement": map[string]any{"clusters": clusters}}
	if len(w.Overrides) > 0 {
		spec["overrides"] = w.Overrides
	}
	return map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(),
		"kind":       w.Kind,
		"metadata":   w.metadata(),
		"spec":       spec,
	}
}
