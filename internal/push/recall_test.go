// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// The intent must not depend on whether the pass read the Delivery, or used the summary of the Delivery in memory.
func TestAPassThatRecallsTheDeliveryWritesTheSameIntent(t *testing.T) {
	three := func(s *site, values ...string) *Desired {
		return s.want(configMap("a", values[0]), configMap("b", values[1]), configMap("c", values[2]))
	}
	for name, test := range map[string]struct {
		after      func(*site) *Desired
		gone       bool
		generation int64
	}{
		"one object changes":              {after: func(s *site) *Desired { return three(s, "1", "2", "1") }},
		"all objects change":              {after: func(s *site) *Desired { return three(s, "2", "2", "2") }},
		"a later generation":              {after: func(s *site) *Desired { return three(s, "1", "1", "2") }, generation: 5},
		"an object is gone":               {after: func(s *site) *Desired { return three(s, "1", "1", "1") }, gone: true},
		"one is gone, another changes":    {after: func(s *site) *Desired { return three(s, "1", "2", "1") }, gone: true},
		"the object that is gone changes": {after: func(s *site) *Desired { return three(s, "2", "1", "1") }, gone: true},
		"another revision at that time":   {after: func(s *site) *Desired { w := three(s, "2", "1", "1"); w.Revision = "rev-other"; return w }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			intent := func(recalls bool) (v1alpha1.DeliverySpec, []string) {
				s.wrapper.Name = map[bool]string{true: "recalls", false: "reads"}[recalls]
				s.wrapper.Generation = 1
				s.wire.begin(nil)
				s.mustDeliver(three(s, "1", "1", "1"))
				s.wrapper.Generation += test.generation
				p := &pass{conn: s.conn, want: test.after(s), seals: s.seals}
				if recalls {
					p.recalled = s.recall()
				}
				if test.gone {
					p.drifted = map[plan.ObjectID]v1alpha1.DriftKind{objectA: v1alpha1.DriftGone}
					p.gone = map[plan.ObjectID]types.UID{objectA: s.delivery().Spec.Inventory[0].UID}
				}
				var spec v1alpha1.DeliverySpec
				s.wire.begin(s.atOnceWhere(func(name string) bool { return strings.HasPrefix(name, "PATCH configmaps/") }, func() { spec = s.delivery().Spec }))
				if out, err := p.run(t.Context()); err != nil || !out.Done {
					t.Fatal(out, err)
				}
				requests := s.wire.all()
				s.mustDeliver(s.leave())
				spec.Wrapper.Name, spec.Seal = "", ""
				for i := range spec.Inventory {
					if spec.Inventory[i].UID != "" {
						spec.Inventory[i].UID = "some"
					}
				}
				return spec, requests
			}
			want, _ := intent(false)
			got, requests := intent(true)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-read +recalled):\n%s", diff)
			}
			for _, r := range requests {
				if strings.HasPrefix(r, "GET deliveries/") {
					t.Errorf("the Delivery was read: %v", requests)
				}
			}
		})
	}
}

func TestAPassReadsTheDeliveryIfItsSummaryDoesNotSuffice(t *testing.T) {
	for name, test := range map[string]struct {
		before   func(*site)               // changes the member after the push
		recalled func(*deliveries.Summary) // changes the summary in memory
		pass     func(*site, *pass)        // changes the pass
		tried    bool                      // whether the pass first patches the Delivery with the summary
		reason   string                    // "" if the push is done
	}{
		"the summary has no inventory":          {recalled: func(is *deliveries.Summary) { is.Inventory = "" }},
		"the summary has an earlier generation": {recalled: func(is *deliveries.Summary) { is.Generation-- }, tried: true},
		"the summary is of another Delivery":    {recalled: func(is *deliveries.Summary) { is.UID = "another" }, tried: true},
		"the Delivery is gone": {before: func(s *site) {
			if err := s.admin.Delete(s.Context(), s.delivery()); err != nil {
				s.Fatal(err)
			}
		}, tried: true},
		"another program has changed the Delivery": {before: func(s *site) {
			d := s.delivery()
			d.Spec.Inventory[0].Fields = "edited"
			if err := s.admin.Update(s.Context(), d); err != nil {
				s.Fatal(err)
			}
		}, tried: true},
		"the member was restored, and its Delivery has another inventory": {before: func(s *site) {
			d := s.delivery()
			d.Spec.Inventory[1].State = v1alpha1.EntryPending
			if err := s.admin.Update(s.Context(), d); err != nil {
				s.Fatal(err)
			}
		}, recalled: func(is *deliveries.Summary) { is.Generation++ }, tried: true},
		"objects are added at two places": {pass: func(s *site, p *pass) {
			p.want = s.want(configMap("0first", "1"), configMap("a", "2"), configMap("b", "1"), configMap("c", "1"))
		}},
		"an object is added, and another program has changed the Delivery": {before: func(s *site) {
			d := s.delivery()
			d.Spec.Inventory = d.Spec.Inventory[:1]
			if err := s.admin.Update(s.Context(), d); err != nil {
				s.Fatal(err)
			}
		}, pass: func(s *site, p *pass) { p.want = s.want(configMap("a", "2"), configMap("b", "1"), configMap("c", "1")) }, tried: true},
		"an object is added, and the member was restored": {before: func(s *site) {
			d := s.delivery()
			d.Spec.Inventory = d.Spec.Inventory[:1]
			if err := s.admin.Update(s.Context(), d); err != nil {
				s.Fatal(err)
			}
		}, recalled: func(is *deliveries.Summary) { is.Generation++ }, pass: func(s *site, p *pass) {
			p.want = s.want(configMap("a", "2"), configMap("b", "1"), configMap("c", "1"))
		}, tried: true},
		"an object is dropped":          {pass: func(s *site, p *pass) { p.want = s.want(configMap("a", "2")) }},
		"the wrapper leaves":            {pass: func(s *site, p *pass) { p.want = s.leave() }},
		"the wrapper is suspended":      {pass: func(_ *site, p *pass) { p.want.Suspended = true }, reason: v1alpha1.ReasonSuspended},
		"the host is behind the member": {pass: func(_ *site, p *pass) { p.want.Wrapper.Generation = 0 }, reason: v1alpha1.ReasonHostBehindMember},
		"the wrapper was made again":    {pass: func(_ *site, p *pass) { p.want.Wrapper.UID = "another" }, reason: v1alpha1.ReasonWrapperReplaced},
		"the host has no seal":          {pass: func(_ *site, p *pass) { p.seals = deliveries.Seals{} }},
		"an object has drifted": {pass: func(_ *site, p *pass) {
			p.drifted = map[plan.ObjectID]v1alpha1.DriftKind{objectA: v1alpha1.DriftChanged}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.mustDeliver(s.want(configMap("a", "1"), configMap("b", "1")))
			p := &pass{conn: s.conn, want: s.want(configMap("a", "2"), configMap("b", "1")), recalled: s.recall(), seals: s.seals}
			if test.before != nil {
				test.before(s)
			}
			if test.recalled != nil {
				test.recalled(p.recalled)
			}
			if test.pass != nil {
				test.pass(s, p)
			}
			s.wire.begin(nil)
			out, err := p.run(t.Context())
			if err != nil || out.Reason != test.reason || out.Done != (test.reason == "") {
				t.Fatalf("%+v, %v", out, err)
			}
			delivery := "deliveries/" + KeyOf(s.wrapper).Delivery()
			want := []string{"GET " + delivery}
			if test.tried {
				want = []string{"PATCH " + delivery, "GET " + delivery}
			}
			if diff := cmp.Diff(want, s.requestsOf(delivery)[:len(want)]); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// After each watch event of the Delivery, one pass may use the summary in memory instead of reading the Delivery. If a
// collector is ready, that pass also writes no intent.
func TestTheQueuePushesAChangeWithoutReadingTheDelivery(t *testing.T) {
	for name, test := range map[string]struct {
		observed bool
		want     func(record string) []string
	}{
		"no collector observes the member": {false, func(record string) []string { return []string{record, "PATCH configmaps/a", record} }},
		"a collector observes the member":  {true, func(record string) []string { return []string{"PATCH configmaps/a", record} }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			p := New(member.NewFleet(member.Host{}, clock.RealClock{}), deliveries.NewStore(clock.RealClock{}), clock.RealClock{},
				Host{SealKey: []byte("the key of the tests"), UID: "host", Observes: func(string) bool { return test.observed }}, func(Key) {})
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(cancel)
			if err := p.Engage(ctx, "east", s.conn); err != nil {
				t.Fatal(err)
			}
			found := usable
			found.UID = "east"
			p.probed("east", member.ProbeResult{}, found)
			key := KeyOf(s.wrapper)
			push := func(value string) []string {
				t.Helper()
				w := s.want(configMap("a", value))
				s.wire.begin(nil)
				p.SetDesired("east", w)
				s.await("the pair is served, and its watch event has arrived", func(context.Context) bool {
					record := p.Pair(key, "east")
					return record.Holds && record.Summary.Revision == w.Revision && record.Outcome != nil && record.Outcome.Done
				})
				return s.wire.writes()
			}
			push("1")
			for i := range 3 {
				if diff := cmp.Diff(test.want("PATCH deliveries/"+key.Delivery()), push(fmt.Sprint("changed ", i))); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
			}
			if reads := s.requestsOf("deliveries/" + key.Delivery()); slices.Contains(reads, "GET deliveries/"+key.Delivery()) {
				t.Errorf("the Delivery was read: %v", reads)
			}
		})
	}
}
