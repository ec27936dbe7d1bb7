// SPDX-License-Identifier: Apache-2.0

package push

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// processSite is a site, with the unrecorded objects that one process of the manager remembers.
type processSite struct {
	*site
	unrecorded plan.Unrecorded
}

func newProcessSite(t *testing.T) *processSite { return &processSite{site: newSite(t)} }

func (m *processSite) of() plan.UnrecordedOf { return m.unrecorded.Of(plan.Pair{Member: "east"}) }

// omitting returns a pass whose field omitsIntent is true.
func (m *processSite) omitting(w *Desired) *pass {
	return &pass{conn: m.conn, want: w, recalled: m.recall(), omitsIntent: true, unrecorded: m.of(), seals: m.seals}
}

// next returns the pass after a pass that could not write its record. The returned pass has to write an intent.
func (m *processSite) next(w *Desired) *pass {
	p := m.omitting(w)
	p.omitsIntent = false
	return p
}

func (m *processSite) mustEnd(p *pass) plan.Outcome {
	m.Helper()
	out, err := p.run(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	return out
}

// A push is interrupted, and then the author reverts the wrapper. As long as an object has the content of the
// interrupted push, the wrapper must not count as delivered.
func TestTheSameProcessRevertsAnInterruptedPushWithoutAnIntent(t *testing.T) {
	before := func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) }
	after := func(s *site) *Desired { return s.want(configMap("a", "2"), configMap("b", "2")) }
	for n := 1; n <= 4; n++ { // the four requests: read the namespace, apply a, apply b, write the record
		for how, cut := range cuts(n) {
			for _, held := range []bool{false, true} {
				m := newProcessSite(t)
				m.mustDeliver(before(m.site))
				want := m.memberState()
				m.connect(config)
				m.wire.begin(cut)
				_, err := m.omitting(after(m.site)).run(t.Context())
				when := fmt.Sprintf("request %d, %s, held %v (%v)", n, how, held, err)
				m.nothingIsLost(when)
				sent := len(m.wire.writes()) > 0
				if err == nil || sent != m.of().Any() {
					t.Errorf("%s: unrecorded objects are remembered: %v", when, m.of().Any())
				}

				m.connect(config)
				if held {
					suspended := before(m.site)
					suspended.Suspended = true
					if out := m.mustEnd(m.next(suspended)); out.Recorded || sent != m.of().Any() {
						t.Errorf("%s: the held pass changes the remembered objects", when)
					}
				}
				m.wire.begin(nil)
				if out := m.mustEnd(m.next(before(m.site))); !out.Done {
					t.Fatalf("%s: %+v", when, out)
				}
				if diff := cmp.Diff(want, m.memberState()); diff != "" {
					t.Errorf("%s: the state after the next pass differs (-want +got):\n%s", when, diff)
				}
				if writes := m.wire.writes(); sent && !strings.HasPrefix(writes[0], "PATCH deliveries/") {
					t.Errorf("%s: the pass has no intent: %v", when, writes)
				}
				if m.of().Any() {
					t.Errorf("%s: an unrecorded object stays remembered", when)
				}
			}
		}
	}
}

// Another manager writes the Delivery before this manager records its push. The API server refuses the record, and the
// pass must write nothing after that.
func TestARecordWithoutAnIntentDoesNotOverwriteAnotherManagersRecord(t *testing.T) {
	m := newProcessSite(t)
	m.mustDeliver(m.want(configMap("a", "1")))
	var theirs *v1alpha1.Delivery
	m.wire.begin(m.atOnce("PATCH deliveries/"+m.delivery().Name, func() {
		theirs = m.delivery()
		theirs.Spec.Wrapper.Generation, theirs.Spec.Target.Rendering, theirs.Spec.Inventory[0].Rendering = 7, "theirs", "theirs"
		if err := m.admin.Update(t.Context(), theirs); err != nil {
			t.Error(err)
		}
	}))
	out := m.mustEnd(m.omitting(m.want(configMap("a", "2"))))
	if out.Reason != v1alpha1.ReasonHostBehindMember || out.Recorded {
		t.Errorf("%+v", out)
	}
	if diff := cmp.Diff(theirs.Spec, m.delivery().Spec); diff != "" {
		t.Errorf("(-theirs +is):\n%s", diff)
	}
	if !m.of().Has(objectA) {
		t.Error("the applied object is not remembered as unrecorded")
	}
}

func TestAPassWritesAnIntentForAnObjectWhoseUIDIsGone(t *testing.T) {
	for name, meanwhile := range map[string]func(*site){
		"it is gone":                           func(s *site) { s.delete("v1", "ConfigMap", "b") },
		"another client's object has its name": func(s *site) { s.delete("v1", "ConfigMap", "b"); s.create(configMap("b", "somebody's")) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newProcessSite(t)
			m.mustDeliver(m.want(configMap("a", "1"), configMap("b", "1")))
			meanwhile(m.site)
			m.wire.begin(nil)
			out := m.mustEnd(m.omitting(m.want(configMap("a", "2"), configMap("b", "2"))))
			record := "PATCH deliveries/" + m.delivery().Name
			if diff := cmp.Diff([]string{"PATCH configmaps/a", "PATCH configmaps/b", record}, m.wire.writes()[:3]); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if name == "it is gone" != out.Done {
				t.Errorf("%+v", out)
			}
			if m.of().Has(objectA) {
				t.Error("the recorded object stays remembered")
			}
		})
	}
}

// The member has refused the record of a push without an intent. The next pass must write an intent before any object.
func TestAfterARefusedRecordThePassWritesAnIntentFirst(t *testing.T) {
	m := newProcessSite(t)
	m.mustDeliver(m.want(configMap("a", "1")))
	m.wire.answer = func(req *http.Request) *http.Response {
		if req.Method != http.MethodPatch || !strings.Contains(req.URL.Path, "/deliveries/") {
			return nil
		}
		return refusal(req, apierrors.NewForbidden(schema.GroupResource{Resource: "deliveries"}, "web", nil))
	}
	for i, want := range [][]string{{"PATCH configmaps/a", "PATCH deliveries/", "PATCH deliveries/"}, {"PATCH deliveries/"}} {
		m.wire.begin(nil)
		p := m.omitting(m.want(configMap("a", fmt.Sprint(2+i))))
		if _, err := p.run(t.Context()); err == nil {
			t.Fatal("no error")
		}
		var writes []string
		for _, w := range m.wire.writes() {
			writes = append(writes, strings.TrimSuffix(w, m.delivery().Name))
		}
		if diff := cmp.Diff(want, writes); diff != "" {
			t.Errorf("pass %d (-want +got):\n%s", i, diff)
		}
	}
	m.wire.answer = nil
	if out := m.mustEnd(m.next(m.want(configMap("a", "1")))); !out.Done || m.configMap("a").Data["value"] != "1" || m.of().Any() {
		t.Errorf("%+v, a is %q", out, m.configMap("a").Data["value"])
	}
}

// After a restore from a backup, the member's Delivery may have the same uid and generation, but another inventory.
func TestAPassWritesAnIntentIfItsRecordDoesNotCompleteTheDelivery(t *testing.T) {
	m := newProcessSite(t)
	m.mustDeliver(m.want(configMap("a", "1"), configMap("b", "1")))
	p := m.omitting(m.want(configMap("a", "2"), configMap("b", "1")))
	d := m.delivery()
	d.Spec.Inventory[1].State = v1alpha1.EntryPending
	if err := m.admin.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	p.recalled.Generation++
	m.wire.begin(nil)
	if out := m.mustEnd(p); !out.Done || m.of().Any() {
		t.Errorf("%+v", out)
	}
	record := "PATCH deliveries/" + d.Name
	want := []string{"PATCH configmaps/a", record, record, "PATCH configmaps/a", "PATCH configmaps/b", record}
	if diff := cmp.Diff(want, m.wire.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap a Applied", "ConfigMap b Applied"}, m.inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}
