// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

func TestAPushHasTimeUntilItsRecord(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		applied time.Time
		want    time.Duration
	}{
		"an apply just now":                          {now, unfinishedAfter},
		"an apply a while ago":                       {now.Add(-20 * time.Second), 10 * time.Second},
		"an apply exactly as long ago as is allowed": {now.Add(-unfinishedAfter), 0},
		"an apply of yesterday":                      {now.Add(-24 * time.Hour), 0},
		"an apply a little in the future":            {now.Add(unfinishedAfter), unfinishedAfter},
		"an apply far in the future":                 {now.Add(time.Hour), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pushTimeLeft(test.applied.Unix(), now); got != test.want {
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
			if got := isUnrecorded(&entry, &seen); got != test.want {
				t.Errorf("%t", got)
			}
		})
	}
}

// The manager has applied an object and has not recorded the apply. The collector waits for the record until
// unfinishedAfter, and then reports the object.
func TestAPushThatIsNotRecordedIsReportedAfterAWhile(t *testing.T) {
	const unfinished = `ConfigMap settings Progressing/Unfinished Changed by "fairlead" []`
	for name, test := range map[string]struct {
		// happens makes the writes of other clients after the push; the watch brings the result.
		happens func(*member)
		// askedBefore are the requests of the collector while the manager still has time to write the record. askedAfter are
		// its requests when that time is over. saysBefore and saysAfter are the status lines at these times.
		askedBefore, askedAfter []string
		saysBefore, saysAfter   string
	}{
		"and no other client writes": {
			happens:    func(*member) {},
			askedAfter: []string{"GET settings", "PATCH Delivery/status"}, saysAfter: unfinished,
		},
		"and another client writes other fields": {
			happens:    func(m *member) { m.patch("kubectl-edit", configMapsGVR, "settings", `{"data":{"other":"red"}}`) },
			askedAfter: []string{"GET settings", "PATCH Delivery/status"}, saysAfter: unfinished,
		},
		"and another client changes what it brought": {
			happens:    func(m *member) { m.patch("kubectl-edit", configMapsGVR, "settings", `{"data":{"color":"red"}}`) },
			askedAfter: []string{"GET settings", "PATCH Delivery/status"}, saysAfter: unfinished,
		},
		"and another client writes our annotation": {
			happens: func(m *member) {
				m.patch("kubectl-edit", configMapsGVR, "settings", `{"metadata":{"annotations":{"`+v1alpha1.AnnotationRendering+`":"x"}}}`)
			},
			askedBefore: []string{"GET settings", "PATCH Delivery/status"},
			saysBefore:  `ConfigMap settings Healthy/Drifted Changed by "kubectl-edit" []`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMember(t)
			u := m.unwatched()
			u.observer.now = u.clock.Now // use the test's clock as the member's clock; the API server runs by the real clock
			m.deliver("sha256:1", m.push(configMapsGVR, m.configMap("settings", "blue")))
			u.watchBrings("settings")
			u.watchBringsDelivery()
			look := func() []string {
				t.Helper()
				asked, err := u.lookOnce()
				if err != nil {
					t.Fatal(err)
				}
				return asked
			}
			says := func() string {
				if lines := m.delivery().Status.Objects; len(lines) > 0 {
					return lineText(&lines[0])
				}
				return ""
			}
			look()

			m.push(configMapsGVR, m.configMap("settings", "black"))
			test.happens(m)
			u.watchBrings("settings")
			if diff := cmp.Diff(test.askedBefore, look()); diff != "" {
				t.Errorf("at once: %s", diff)
			}
			if diff := cmp.Diff(test.saysBefore, says()); diff != "" {
				t.Errorf("at once: %s", diff)
			}
			if test.saysAfter == "" {
				return
			}
			u.passTime(unfinishedAfter)
			waitFor(t, 5*time.Second, func() string {
				if u.deliveries.looks.Len() == 0 {
					return "the Delivery does not come up again"
				}
				return ""
			})
			if diff := cmp.Diff(test.askedAfter, look()); diff != "" {
				t.Errorf("after a while: %s", diff)
			}
			if diff := cmp.Diff(test.saysAfter, says()); diff != "" {
				t.Errorf("after a while: %s", diff)
			}
			m.push(configMapsGVR, m.configMap("settings", "blue"))
			u.watchBrings("settings")
			u.watchBringsDelivery()
			u.clock.Step(publishEvery)
			look()
			if got := says(); got != "" {
				t.Errorf("after another apply, the status has the line %s", got)
			}
		})
	}
}
