// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme" //nolint:depguard // types only: they define the strategic merge

	"github.com/fairlead-dev/fairlead/overrides/jsonpatch"
)

// isStrategic reports whether a kind has a strategic merge. Only built-in kinds have one, because their Go types name
// the merge keys of lists.
func isStrategic(gvk schema.GroupVersionKind) bool {
	return scheme.Scheme.Recognizes(gvk)
}

// merge merges patch into an object and returns the result. It consumes the object, and leaves patch unchanged.
func merge(object map[string]any, gvk schema.GroupVersionKind, patch map[string]any, b *jsonpatch.Budget) (merged map[string]any, err error) {
	if err := b.Write(jsonpatch.Size(patch)); err != nil {
		return nil, err
	}
	patch = runtime.DeepCopyJSON(patch)
	if !isStrategic(gvk) {
		return mergeJSON(object, patch), nil
	}
	typed, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("finding the merge keys of %s: %w", gvk.Kind, err)
	}
	defer func() {
		// The strategic merge expects input that fits the kind, and an author's input may not fit.
		if r := recover(); r != nil {
			merged, err = nil, fmt.Errorf("the strategic merge cannot read it: %v", r)
		}
	}()
	tags, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, fmt.Errorf("finding the merge keys of %s: %w", gvk.Kind, err)
	}
	if err := takeMerge(b, object, patch, tags, 0); err != nil {
		return nil, err
	}
	merged, err = strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(object, patch, tags)
	if err != nil {
		return nil, fmt.Errorf("the strategic merge does not accept it: %w", err)
	}
	return merged, nil
}

// mergeJSON applies a JSON merge patch (RFC 7386) to an object.
func mergeJSON(object, patch map[string]any) map[string]any {
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(object, key)
		case map[string]any:
			below, ok := object[key].(map[string]any)
			if !ok {
				below = make(map[string]any, len(v))
			}
			object[key] = mergeJSON(below, v)
		default:
			object[key] = v
		}
	}
	return object
}

// directive returns the key of a directive of the strategic merge in a value, "" if there is none. In a JSON merge
// patch the directive would become a field of the object.
func directive(value any) string {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			if key == "$patch" || key == "$retainKeys" ||
				strings.HasPrefix(key, "$setElementOrder/") || strings.HasPrefix(key, "$deleteFromPrimitiveList/") {
				return key
			}
			if found := directive(v[key]); found != "" {
				return found
			}
		}
	case []any:
		for i := range v {
			if found := directive(v[i]); found != "" {
				return found
			}
		}
	}
	return ""
}
