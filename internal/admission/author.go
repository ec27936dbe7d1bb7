// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// author returns the value that the wrapper's annotation AnnotationAuthor must have; "" means that the wrapper must not
// have the annotation.
//
// If the request changes the content of the wrapper (see content), the value names the user of the request. A value that
// this user wrote into the annotation does not count. If the request changes only something else, such as a label, the
// placement or a finalizer, the annotation keeps its earlier value.
func (m mutation) author(kind v1alpha1.WrapperKind, q *question, wrapper *judged) string {
	old := q.old()
	if old != nil && bytes.Equal(old.Spec, wrapper.Spec) {
		return old.Metadata.Annotations[v1alpha1.AnnotationAuthor]
	}
	present, ok := wrapper.content()
	if !ok {
		return "" // the API server's schema or the validating webhook refuses this spec
	}
	if old != nil {
		if before, ok := old.content(); ok && bytes.Equal(before.Data, present.Data) {
			return old.Metadata.Annotations[v1alpha1.AnnotationAuthor]
		}
	}
	name := types.NamespacedName{Namespace: q.Namespace, Name: wrapper.Metadata.Name}
	return m.history.Attest(kind, name, present, plain.User(q.UserInfo.Username))
}

// content returns the part of the spec that makes a revision: the objects, the overrides and the upgrade. It returns false
// if it cannot decode the spec.
func (j *judged) content() (revision.Revision, bool) {
	spec, err := j.spec()
	if err != nil {
		return revision.Revision{}, false
	}
	content, err := revision.Of(spec)
	return content, err == nil
}

// patchOperation is an operation of a JSON patch.
type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// annotate returns the patch operations that set an annotation to value, or remove the annotation if value is "".
func annotate(annotations map[string]string, key, value string) []patchOperation {
	path := "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	is, there := annotations[key]
	switch {
	case there && value == "":
		return []patchOperation{{Op: "remove", Path: path}}
	case is == value:
		return nil
	case len(annotations) == 0: // metadata.annotations may not exist, and then the API server refuses a path below it
		return []patchOperation{{Op: "add", Path: "/metadata/annotations", Value: map[string]string{key: value}}}
	default:
		return []patchOperation{{Op: "add", Path: path, Value: value}}
	}
}

func mustJSON(patch []patchOperation) []byte {
	data, err := json.Marshal(patch)
	if err != nil {
		panic(err) // strings, and lists and maps of strings, can always be encoded
	}
	return data
}
