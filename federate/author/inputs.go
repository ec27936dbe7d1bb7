// SPDX-License-Identifier: Apache-2.0

package author

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Source is one file or stream of manifests.
type Source struct {
	// Name is the name in messages: the path, or "standard input".
	Name string
	Data []byte
	// Found is true if the author named the folder and not this file. Parse skips such a file if it holds no Kubernetes
	// object.
	Found bool
}

// Manifest is one object of the input.
type Manifest struct {
	Where
	Object *unstructured.Unstructured
	// kubeFed is set if the object was unwrapped from an object of KubeFed.
	kubeFed *kubeFed
}

// Where is a place in the input.
type Where struct {
	// Source is the name of the source, Document counts its documents from 1, Line is where the
	// document begins.
	Source         string
	Document, Line int
	// Object is "Kind name"; empty if it is not known yet.
	Object string
}

// String is as in "shop.yaml, document 2 (line 14), ConfigMap web".
func (w Where) String() string {
	s := fmt.Sprintf("%s, document %d (line %d)", w.Source, w.Document, w.Line)
	if w.Object != "" {
		s += ", " + w.Object
	}
	return s
}

// Error is a fault in the input: the place, the field, the cause and the remedy.
type Error struct {
	Where Where
	// Field is a path as in spec.template.spec.containers[0].image, empty for the whole document.
	Field string
	Text  string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("reading %s: %s", e.Where, e.Text)
	}
	return fmt.Sprintf("reading %s: %s: %s", e.Where, e.Field, e.Text)
}

// Note is about input that is accepted, but that the author may not intend.
type Note struct {
	Where Where
	Text  string
}

// String returns the note in one line.
func (n Note) String() string {
	if n.Where == (Where{}) {
		return n.Text
	}
	return n.Where.String() + ": " + n.Text
}

// fieldPath is the path of a field, built while walking down to it.
type fieldPath []string

func (p fieldPath) key(name string) fieldPath {
	if strings.ContainsAny(name, "./[]' ") || name == "" {
		return append(p[:len(p):len(p)], fmt.Sprintf("[%q]", name))
	}
	if len(p) > 0 {
		name = "." + name
	}
	return append(p[:len(p):len(p)], name)
}

func (p fieldPath) index(i int) fieldPath {
	return append(p[:len(p):len(p)], fmt.Sprintf("[%d]", i))
}

// beginning is the first part of a path, short enough to read.
func (p fieldPath) beginning() fieldPath {
	const readable = 8
	if len(p) <= readable {
		return p
	}
	return append(p[:readable:readable], "…")
}

func (p fieldPath) String() string { return strings.Join(p, "") }
