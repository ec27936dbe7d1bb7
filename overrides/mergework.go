// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"math/bits"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/fairlead-dev/fairlead/overrides/jsonpatch"
)

// These are prefixes of keys that are directives of the strategic merge. After the prefix comes the name of the list that the directive sorts, or
// from which it deletes items.
const (
	orderDirective  = "$setElementOrder/"
	deleteDirective = "$deleteFromPrimitiveList/"
)

// perScan is the cost, in units, to compare the values of the merge key in two list items.
const perScan = 16

// takeMerge subtracts the cost of a strategic merge from the budget. It does so before the merge, because a running merge cannot be stopped. The
// cost is quadratic in the length of lists with a merge key.
//
// If a list in the patch has two items with the same value of the merge key, the library merges the second one into the result of the
// first. The lists in this result already have items of the patch. The parameter more is the greatest number of items that a list
// can have gained in this way.
func takeMerge(b *jsonpatch.Budget, object, patch map[string]any, schema strategicpatch.LookupPatchMeta, more int) error {
	for key := range patch {
		list := strings.TrimPrefix(strings.TrimPrefix(key, orderDirective), deleteDirective)
		switch v := patch[key].(type) {
		case map[string]any:
			below, _, err := schema.LookupPatchMetadataForStruct(key)
			if err != nil {
				continue // the merge itself reports the wrong type
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
	for _, item := range slices.Backward(there) { // backward: of several items with the same key, the merge uses the first
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

// countItems returns the number of list items in a value, at any depth.
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

// mergeWork returns the cost, in units, to merge two lists by a merge key. The parameter there is the length of the object's list, and
// patched is the length of the patch's list. The merge searches the object's list once for each item of the patch. Then it sorts the items
// of the patch. At each comparison of two items it searches the list for both of them again.
func mergeWork(there, patched int) int64 {
	all, own := int64(there+patched), int64(patched)
	return perScan * (all*all + own*own*int64(bits.Len(uint(patched))))
}
