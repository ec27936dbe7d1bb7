// SPDX-License-Identifier: Apache-2.0

package author

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// The limits of what is read and written.
const (
	// MaxInput is how many bytes all sources may have together.
	MaxInput = 3 << 20
	// MaxObjects and MaxBytes are what one wrapper may hold; the API says so too.
	MaxObjects = 64
	MaxBytes   = 1 << 20
	// MaxDepth is how deep a document may be nested.
	MaxDepth = 100
)

// Parse reads the objects of all sources, in order. Lists are unfolded, empty documents left out. The
// first fault ends it, as an *Error where it has a place.
func Parse(sources []Source) ([]Manifest, error) {
	manifests, err := parseAll(sources)
	if err != nil {
		return nil, err
	}
	for _, m := range manifests {
		if gvk := m.Object.GroupVersionKind(); gvk.Group == v1alpha1.Group {
			return nil, &Error{Where: m.Where, Field: "apiVersion",
				Text: gvk.Kind + " is Fairlead's own kind and is not federated: create it at the host"}
		}
	}
	return manifests, nil
}

func parseAll(sources []Source) ([]Manifest, error) {
	total := 0
	names := make([]string, 0, len(sources))
	for _, s := range sources {
		total += len(s.Data)
		names = append(names, s.Name)
	}
	if total > MaxInput {
		return nil, fmt.Errorf("reading %s: the input is larger than %d MiB: take it in parts", strings.Join(names, ", "), MaxInput>>20)
	}
	var manifests []Manifest
	for _, s := range sources {
		found, err := parseSource(s)
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, found...)
	}
	if len(manifests) == 0 {
		return nil, fmt.Errorf("reading %s: there is no object in it", strings.Join(names, ", "))
	}
	return manifests, nil
}

func parseSource(s Source) ([]Manifest, error) {
	if !utf8.Valid(s.Data) {
		return nil, fmt.Errorf("reading %s: it is not UTF-8 text", s.Name)
	}
	var manifests []Manifest
	count := 0
	for _, d := range split(s.Data) {
		if isBlank(d.text) {
			continue
		}
		where := Where{Source: s.Name, Document: count + 1, Line: d.firstLine()}
		values, err := decode(d.text)
		if err != nil {
			return nil, placed(where, err)
		}
		for _, value := range values {
			count++
			where.Document = count
			if value == nil {
				continue
			}
			found, err := unfold(value, where, nil)
			if err != nil {
				return nil, placed(where, err)
			}
			manifests = append(manifests, found...)
		}
	}
	return manifests, nil
}

// placed gives a fault its place.
func placed(where Where, err error) error {
	var already *Error
	if errors.As(err, &already) {
		return err
	}
	var f *fault
	if errors.As(err, &f) {
		return &Error{Where: where, Field: f.field.String(), Text: f.text}
	}
	return &Error{Where: where, Text: err.Error()}
}

// unfold turns a value into manifests: itself, or a List's items. Items of a typed list (ConfigMapList)
// may leave out what the list already says.
func unfold(value any, where Where, path fieldPath) ([]Manifest, error) {
	content, isMapping := value.(map[string]any)
	if !isMapping {
		return nil, faultf(path, "is not a mapping with apiVersion, kind and metadata")
	}
	kind, _ := content["kind"].(string)
	items, hasItems := content["items"].([]any)
	if !strings.HasSuffix(kind, "List") || !hasItems {
		m, err := manifest(content, where, path)
		if err != nil {
			return nil, err
		}
		return []Manifest{m}, nil
	}
	var manifests []Manifest
	for i, item := range items {
		if object, isMapping := item.(map[string]any); isMapping && kind != "List" {
			inherit(object, "apiVersion", content["apiVersion"])
			inherit(object, "kind", strings.TrimSuffix(kind, "List"))
		}
		found, err := unfold(item, where, path.key("items").index(i))
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, found...)
	}
	return manifests, nil
}

func inherit(object map[string]any, key string, value any) {
	if _, said := object[key]; !said && value != nil {
		object[key] = value
	}
}

// manifest checks what every object must have, so that the rest of the room can rely on it.
func manifest(content map[string]any, where Where, path fieldPath) (Manifest, error) {
	object := &unstructured.Unstructured{Object: content}
	kind, name := object.GetKind(), object.GetName()
	where.Object = strings.TrimSpace(kind + " " + name)
	fail := func(field, format string, args ...any) (Manifest, error) {
		at := path
		for key := range strings.SplitSeq(field, ".") {
			at = at.key(key)
		}
		return Manifest{}, &Error{Where: where, Field: at.String(), Text: fmt.Sprintf(format, args...)}
	}
	gv, err := schema.ParseGroupVersion(object.GetAPIVersion())
	switch {
	case object.GetAPIVersion() == "" || err != nil || gv.Version == "":
		return fail("apiVersion", "must be VERSION or GROUP/VERSION, as in apps/v1")
	case kind == "":
		return fail("kind", "is missing or not text")
	case name == "" && object.GetGenerateName() != "":
		return fail("metadata.generateName", "would make a new object at each push: give metadata.name instead")
	case name == "":
		return fail("metadata.name", "is missing or not text")
	}
	for _, field := range []string{"labels", "annotations"} {
		if key := notText(content, field); key != "" {
			return fail("metadata."+field, "%s is not text: quote its value", key)
		}
	}
	if ns := fieldAt(content, "metadata", "namespace"); ns != nil {
		if _, isString := ns.(string); !isString {
			return fail("metadata.namespace", "is not text")
		}
	}
	return Manifest{Where: where, Object: object}, nil
}

// notText names the first key of metadata.<field> whose value is not a string, or the field itself
// where it is no mapping.
func notText(content map[string]any, field string) string {
	value := fieldAt(content, "metadata", field)
	if value == nil {
		return ""
	}
	mapping, isMapping := value.(map[string]any)
	if !isMapping {
		return field
	}
	for _, key := range sortedKeys(mapping) {
		if _, isString := mapping[key].(string); !isString {
			return key
		}
	}
	return ""
}
