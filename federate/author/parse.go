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

// The limits of input and output.
const (
	// MaxInput is the limit in bytes of all sources together, MaxOutput that of the wrappers made from them. Wrappers
	// around many small objects are longer than the objects.
	MaxInput  = 3 << 20
	MaxOutput = 12 << 20
	// MaxObjects and MaxBytes are the limits of one wrapper, as in the API.
	MaxObjects = 64
	MaxBytes   = 1 << 20
	// MaxDepth is how deep a document may be nested.
	MaxDepth = 100
)

// Parse reads the objects of all sources, in order. It unfolds lists and leaves out empty documents. Notes name the
// files that were left out. An error has all faults, a line each, and an *Error if the fault has a place. Parse also
// returns the objects without a fault, so that the caller can report problems with these too.
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

// maxNames is the highest number of files that a message names.
const maxNames = 5

// decoded is one document: its values, each numbered, or its error.
type decoded struct {
	where  Where
	values []any
	err    error
}

// decode reads the documents of a source.
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

// manifests are the objects of a document.
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

// placed adds its place to a fault.
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

// unfold returns the manifests of a value: the value itself, or the items of a List. Items of a typed list
// (ConfigMapList) may leave out the apiVersion and kind that the list implies.
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

// manifest checks the fields that every object must have. The rest of the package relies on them.
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
		return fail("apiVersion", "it is a file of kustomize and no object: %s", wayOfKustomize)
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

// notText returns the first key of metadata.<field> whose value is not a string, or the field itself if it is no
// mapping.
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
