// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"math/bits"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/fairlead-dev/fairlead/overrides/jsonpatch"
)

// directives of the strategic merge that belong to a list of another key.
const (
	orderDirective  = "$setElementOrder/"
	deleteDirective = "$deleteFromPrimitiveList/"
)

// perScan is the work of comparing two items of a list that a strategic merge tells apart by a key.
const perScan = 16

// takeMerge takes from the budget what a strategic merge of patch into object is going to take: it is quadratic in
// the length of lists that have a merge key, and cannot be stopped once it has begun. more is how many items may have
// joined the lists of object by the time that patch reaches them, because a key of the patch is there twice.
func takeMerge(b *jsonpatch.Budget, object, patch map[string]any, schema strategicpatch.LookupPatchMeta, more int) error {
	for key := range patch {
		list := strings.TrimPrefix(strings.TrimPrefix(key, orderDirective), deleteDirective)
		switch v := patch[key].(type) {
		case map[string]any:
			below, _, err := schema.LookupPatchMetadataForStruct(key)
			if err != nil {
				continue // the merge itself says so
			}
			there, _ := object[key].(map[string]any)
			if err := takeMerge(b, there, v, below, more); err != nil {
				return err
			}
		case []any:
			below, meta, err := schema.LookupPatchMetadataForSlice(list)
			if err != nil || (list == key && !slices.Contains(meta.GetPatchStrategies(), "merge")) {
				continue
			}
			there, _ := object[list].([]any)
			if err := takeMergeOfLists(b, there, v, below, meta.GetPatchMergeKey(), more); err != nil {
				return err
			}
		}
	}
	return nil
}

func takeMergeOfLists(b *jsonpatch.Budget, there, patch []any, schema strategicpatch.LookupPatchMeta, mergeKey string, more int) error {
	if err := b.Take(mergeWork(len(there)+more, len(patch))); err != nil {
		return err
	}
	byKey := make(map[any]map[string]any, len(there))
	for _, item := range slices.Backward(there) { // the merge finds the first of a key
		if m, ok := item.(map[string]any); ok && isScalar(m[mergeKey]) {
			byKey[m[mergeKey]] = m
		}
	}
	joining := -1
	seen := make(map[any]struct{}, len(patch))
	for _, item := range patch {
		m, ok := item.(map[string]any)
		if !ok || !isScalar(m[mergeKey]) {
			continue
		}
		if _, twice := seen[m[mergeKey]]; twice && joining < 0 {
			joining = countItems(patch)
			more += joining
		}
		seen[m[mergeKey]] = struct{}{}
		if err := takeMerge(b, byKey[m[mergeKey]], m, schema, more); err != nil {
			return err
		}
	}
	return nil
}

// countItems is how many list items there are in a value, at any depth.
func countItems(value any) int {
	n := 0
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			n += countItems(v[key])
		}
	case []any:
		n = len(v)
		for i := range v {
			n += countItems(v[i])
		}
	}
	return n
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// mergeWork is what merging two lists by a key takes: each item is looked for among those that are there, item by
// item, and what the patch holds is sorted by looking up each place.
func mergeWork(there, patched int) int64 {
	all, own := int64(there+patched), int64(patched)
	return perScan * (all*all + own*own*int64(bits.Len(uint(patched))))
}
