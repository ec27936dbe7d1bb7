// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Null is a null in an object.
type Null struct {
	// Field is its place, as in spec.list[0].size.
	Field *field.Path
	// Parent is the mapping that holds it under Key; nil where a list holds it.
	Parent map[string]any
	Key    string
	// Within is the key of Parent itself, "" at the top and in a list.
	Within string
}

// Nulls finds the nulls in an object below a path, which is nil for the object by itself, in the order of the keys.
// The creationTimestamp that Go programs print as null does no harm anywhere and does not count.
func Nulls(object map[string]any, at *field.Path) []Null {
	return nullsIn(object, at, "")
}

func nullsIn(mapping map[string]any, at *field.Path, within string) []Null {
	var found []Null
	for _, key := range slices.Sorted(maps.Keys(mapping)) {
		child := childOf(at, key)
		switch value := mapping[key].(type) {
		case nil:
			if key != "creationTimestamp" {
				found = append(found, Null{Field: child, Parent: mapping, Key: key, Within: within})
			}
		case map[string]any:
			found = append(found, nullsIn(value, child, key)...)
		case []any:
			found = append(found, nullsInList(value, child)...)
		}
	}
	return found
}

func nullsInList(list []any, at *field.Path) []Null {
	var found []Null
	for i := range list {
		child := at.Index(i)
		switch value := list[i].(type) {
		case nil:
			found = append(found, Null{Field: child})
		case map[string]any:
			found = append(found, nullsIn(value, child, "")...)
		case []any:
			found = append(found, nullsInList(value, child)...)
		}
	}
	return found
}

// childOf is the path of a key: data["a.b"] where the key would not read as one word.
func childOf(at *field.Path, key string) *field.Path {
	if strings.ContainsAny(key, "./[]\" ") || key == "" {
		if at == nil {
			return field.NewPath("").Key(key)
		}
		return at.Key(key)
	}
	if at == nil {
		return field.NewPath(key)
	}
	return at.Child(key)
}

// maxNulls bounds how many nulls of one wrapper Warnings tells one by one.
const maxNulls = 5

// Warnings says what a member may refuse although the host takes it: nulls in the objects of a spec. Objects that
// cannot be read are Validate's to tell.
func Warnings(spec *v1alpha1.WrapperSpec) []string {
	var warnings []string
	count := 0
	for i := range spec.Objects {
		object, err := Decode(spec.Objects[i])
		if err != nil {
			continue
		}
		for _, null := range Nulls(object.Object, field.NewPath("spec", "objects").Index(i)) {
			if count++; count <= maxNulls {
				warnings = append(warnings, fmt.Sprintf("%s of %s %s is null: take it out, members refuse null where a field is not nullable",
					null.Field, object.GetKind(), object.GetName()))
			}
		}
	}
	if count > maxNulls {
		warnings = append(warnings, fmt.Sprintf("%d more fields of spec.objects are null; `hostctl federate` leaves them out", count-maxNulls))
	}
	return warnings
}
