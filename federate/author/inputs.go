// SPDX-License-Identifier: Apache-2.0

package author

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Source is one file or stream with manifests.
type Source struct {
	// Name is the name of the source in messages: the path of the file, or "standard input".
	Name string
	Data []byte
	// Found is true if the author named a folder and hostctl found the file in it. Parse skips such a file if it has no
	// Kubernetes object.
	Found bool
}

// Manifest is one object of the input.
type Manifest struct {
	Where
	Object *unstructured.Unstructured
	// kubeFed is set if the object comes from the template of a KubeFed object; otherwise nil.
	kubeFed *kubeFed
}

// Where is a place in the input.
type Where struct {
	// Source is the name of the source.
	Source string
	// Document is the number of the document in the source, from 1.
	// Line is the number of the line on which the document begins, from 1.
	Document, Line int
	// Object is the kind and name of the object, for example "ConfigMap web"; "" before they are read.
	Object string
}

// String returns the place for a message, for example "shop.yaml, document 2 (line 14), ConfigMap web".
func (w Where) String() string {
	s := fmt.Sprintf("%s, document %d (line %d)", w.Source, w.Document, w.Line)
	if w.Object != "" {
		s += ", " + w.Object
	}
	return s
}

// Error is a fault in the input: where it is, what is wrong, and what the author can do.
type Error struct {
	Where Where
	// Field is the path of the field, for example spec.template.spec.containers[0].image; "" for the whole document.
	Field string
	Text  string
}

// Error returns the fault in one line.
func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("reading %s: %s", e.Where, e.Text)
	}
	return fmt.Sprintf("reading %s: %s: %s", e.Where, e.Field, e.Text)
}

// Note is a remark about input that hostctl accepts, but that the author may not intend.
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

// fieldPath is the path of a field. A function that walks down an object appends each key or index.
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

// beginning returns the first eight parts of a path, so that a message about a deeply nested field stays readable.
func (p fieldPath) beginning() fieldPath {
	const readable = 8
	if len(p) <= readable {
		return p
	}
	return append(p[:readable:readable], "…")
}

func (p fieldPath) String() string { return strings.Join(p, "") }
