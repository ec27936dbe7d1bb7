// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/drift"
)

// The manager has applied an object and has not recorded the apply. The collector waits for the record until
// drift.UnfinishedAfter, and then reports the object.
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
			u.passTime(drift.UnfinishedAfter)
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
