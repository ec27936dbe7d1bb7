// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

func TestAPushHasTimeUntilItsRecord(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		applied time.Time
		want    time.Duration
	}{
		"an apply just now":                          {now, UnfinishedAfter},
		"an apply a while ago":                       {now.Add(-20 * time.Second), 10 * time.Second},
		"an apply exactly as long ago as is allowed": {now.Add(-UnfinishedAfter), 0},
		"an apply of yesterday":                      {now.Add(-24 * time.Hour), 0},
		"an apply a little in the future":            {now.Add(UnfinishedAfter), UnfinishedAfter},
		"an apply far in the future":                 {now.Add(time.Hour), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := PushTimeLeft(test.applied.Unix(), now); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestAnObjectIsUnrecordedWhereOurManagerWroteAnotherRendering(t *testing.T) {
	entry := v1alpha1.InventoryEntry{Kind: "ConfigMap", Name: "a", UID: "a", Rendering: "1"}
	for name, test := range map[string]struct {
		change func(*objectcache.Sighting)
		want   bool
	}{
		"another rendering of our manager":                     {change: func(*objectcache.Sighting) {}, want: true},
		"the recorded rendering":                               {change: func(s *objectcache.Sighting) { s.Record.Rendering = "1" }},
		"another rendering of another client":                  {change: func(s *objectcache.Sighting) { s.Record.Applied = 0 }},
		"another rendering of another object of the name":      {change: func(s *objectcache.Sighting) { s.Record.UID = "b" }},
		"another rendering of an object that is being deleted": {change: func(s *objectcache.Sighting) { s.Record.Deleting = true }},
		"no object": {change: func(s *objectcache.Sighting) { *s = objectcache.Sighting{} }},
	} {
		t.Run(name, func(t *testing.T) {
			seen := objectcache.Sighting{Found: true, Record: objectcache.Record{UID: "a", Rendering: "2", Applied: 1}}
			test.change(&seen)
			if got := IsUnrecorded(&entry, &seen); got != test.want {
				t.Errorf("%t", got)
			}
		})
	}
}
