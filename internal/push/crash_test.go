// SPDX-License-Identifier: Apache-2.0

package push

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// pushCase is one change that a push makes on the member. The tests interrupt that push at each of its requests in
// turn.
type pushCase struct {
	before, after func(s *site) *Desired
	// meanwhile, if set, changes the member between the pushes of the two desired states that the functions before and
	// after return.
	meanwhile func(s *site)
	// drifted is the drift that the collector reports of ConfigMap a; "" for none.
	drifted v1alpha1.DriftKind
	// gone is the uid that the Delivery has for ConfigMap a when the collector reports it as gone. The method prepare
	// sets it.
	gone types.UID
	// recalls makes the push use the summary of the Delivery in memory instead of reading the Delivery.
	recalls bool
	// omitsIntent makes the push write no intent.
	omitsIntent bool
	// theirs is true if ConfigMap a belongs to another client, so that it must stay when the wrapper leaves.
	theirs bool
}

// memberState is a part of the state of the member. The tests compare this part after an interrupted push with the same
// part after an undisturbed push.
type memberState struct {
	Objects   map[string]map[string]string
	Inventory []string
	Adopted   string
}

func (s *site) memberState() memberState {
	is := memberState{Objects: s.pushed(), Inventory: s.inventory()}
	if d := s.delivery(); d != nil && len(d.Spec.Inventory) > 0 {
		is.Adopted = string(d.Spec.Inventory[0].Adopted)
	}
	return is
}

func pushCases() map[string]pushCase {
	return map[string]pushCase{
		"a first push": {
			after: func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
		},
		"a change that adds, alters and drops": {
			before: func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1"), configMap("c", "1")) },
			after:  func(s *site) *Desired { return s.want(configMap("b", "2"), configMap("c", "1"), configMap("d", "1")) },
		},
		"a change of an object that another client deleted": {
			before:    func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			meanwhile: func(s *site) { s.delete("v1", "ConfigMap", "a") },
			after:     func(s *site) *Desired { return s.want(configMap("a", "2"), configMap("b", "1")) },
		},
		"a repair of an object that another client deleted": {
			before:    func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			meanwhile: func(s *site) { s.delete("v1", "ConfigMap", "a") },
			after:     func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			drifted:   v1alpha1.DriftGone,
		},
		"a repair of an object that is reported as gone and still exists": {
			before:  func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			after:   func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			drifted: v1alpha1.DriftGone,
		},
		"a repair of an adopted object that is reported as gone and still exists": {
			before: func(s *site) *Desired {
				s.openNamespace()
				s.create(configMap("a", "1"))
				return s.adopting()
			},
			after:   func(s *site) *Desired { return s.adopting() },
			drifted: v1alpha1.DriftGone,
			theirs:  true,
		},
		"an adoption": {
			meanwhile: func(s *site) { s.openNamespace(); s.create(configMap("a", "1")) },
			after:     func(s *site) *Desired { return s.adopting() },
			theirs:    true,
		},
		"a change of contents without a read": {
			before:  func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1"), configMap("c", "1")) },
			after:   func(s *site) *Desired { return s.want(configMap("a", "2"), configMap("b", "1"), configMap("c", "2")) },
			recalls: true,
		},
		"a change of contents without an intent": {
			before:  func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1"), configMap("c", "1")) },
			after:   func(s *site) *Desired { return s.want(configMap("a", "2"), configMap("b", "1"), configMap("c", "2")) },
			recalls: true, omitsIntent: true,
		},
		"a change of an object that another client deleted, without an intent": {
			before:    func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			meanwhile: func(s *site) { s.delete("v1", "ConfigMap", "b") },
			after:     func(s *site) *Desired { return s.want(configMap("a", "2"), configMap("b", "2")) },
			recalls:   true, omitsIntent: true,
		},
		"a change of an object that another client deleted, without a read": {
			before:    func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			meanwhile: func(s *site) { s.delete("v1", "ConfigMap", "a") },
			after:     func(s *site) *Desired { return s.want(configMap("a", "2"), configMap("b", "1")) },
			recalls:   true,
		},
		"a repair of an object that another client deleted, without a read": {
			before:    func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			meanwhile: func(s *site) { s.delete("v1", "ConfigMap", "a") },
			after:     func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			drifted:   v1alpha1.DriftGone,
			recalls:   true,
		},
		"a repair of an object that is reported as gone and still exists, without a read": {
			before:  func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			after:   func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			drifted: v1alpha1.DriftGone,
			recalls: true,
		},
		"leaving": {
			before: func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			after:  func(s *site) *Desired { return s.leave() },
		},
	}
}

// adopting returns the desired state of a wrapper that adopts ConfigMap a if the member has that already.
func (s *site) adopting() *Desired {
	w := s.want(configMap("a", "1"), configMap("b", "1"))
	w.OnConflict = v1alpha1.ConflictAdoptIfEqual
	return w
}

// push makes a pass of the case for the desired state w.
func (c *pushCase) push(s *site, w *Desired) (plan.Outcome, error) {
	p := &pass{conn: s.conn, want: w, seals: s.seals}
	if c.recalls {
		p.recalled, p.omitsIntent = s.recall(), c.omitsIntent
	}
	if c.drifted != "" {
		p.drifted = map[plan.ObjectID]v1alpha1.DriftKind{objectA: c.drifted}
		p.gone = map[plan.ObjectID]types.UID{objectA: c.gone}
	}
	return p.run(s.Context())
}

// prepare brings a site to the state just before the push of the case. It returns the desired state of that push.
func (c *pushCase) prepare(s *site) *Desired {
	if c.before != nil {
		s.mustDeliver(c.before(s))
	}
	if c.drifted == v1alpha1.DriftGone {
		c.gone = s.delivery().Spec.Inventory[0].UID
	}
	if c.meanwhile != nil {
		c.meanwhile(s)
	}
	return c.after(s)
}

// cuts returns the ways to interrupt a push at its n-th request, by name.
func cuts(n int) map[string]func(int, *http.Request) fate {
	at := func(is fate, forever bool) func(int, *http.Request) fate {
		return func(i int, _ *http.Request) fate {
			switch {
			case i == n:
				return is
			case i > n && forever:
				return lost
			}
			return through
		}
	}
	return map[string]func(int, *http.Request) fate{
		"the manager dies before it":          at(lost, true),
		"the manager dies before the answer":  at(unanswered, true),
		"the request is lost, the next works": at(lost, false),
		"the answer is lost, the next works":  at(unanswered, false),
	}
}

func TestTheNextPassFinishesAPushInterruptedAtAnyRequest(t *testing.T) {
	for name, c := range pushCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := newSite(t)
			w := c.prepare(whole)
			whole.wire.begin(nil)
			if out, err := c.push(whole, w); err != nil || !out.Done {
				t.Fatal(out, err)
			}
			requests, want := len(whole.wire.all()), whole.memberState()

			for n := 1; n <= requests; n++ {
				for how, cut := range cuts(n) {
					s := newSite(t)
					w := c.prepare(s)
					s.wire.begin(cut)
					_, err := c.push(s, w)
					s.nothingIsLost(fmt.Sprintf("request %d of %d, %s (%v)", n, requests, how, err))

					s.connect(config)
					if out, err := c.push(s, w); err != nil || !out.Done {
						t.Fatal(out, err)
					}
					if diff := cmp.Diff(want, s.memberState()); diff != "" {
						t.Errorf("request %d of %d, %s: the state after the next pass differs (-want +got):\n%s", n, requests, how, diff)
					}
				}
			}
		})
	}
}

func TestAWrapperLeavesNothingAfterAPushInterruptedAtAnyRequest(t *testing.T) {
	for name, c := range pushCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := newSite(t)
			w := c.prepare(whole)
			whole.wire.begin(nil)
			if out, err := c.push(whole, w); err != nil || !out.Done {
				t.Fatal(out, err)
			}
			requests := len(whole.wire.all())

			for n := 1; n <= requests; n++ {
				for how, cut := range cuts(n) {
					s := newSite(t)
					w := c.prepare(s)
					s.wire.begin(cut)
					_, _ = c.push(s, w)

					s.connect(config)
					w = s.leave()
					s.mustDeliver(w)
					if diff := cmp.Diff(memberState{Objects: map[string]map[string]string{}}, s.memberState()); diff != "" {
						t.Errorf("request %d of %d, %s: something is left (-want +got):\n%s", n, requests, how, diff)
					}
					if is := s.configMap("a") != nil; is != c.theirs {
						t.Errorf("request %d of %d, %s: ConfigMap a is there: %v", n, requests, how, is)
					}
				}
			}
		})
	}
}

// A drift report may name the uid of an earlier object, because a manager replaced the object after the report and then
// ended. The pass must not clear the newer uid in the Delivery.
func TestAPassKeepsTheRecordedUIDIfTheDriftReportNamesAnother(t *testing.T) {
	s := newSite(t)
	w := s.want(configMap("a", "1"))
	s.mustDeliver(w)
	before := s.delivery().Spec.Inventory[0]
	p := &pass{conn: s.conn, want: w, drifted: map[plan.ObjectID]v1alpha1.DriftKind{objectA: v1alpha1.DriftGone},
		gone: map[plan.ObjectID]types.UID{objectA: "of an earlier object"}}
	s.wire.begin(func(_ int, req *http.Request) fate {
		if nameOf(req) == "GET configmaps/a" {
			return lost
		}
		return through
	})
	if _, err := p.run(t.Context()); err == nil {
		t.Fatal("the pass was not interrupted")
	}
	if after := s.delivery().Spec.Inventory[0]; after.State != v1alpha1.EntryPending || after.UID != before.UID {
		t.Errorf("%+v, and it was %+v", after, before)
	}
}

// nothingIsLost checks that the Delivery lists every object of Fairlead on the member, also right after an
// interruption.
func (s *site) nothingIsLost(when string) {
	s.Helper()
	listed := make(map[string]bool)
	if d := s.delivery(); d != nil {
		for i := range d.Spec.Inventory {
			listed[d.Spec.Inventory[i].Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.pushed())) {
		if !listed[name] {
			s.Errorf("%s: ConfigMap %s is there and in no Delivery (%v)", when, name, slices.Sorted(maps.Keys(listed)))
		}
	}
}
