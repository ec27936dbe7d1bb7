// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"maps"
	"slices"
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestTheOrderOfRemovalIsDeterministic(t *testing.T) {
	var want []string
	for range 50 {
		listed := make(map[string]*Removal) // the iteration over a map has a random order
		for _, group := range []string{"a.example.com", "b.example.com", "c.example.com", "d.example.com"} {
			listed[group] = &Removal{Entry: v1alpha1.InventoryEntry{Group: group, Kind: "Cluster", Name: "x"}}
		}
		all := slices.Collect(maps.Values(listed))
		Sort(all)
		var got []string
		for _, r := range all {
			got = append(got, r.Entry.Group)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(want, got) {
			t.Fatalf("once %v, then %v", want, got)
		}
	}
}
