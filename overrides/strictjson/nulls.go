// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Null is one null in an object.
type Null struct {
	// Field is the path of the null, for example spec.list[0].size.
	Field *field.Path
	// Parent is the map in which Key has the value null; nil if the null is an item of a list.
	Parent map[string]any
	// Key is the null's key in Parent; "" if the null is an item of a list.
	Key string
	// Within is the key that Parent itself has; "" if Parent is the object or an item of a list.
	Within string
}

// Nulls returns the nulls in an object, sorted by key. The paths of the nulls begin with the parameter at, the path of the object. If at is
// nil, they begin with a key of the object. Nulls leaves creationTimestamps out: many Go programs print them as null, and no member refuses
// that.
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

// childOf returns the path of a key below at. It quotes a key with special characters: data["a.b"].
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
