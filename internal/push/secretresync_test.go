// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// These values are copies of the constants in package plan.
const (
	resyncInterval = 10 * time.Minute
	resyncGap      = 100 * time.Millisecond
)

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// clockedSite is a site whose pusher has a clock that the test moves.
type clockedSite struct {
	*site
	*Pusher
	fake *clocktesting.FakeClock
}

func engageAt(s *site, now time.Time) *clockedSite {
	s.Helper()
	h := &clockedSite{site: s, fake: clocktesting.NewFakeClock(now)}
	h.Pusher = New(member.NewFleet(member.Host{}, h.fake), deliveries.NewStore(h.fake), h.fake, Host{}, func(Key) {})
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan struct{})
	s.Cleanup(func() { cancel(); <-ended })
	go func() { defer close(ended); _ = h.Start(ctx) }()
	if err := h.Engage(ctx, "east", s.conn); err != nil {
		s.Fatal(err)
	}
	h.probed("east", member.ProbeResult{}, usable)
	return h
}

func (h *clockedSite) serve(w *Desired) {
	h.Helper()
	h.SetDesired("east", w)
	h.await("the pair is served", func(context.Context) bool { return h.Pair(KeyOf(h.wrapper), "east").Holds })
}

// stepUntil moves the clock forward in steps until the condition holds.
func (h *clockedSite) stepUntil(step time.Duration, what string, is func() bool) {
	h.Helper()
	h.await(what, func(context.Context) bool {
		h.fake.Step(step)
		return is()
	})
}

// asked returns the requests about Secrets that the member has got so far.
func (s *site) asked() (all []string) {
	for _, r := range s.wire.all() {
		if strings.Contains(r, " secrets/") {
			all = append(all, r)
		}
	}
	return all
}

func secret(name, data string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s}, %s}", name, data)
}

func (s *site) password(name string) string {
	s.Helper()
	u := s.get("v1", "Secret", name)
	if u == nil {
		return ""
	}
	got, _, _ := unstructured.NestedString(u.Object, "data", "p")
	return got
}

func TestTheManagerRepairsASecretThatAnotherClientChanged(t *testing.T) {
	const wanted, other = "MQ==", "Mg=="
	spoil := func(s *site) {
		s.edit("v1", "Secret", "a", "admin", func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, other, "data", "p")
		})
	}
	for name, test := range map[string]struct {
		data      string
		meanwhile func(*site)
	}{
		"data":                  {`data: {p: "MQ=="}`, spoil},
		"written as stringData": {`stringData: {p: "1"}`, spoil},
		"a deleted Secret":      {`data: {p: "MQ=="}`, func(s *site) { s.delete("v1", "Secret", "a") }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			h := engageAt(s, midnight)
			h.serve(s.want(secret("a", test.data), configMap("b", "1")))
			test.meanwhile(s)
			h.stepUntil(time.Minute, "the Secret is repaired", func() bool { return s.password("a") == wanted })
			if passed := h.fake.Since(midnight); passed < time.Minute {
				t.Errorf("after %s", passed)
			}
		})
	}
}

func TestACheckOfAnUnchangedSecretWritesNothing(t *testing.T) {
	s := newSite(t)
	h := engageAt(s, midnight)
	h.serve(s.want(secret("a", `data: {p: "MQ=="}`), configMap("b", "1")))
	s.wire.begin(nil)
	h.stepUntil(time.Minute, "the Secret was checked three times", func() bool { return len(s.asked()) >= 3 })
	if diff := cmp.Diff([]string{"GET secrets/a", "GET secrets/a", "GET secrets/a"}, s.asked()[:3]); diff != "" || len(s.wire.writes()) > 0 {
		t.Errorf("asked (-want +got):\n%s\nwrites: %v", diff, s.wire.writes())
	}

	// A manager that has just started does not know the Secret's resourceVersion, and so applies the Secret once. That
	// changes nothing on the member.
	version := s.get("v1", "Secret", "a").GetResourceVersion()
	s.connect(config)
	h = engageAt(s, midnight)
	h.serve(s.want(secret("a", `data: {p: "MQ=="}`), configMap("b", "1")))
	h.stepUntil(time.Minute, "the Secret was checked three times", func() bool { return len(s.asked()) >= 3 })
	if diff := cmp.Diff([]string{"PATCH secrets/a", "GET secrets/a", "GET secrets/a"}, s.asked()[:3]); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if got := s.get("v1", "Secret", "a").GetResourceVersion(); got != version || !slices.Equal(s.wire.writes(), []string{"PATCH secrets/a"}) {
		t.Errorf("resourceVersion %s, was %s; writes %v", got, version, s.wire.writes())
	}
}

func TestTheManagerDoesNotCheckSecretsThatItMustNotRepair(t *testing.T) {
	report, suspended := func(w *Desired) { w.Drift = v1alpha1.DriftReport }, func(w *Desired) { w.Suspended = true }
	for name, change := range map[string]func(*Desired){"of a pair with drift: Report": report, "of a pair that is suspended": suspended} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			h := engageAt(s, midnight)
			w := s.want(secret("a", `data: {p: "MQ=="}`))
			h.serve(w)
			other := *w
			change(&other)
			h.SetDesired("east", &other)
			s.wire.begin(nil)
			// Meanwhile the manager checks the Secret of another pair.
			beside := *s
			beside.wrapper.Name, beside.wrapper.UID = "beside", s.wrapper.UID+"-beside"
			h.SetDesired("east", beside.want(secret("b", `data: {p: "MQ=="}`)))
			h.stepUntil(time.Minute, "the other Secret was checked", func() bool {
				return slices.Contains(s.asked(), "GET secrets/b") && h.fake.Since(midnight) > 2*resyncInterval
			})
			for _, r := range s.asked() {
				if strings.HasSuffix(r, "/a") {
					t.Error(r)
				}
			}
		})
	}
}

// Fifteen Secrets of each of two pairs are due at the same time, as after a long outage of the connection.
func TestTheManagerChecksTenSecretsASecondOverAllPairs(t *testing.T) {
	s := newSite(t)
	beside := *s
	beside.wrapper.Name, beside.wrapper.UID = "beside", s.wrapper.UID+"-beside"
	var mine, theirs []string
	for i := range 15 {
		mine = append(mine, secret(fmt.Sprint("m", i), `data: {p: "MQ=="}`))
		theirs = append(theirs, secret(fmt.Sprint("t", i), `data: {p: "MQ=="}`))
	}
	h := engageAt(s, midnight)
	h.serve(s.want(mine...))
	(&clockedSite{site: &beside, Pusher: h.Pusher}).serve(beside.want(theirs...))
	s.wire.begin(nil)
	h.fake.Step(time.Hour)
	hour := h.fake.Now()
	h.stepUntil(20*time.Millisecond, "all Secrets were checked", func() bool {
		checks, most := len(s.asked()), 1+int(h.fake.Since(hour)/resyncGap)
		if checks > most {
			t.Fatalf("%d checks within %s", checks, h.fake.Since(hour))
		}
		return checks == 30
	})
}

func TestTheScheduleDropsTheSecretsOfAPairThatEnds(t *testing.T) {
	for name, end := range map[string]func(*bench){
		"it has no desired state":     func(b *bench) { b.pusher.RemoveDesired(web, "east") },
		"its wrapper leaves":          func(b *bench) { b.pusher.SetDesired("east", &Desired{Wrapper: webID, Drift: v1alpha1.DriftRepair}) },
		"its Delivery is gone":        func(b *bench) { b.deliveries.Remove(web.Delivery()) },
		"it lists no Secret any more": func(b *bench) { b.there(2, "1", true) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.pusher.SetDesired("east", wish("1"))
			d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Wrapper: webID, Target: &v1alpha1.DeliveryTarget{Rendering: "1"},
				Inventory: []v1alpha1.InventoryEntry{{Kind: "Secret", Name: "s", State: v1alpha1.EntryApplied}}}}
			d.Name, d.UID, d.Generation = web.Delivery(), "d", 1
			b.deliveries.Put(d)
			if b.pusher.secrets.schedule.Len() != 1 {
				t.Fatal("the Secret is not scheduled")
			}
			end(b)
			if b.pusher.secrets.schedule.Len() != 0 {
				t.Error("the Secret is still scheduled")
			}
		})
	}
}

// Secrets that become due while the circuit breaker is open must not all be checked at once when it closes.
func TestChecksThatTheOpenBreakerSkippedAreNotMadeUpFor(t *testing.T) {
	b := newBench(t)
	b.pusher.SetDesired("east", wish("1"))
	b.there(1, "1", true)
	at := plan.Pair{Member: "east", Key: web}
	if !b.pusher.secrets.mayCheck(at) {
		t.Fatal("the Secret may not be checked")
	}
	b.pusher.secrets.enqueue(plan.Turn{Pair: at, Name: "s"})
	b.breaker.trip()
	if b.pusher.secrets.mayCheck(at) {
		t.Error("the Secret may be checked while the breaker is open")
	}
	b.park(web)
	b.probed(lostIt, usable)
	if todo, due := b.due(web, wish("1")); due {
		t.Errorf("Secrets to check: %v", todo.Secrets)
	}
}
