// SPDX-License-Identifier: Apache-2.0

package author

import (
	"maps"
	"slices"
)

// The functions below accept any values, because an input may contain anything. In a value that is not a mapping they
// find no fields.

func fieldAt(m map[string]any, path ...string) any {
	if len(path) == 0 {
		return m
	}
	for _, key := range path[:len(path)-1] {
		m, _ = m[key].(map[string]any)
	}
	return m[path[len(path)-1]]
}

func mapAt(m map[string]any, path ...string) map[string]any {
	value, _ := fieldAt(m, path...).(map[string]any)
	return value
}

func textAt(m map[string]any, path ...string) string {
	value, _ := fieldAt(m, path...).(string)
	return value
}

// mapsAt returns the mappings in the list at path. It leaves out other items.
func mapsAt(m map[string]any, path ...string) []map[string]any {
	list, _ := fieldAt(m, path...).([]any)
	var found []map[string]any
	for _, item := range list {
		if mapping, isMapping := item.(map[string]any); isMapping {
			found = append(found, mapping)
		}
	}
	return found
}

// remove removes the field at path, and reports whether it existed.
func remove(m map[string]any, path ...string) bool {
	parent := mapAt(m, path[:len(path)-1]...)
	_, found := parent[path[len(path)-1]]
	delete(parent, path[len(path)-1])
	return found
}

// removeIf removes the matching keys from the mapping at path. If the mapping is then empty, removeIf removes it too.
func removeIf(m map[string]any, matches func(key string) bool, path ...string) {
	mapping := mapAt(m, path...)
	before := len(mapping)
	maps.DeleteFunc(mapping, func(key string, _ any) bool { return matches(key) })
	if before > 0 && len(mapping) == 0 {
		remove(m, path...)
	}
}

// filterList removes the items of the list at path for which keep returns false. If the list is then empty, filterList
// removes it too. It returns the number of removed items.
func filterList(m map[string]any, keep func(item map[string]any) bool, path ...string) int {
	list, isList := fieldAt(m, path...).([]any)
	if !isList {
		return 0
	}
	kept := make([]any, 0, len(list))
	for _, item := range list {
		mapping, isMapping := item.(map[string]any)
		if !isMapping || keep(mapping) {
			kept = append(kept, item)
		}
	}
	dropped := len(list) - len(kept)
	switch {
	case dropped == 0:
	case len(kept) == 0:
		remove(m, path...)
	default:
		mapAt(m, path[:len(path)-1]...)[path[len(path)-1]] = kept
	}
	return dropped
}

func sortedKeys(m map[string]any) []string {
	return slices.Sorted(maps.Keys(m))
}

func oneOf(keys ...string) func(string) bool {
	return func(key string) bool { return slices.Contains(keys, key) }
}
