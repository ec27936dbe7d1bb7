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
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// The limits of input, output and wrappers.
const (
	// MaxInput is the greatest size of all sources together, in bytes.
	MaxInput = 3 << 20
	// MaxOutput is the greatest size of all wrappers together, in bytes. It is larger than MaxInput, because a wrapper
	// around a small object is larger than the object.
	MaxOutput = 12 << 20
	// MaxObjects is the greatest number of objects in one wrapper, as in the API.
	MaxObjects = 64
	// MaxBytes is the greatest size of all objects in one wrapper together, in bytes, as in the API.
	MaxBytes = 1 << 20
	// MaxDepth is the greatest nesting depth of a document: the number of mappings and lists around a value.
	MaxDepth = 100
)

// Parse decodes the objects of all sources, in order. It replaces each List by its items, and leaves out empty
// documents. The notes name files that it skipped. The error contains all faults, one in each line; a fault with a
// place is an *Error. Even with an error, Parse returns the objects without a fault, so that the caller can check these
// too.
func Parse(sources []Source) ([]Manifest, []Note, error) {
	all, notes, found := parseAll(sources, MaxInput)
	var manifests []Manifest
	for _, m := range all {
		if gvk := m.Object.GroupVersionKind(); gvk.Group == v1alpha1.Group {
			found.add(&Error{Where: m.Where, Field: "apiVersion",
				Text: gvk.Kind + " is Fairlead's own kind and is not federated: create it on the host itself"})
			continue
		}
		if isKubeFed(m) {
			unwrapped, err := fromKubeFed(m)
			if err != nil {
				found.add(err)
				continue
			}
			notes = append(notes, Note{Where: m.Where, Text: unwrapped.kubeFed.note(unwrapped.Object.GetKind())})
			m = unwrapped
		}
		manifests = append(manifests, m)
	}
	return manifests, notes, found.err()
}

func parseAll(sources []Source, limit int) ([]Manifest, []Note, *faults) {
	var manifests []Manifest
	var notes []Note
	found := &faults{}
	names := make([]string, 0, len(sources))
	total := 0
	for _, s := range sources {
		names = append(names, s.Name)
		total += len(s.Data)
	}
	if total > limit {
		found.add(fmt.Errorf("reading %s: the input is larger than %d MiB. Split it into parts", messages.Few(names, maxNames), limit>>20))
		return nil, nil, found
	}
	for _, s := range sources {
		documents, err := s.decode()
		if err != nil {
			found.add(err)
			continue
		}
		if why, skipped := s.skip(documents); skipped {
			notes = append(notes, Note{Text: fmt.Sprintf("%s: skipped: %s", s.Name, why)})
			continue
		}
		for _, d := range documents {
			manifests = append(manifests, d.manifests(found)...)
		}
	}
	if len(manifests) == 0 && len(found.told) == 0 {
		found.add(fmt.Errorf("reading %s: there is no object in it", messages.Few(names, maxNames)))
	}
	return manifests, notes, found
}

// maxNames is the greatest number of files that one message names.
const maxNames = 5

// decoded is one decoded document: its place, and its values or its error.
type decoded struct {
	where  Where
	values []any
	err    error
}

// decode decodes the documents of a source.
func (s Source) decode() ([]decoded, error) {
	if !utf8.Valid(s.Data) {
		return nil, fmt.Errorf("reading %s: it is not UTF-8 text", s.Name)
	}
	var documents []decoded
	count := 0
	for _, d := range split(s.Data) {
		if isBlank(d.text) {
			continue
		}
		next := decoded{where: Where{Source: s.Name, Document: count + 1, Line: d.firstLine()}}
		next.values, next.err = decode(d.text)
		count += max(1, len(next.values))
		documents = append(documents, next)
	}
	return documents, nil
}

// manifests returns the objects of a document, and adds its faults to found.
func (d decoded) manifests(found *faults) []Manifest {
	if d.err != nil {
		found.add(placed(d.where, d.err))
		return nil
	}
	var manifests []Manifest
	for i, value := range d.values {
		where := d.where
		where.Document += i
		if value != nil {
			manifests = append(manifests, unfold(value, where, nil, found)...)
		}
	}
	return manifests
}

// placed returns err as an *Error with this place. An *Error already has a place and stays as it is.
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

// unfold returns the manifests of a value: the value itself, or the items of a List. In a typed list, for example a
// ConfigMapList, items may lack apiVersion and kind; unfold then derives them from the list.
func unfold(value any, where Where, path fieldPath, found *faults) []Manifest {
	content, isMapping := value.(map[string]any)
	if !isMapping {
		found.add(placed(where, faultf(path, "is not a mapping with apiVersion, kind and metadata")))
		return nil
	}
	kind, _ := content["kind"].(string)
	items, hasItems := content["items"].([]any)
	if !strings.HasSuffix(kind, "List") || !hasItems {
		m, err := manifest(content, where, path)
		if err != nil {
			found.add(err)
			return nil
		}
		return []Manifest{m}
	}
	var manifests []Manifest
	for i, item := range items {
		if object, isMapping := item.(map[string]any); isMapping && kind != "List" {
			inherit(object, "apiVersion", content["apiVersion"])
			inherit(object, "kind", strings.TrimSuffix(kind, "List"))
		}
		manifests = append(manifests, unfold(item, where, path.key("items").index(i), found)...)
	}
	return manifests
}

func inherit(object map[string]any, key string, value any) {
	if _, said := object[key]; !said && value != nil {
		object[key] = value
	}
}

// manifest makes a Manifest from one object. It returns an error if a field that every object needs is missing or
// invalid, because the other functions of the package rely on these fields.
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
	case gv.Group == kustomizeGroup:
		return fail("apiVersion", "it is a file of kustomize and not a Kubernetes object: %s", wayOfKustomize)
	case object.GetAPIVersion() == "" || err != nil || gv.Version == "":
		return fail("apiVersion", "must be VERSION or GROUP/VERSION, as in apps/v1")
	case kind == "":
		return fail("kind", "is missing or is not a string")
	case name == "" && object.GetGenerateName() != "":
		return fail("metadata.generateName", "would make a new object at each push: give metadata.name instead")
	case name == "":
		return fail("metadata.name", "is missing or is not a string")
	}
	for _, field := range []string{"labels", "annotations"} {
		if key := notText(content, field); key != "" {
			return fail("metadata."+field, "%s is not a string: quote its value", key)
		}
	}
	if ns := fieldAt(content, "metadata", "namespace"); ns != nil {
		if _, isString := ns.(string); !isString {
			return fail("metadata.namespace", "is not a string")
		}
	}
	return Manifest{Where: where, Object: object}, nil
}

// notText returns the first key of metadata.<field> whose value is not a string, or the name of the field if its value
// is not a mapping. It returns "" if all values are strings.
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
