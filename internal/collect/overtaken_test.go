// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/internal/collect/drift"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// unwatched is a Collector without watches and with a fixed clock. The test passes the events of the watches to it, and
// starts each pass.
type unwatched struct {
	*Collector
	m        *member
	clock    *clocktesting.FakeClock
	requests counter
	// The collector calls before with each request that it is about to send, and after with each request that it has sent.
	before, after func(*http.Request)
}

func (m *member) unwatched() *unwatched {
	m.t.Helper()
	nothing := func(*http.Request) {}
	u := &unwatched{m: m, clock: clocktesting.NewFakeClock(time.Now()), before: nothing, after: nothing}
	config := rest.CopyConfig(m.config)
	config.Wrap(u.requests.wrap)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			u.before(r)
			answer, err := next.RoundTrip(r)
			u.after(r)
			return answer, err
		})
	})
	c, err := New(Options{Config: config, Clock: u.clock})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(c.deliveries.looks.ShutDown)
	for _, r := range c.objects.cache.Keep([]schema.GroupResource{configMapsGVR.GroupResource()}) {
		r.SetVersion(configMapsGVR)
		r.Replace(map[types.NamespacedName]objectcache.Record{}, "1")
	}
	u.Collector = c
	return u
}

// passTime sets the test's clock to a time that is at least d later than all writes so far. It does not just move the clock by d: the API
// server dates writes by the real clock, which has gone on since the test's clock was set.
func (u *unwatched) passTime(d time.Duration) {
	latest := u.clock.Now()
	if now := time.Now(); now.After(latest) {
		latest = now
	}
	u.clock.SetTime(latest.Add(d))
}

// watchBrings passes the present state of a ConfigMap to the Collector, as an event of the watch.
func (u *unwatched) watchBrings(name string) {
	u.m.t.Helper()
	obj, err := u.m.client.Resource(configMapsGVR).Namespace(u.m.namespace).Get(u.m.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		u.m.t.Fatal(err)
	}
	about := &metav1.PartialObjectMetadata{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, about); err != nil {
		u.m.t.Fatal(err)
	}
	u.objects.cache.Put(u.m.refOf(name), objectcache.RecordOf(configMapsGVR.GroupResource(), about))
	u.deliveries.looks.Add(u.m.deliveryName())
}

// watchBringsDelivery passes the present state of the Delivery to the Collector, as an event of the watch.
func (u *unwatched) watchBringsDelivery() {
	u.m.t.Helper()
	u.deliveries.learn(u.m.delivery())
}

// lookOnce makes the Collector's next pass, as its workers do. It returns the requests and the error of the pass.
func (u *unwatched) lookOnce() ([]string, error) {
	u.m.t.Helper()
	if u.deliveries.looks.Len() == 0 {
		u.m.t.Fatal("the queue has no Delivery to judge now")
	}
	name, _ := u.deliveries.looks.Get()
	defer u.deliveries.looks.Done(name)
	err := u.observer.look(u.m.t.Context(), name)
	if err != nil {
		u.deliveries.looks.AddRateLimited(name)
	} else {
		u.deliveries.looks.Forget(name)
	}
	return u.m.asked(&u.requests), err
}

// Deliveries and objects come through different watches, so their events have no common order.
func TestARecordThatArrivesDuringAPassIsNotReportedAsDrift(t *testing.T) {
	tests := map[string]struct {
		// happens makes a push: it writes the object, and its record in the Delivery. Before the pass it gives the collector the event of
		// only one of the two, so the collector knows only that one. In u.after it sets an event that arrives during the pass.
		happens func(*member, *unwatched)
		asks    []string
		err     error
	}{
		"the object is known, the record is not": {
			happens: func(m *member, u *unwatched) {
				entry := m.push(configMapsGVR, m.configMap("settings", "black"))
				u.watchBrings("settings")
				m.deliver("sha256:2", entry)
			},
		},
		"the object is known for a while, the record is not": {
			happens: func(m *member, u *unwatched) {
				entry := m.push(configMapsGVR, m.configMap("settings", "black"))
				u.watchBrings("settings")
				u.passTime(drift.UnfinishedAfter)
				m.deliver("sha256:2", entry)
			},
			asks: []string{"GET settings", "PATCH Delivery/status", "GET Delivery"},
			err:  errOvertaken,
		},
		"the object is known for a while, the record comes while that is read": {
			happens: func(m *member, u *unwatched) {
				u.passTime(drift.UnfinishedAfter)
				entry := m.push(configMapsGVR, m.configMap("settings", "black"))
				u.watchBrings("settings")
				u.after = func(r *http.Request) {
					if r.Method == http.MethodGet {
						m.deliver("sha256:2", entry)
						u.watchBringsDelivery()
					}
				}
			},
			asks: []string{"GET settings"},
		},
		"the record is known, the object is not": {
			happens: func(m *member, u *unwatched) {
				m.deliver("sha256:2", m.push(configMapsGVR, m.configMap("settings", "black")))
				u.watchBringsDelivery()
			},
		},
		"the record is known, the object is not, and was pushed a while ago": {
			happens: func(m *member, u *unwatched) {
				m.deliver("sha256:2", m.push(configMapsGVR, m.configMap("settings", "black")))
				u.passTime(drift.UnfinishedAfter)
				u.watchBringsDelivery()
			},
			asks: []string{"GET settings"},
		},
		"the record of another one is known, the object is not": {
			happens: func(m *member, u *unwatched) {
				m.remove(configMapsGVR, "settings")
				m.deliver("sha256:2", m.push(configMapsGVR, m.configMap("settings", "blue")))
				u.watchBringsDelivery()
			},
			asks: []string{"GET settings"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMember(t)
			u := m.unwatched()
			u.observer.now = u.clock.Now // use the test's clock as the member's clock; the API server runs by the real clock
			m.deliver("sha256:1", m.push(configMapsGVR, m.configMap("settings", "blue")))
			u.watchBrings("settings")
			u.watchBringsDelivery()
			if asked, err := u.lookOnce(); len(asked) > 0 || err != nil {
				t.Fatalf("nothing has drifted, and the collector sent %q: %v", asked, err)
			}

			test.happens(m, u)
			asked, err := u.lookOnce()
			if diff := cmp.Diff(test.asks, asked); diff != "" || !errors.Is(err, test.err) {
				t.Errorf("%v: %s", err, diff)
			}
			if u.deliveries.looks.Len() > 0 { // a newer event has queued the Delivery again
				if asked, err := u.lookOnce(); len(asked) > 0 || err != nil {
					t.Errorf("all events have arrived, and the collector sent %q: %v", asked, err)
				}
			} else if test.err != nil {
				t.Error("the Delivery changed during the pass, and is not queued again")
			}
			if lines := m.delivery().Status.Objects; len(lines) > 0 {
				t.Errorf("the status has the line %s", lineText(&lines[0]))
			}
		})
	}
}

// A member may refuse every patch. The collector must pause between its tries, because it may run inside the manager.
func TestRepeatedWriteConflictsAreSpacedOut(t *testing.T) {
	m := newMember(t)
	u := m.unwatched()
	entry := m.push(configMapsGVR, m.configMap("settings", "blue"))
	m.deliver("sha256:0", entry)
	u.watchBringsDelivery()
	m.patch("kubectl-edit", configMapsGVR, "settings", `{"data":{"color":"red"}}`)
	u.watchBrings("settings")
	version := "sha256:"
	u.before = func(r *http.Request) {
		if r.Method == http.MethodPatch {
			version += "x"
			m.deliver(version, entry)
		}
	}
	for _, want := range [][]string{
		{"GET settings", "PATCH Delivery/status", "GET Delivery"},
		{"GET settings", "PATCH Delivery/status"},
	} {
		asked, err := u.lookOnce()
		if diff := cmp.Diff(want, asked); diff != "" || !errors.Is(err, errOvertaken) {
			t.Errorf("%v: %s", err, diff)
		}
	}
	if u.deliveries.looks.Len() > 0 {
		t.Error("the Delivery is judged a third time at once")
	}

	u.before = func(*http.Request) {}
	u.clock.Step(publishEvery) // the watch brings no event
	u.deliveries.looks.Add(m.deliveryName())
	for range 2 {
		if asked, err := u.lookOnce(); err != nil && !errors.Is(err, errOvertaken) {
			t.Errorf("%q: %v", asked, err)
		}
	}
	m.waitForStatus(time.Second, `ConfigMap settings Healthy/Drifted Changed by "kubectl-edit" [.data.color]`)
}
