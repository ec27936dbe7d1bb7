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

// isStrategic reports whether Kubernetes defines a strategic merge for a kind. It does so for built-in kinds only: tags in their Go types name the
// merge keys of lists.
func isStrategic(gvk schema.GroupVersionKind) bool {
	return scheme.Scheme.Recognizes(gvk)
}

// merge merges patch into object and returns the result. It may change object, so the caller must use the result in its place. It does
// not change patch.
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
		// The library panics if the patch or the object has an unexpected form, and an author can write such a patch.
		if r := recover(); r != nil {
			merged, err = nil, fmt.Errorf("the strategic merge cannot read the patch: %v", r)
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
		return nil, fmt.Errorf("the strategic merge does not accept the patch: %w", err)
	}
	return merged, nil
}

// mergeJSON applies patch to object as a JSON merge patch (RFC 7386).
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

// directive returns the first key in value, at any depth, that is a directive of the strategic merge, for example $patch; "" if there is none. A
// JSON merge patch would write such a key into the object as a field.
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
