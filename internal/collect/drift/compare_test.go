// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

func TestAnObjectIsComparedWithItsEntry(t *testing.T) {
	entry := v1alpha1.InventoryEntry{Kind: "ConfigMap", Name: "a", UID: "a", Rendering: "1", Fields: "f"}
	for name, test := range map[string]struct {
		change       func(*objectcache.Sighting)
		want         v1alpha1.DriftKind
		wantIdentity string
	}{
		"the object is as the manager applied it":        {change: func(*objectcache.Sighting) {}},
		"the object is gone":                             {func(s *objectcache.Sighting) { *s = objectcache.Sighting{} }, v1alpha1.DriftGone, "a"},
		"another object has the name":                    {func(s *objectcache.Sighting) { s.Record.UID = "b" }, v1alpha1.DriftReplaced, "7"},
		"another object has the name, and is deleted":    {func(s *objectcache.Sighting) { s.Record.UID, s.Record.Deleting = "b", true }, v1alpha1.DriftReplaced, "7"},
		"the digest of the rendering differs":            {func(s *objectcache.Sighting) { s.Record.Rendering = "2" }, v1alpha1.DriftChanged, "7"},
		"a field of ours was written":                    {func(s *objectcache.Sighting) { s.Record.Fields = "g" }, v1alpha1.DriftChanged, "7"},
		"a field of ours was written during a deletion":  {change: func(s *objectcache.Sighting) { s.Record.Fields, s.Record.Deleting = "g", true }},
		"a claim was expanded, and nothing else changed": {change: func(s *objectcache.Sighting) { s.Record.Fields, s.Record.Lent = "g", "f" }},
	} {
		t.Run(name, func(t *testing.T) {
			seen := objectcache.Sighting{Found: true, Record: objectcache.Record{UID: "a", ResourceVersion: "7", Rendering: "1", Fields: "f"}}
			test.change(&seen)
			got := suspect(&entry, &seen)
			if got != test.want {
				t.Fatalf("%q, want %q", got, test.want)
			}
			if got == "" {
				return
			}
			if is := identity(got, &entry, &seen.Record); is != test.wantIdentity {
				t.Errorf("the drift has identity %q, want %q", is, test.wantIdentity)
			}
		})
	}
}
