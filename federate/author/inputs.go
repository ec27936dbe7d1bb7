// SPDX-License-Identifier: Apache-2.0

package author

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Source is one file or stream of manifests.
type Source struct {
	// Name is what messages call it: the path, or "standard input".
	Name string
	Data []byte
	// Found reports whether the author named a folder and not this file. What is no Kubernetes object is
	// skipped there.
	Found bool
}

// Manifest is one object as it was found.
type Manifest struct {
	Where
	Object *unstructured.Unstructured
	// kubeFed is set where the object was unwrapped from one of KubeFed's.
	kubeFed *kubeFed
}

// Where says where something was found.
type Where struct {
	// Source is the name of the source, Document counts its documents from 1, Line is where the
	// document begins.
	Source         string
	Document, Line int
	// Object is "Kind name", empty where it is not known yet.
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

// Error is a fault in the input: where, in which field, what, and the way out.
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

// Note tells about something that is accepted, and may not be meant.
type Note struct {
	Where Where
	Text  string
}

// String is the note in one line.
func (n Note) String() string {
	if n.Where == (Where{}) {
		return n.Text
	}
	return n.Where.String() + ": " + n.Text
}

// fieldPath collects the way to a field while walking down to it.
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

// beginning is as much of a path as a person reads.
func (p fieldPath) beginning() fieldPath {
	const readable = 8
	if len(p) <= readable {
		return p
	}
	return append(p[:readable:readable], "…")
}

func (p fieldPath) String() string { return strings.Join(p, "") }
