// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Null is a null in an object.
type Null struct {
	// Field is its place: spec.list[0].size.
	Field *field.Path
	// Parent is the mapping that holds it under Key; nil if a list holds it.
	Parent map[string]any
	Key    string
	// Within is the key of Parent itself; "" at the top and in a list.
	Within string
}

// Nulls returns the nulls in an object, in the order of the keys. at is the path of the object; nil means that paths
// begin at the object. Nulls leaves out the creationTimestamp that Go programs print as null, because it is harmless.
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

// childOf is the path of a key: data["a.b"] for a key with special characters.
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
