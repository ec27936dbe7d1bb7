// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// inventoryOf returns an inventory of ConfigMaps with these renderings, all of them Applied.
func inventoryOf(renderings ...string) []v1alpha1.InventoryEntry {
	var all []v1alpha1.InventoryEntry
	for i, r := range renderings {
		all = append(all, v1alpha1.InventoryEntry{Resource: "configmaps", Kind: "ConfigMap", Name: fmt.Sprint("c", i), State: v1alpha1.EntryApplied,
			Rendering: r, UID: types.UID(fmt.Sprint("u", i)), Fields: "f"})
	}
	return all
}

func TestAFingerprintShowsWhichEntriesARenderingChanges(t *testing.T) {
	is := fingerprintOf(inventoryOf("1", "2", "3"))
	if len(is) != 80 {
		t.Errorf("three entries take %d bytes", len(is))
	}
	insert := func(at int, more ...string) func([]v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry {
		return func(all []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry {
			added := inventoryOf(more...)
			for i := range added {
				added[i].Name = "new" + added[i].Name
			}
			return slices.Insert(all, at, added...)
		}
	}
	for name, test := range map[string]struct {
		change  func([]v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry
		want    Difference
		unknown bool
	}{
		"the same":       {change: slices.Clone[[]v1alpha1.InventoryEntry]},
		"two others":     {change: func([]v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry { return inventoryOf("4", "2", "1") }, want: Difference{Changed: []int{0, 2}}},
		"one more":       {change: insert(3, "4"), want: Difference{Added: 3, AddedEnd: 4}},
		"one more first": {change: insert(0, "4"), want: Difference{Added: 0, AddedEnd: 1}},
		"two more amid":  {change: insert(1, "4", "5"), want: Difference{Added: 1, AddedEnd: 3}},
		"one more, and others around it": {change: func([]v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry {
			return insert(1, "4")(inventoryOf("9", "2", "8"))
		},
			want: Difference{Added: 1, AddedEnd: 2, Changed: []int{0, 3}}},
		"new ones at two places": {change: func(all []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry {
			return insert(0, "4")(insert(3, "5", "6")(all))
		}, unknown: true},
		"one in place of another": {change: func(all []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry { return insert(2, "4")(all[:2]) }, unknown: true},
		"too many more":           {change: insert(3, make([]string, 14)...), unknown: true},
		"one less":                {change: func(all []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry { return all[:2] }, unknown: true},
		"none":                    {change: func([]v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry { return nil }, unknown: true},
		"another order":           {change: func(all []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry { slices.Reverse(all); return all }, unknown: true},
		"another name":            {change: func(all []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry { all[1].Name = "x"; return all }, unknown: true},
		"another plural":          {change: func(all []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry { all[1].Resource = "x"; return all }, unknown: true},
		"a letter that moved from one name to the next": {change: func(all []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry {
			all[1].Kind, all[1].Name = "ConfigMapc", "1"
			return all
		}, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := is.Compare(test.change(inventoryOf("1", "2", "3")))
			if diff := cmp.Diff(test.want, got); diff != "" || ok == test.unknown {
				t.Errorf("known %v (-want +got):\n%s", ok, diff)
			}
		})
	}
	if _, ok := Fingerprint("").Compare(nil); ok {
		t.Error("an empty fingerprint matches an inventory")
	}
}

func TestAnInventoryThatHasToBeReadHasNoFingerprint(t *testing.T) {
	for name, change := range map[string]func([]v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry{
		"no entry": func([]v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry { return nil },
		"too many": func([]v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry { return inventoryOf(make([]string, 17)...) },
		"one is adopted": func(all []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry {
			all[1].Adopted = v1alpha1.AdoptedYes
			return all
		},
		"one is pending": func(all []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry {
			all[1].State = v1alpha1.EntryPending
			return all
		},
		"one has no uid": func(all []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry { all[1].UID = ""; return all },
		"one is being removed": func(all []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry {
			all[1].State = v1alpha1.EntryRemoving
			return all
		},
	} {
		if is := fingerprintOf(change(inventoryOf("1", "2"))); is != "" {
			t.Errorf("%s: %x", name, is)
		}
	}
}

func TestAFingerprintHasTheUIDOfEachEntry(t *testing.T) {
	all := inventoryOf("1", "2", "3", "4", "5")
	want := []types.UID{"5f0e8a6c-2c4b-4d0f-9a3e-0123456789ab", "", "", "", "00000000-0000-0000-0000-000000000001"}
	for i, uid := range []types.UID{want[0], "no UUID", "5F0E8A6C-2C4B-4D0F-9A3E-0123456789AB", "5f0e8a6c2c4b4d0f9a3e0123456789ab", want[4]} {
		all[i].UID = uid
	}
	is := fingerprintOf(all)
	for i := range all {
		if got := is.UID(i); got != want[i] {
			t.Errorf("entry %d has uid %q, want %q", i, got, want[i])
		}
	}
	for _, i := range []int{-1, 5} {
		if got := is.UID(i); got != "" {
			t.Errorf("an entry that is not there has uid %q", got)
		}
	}
}
