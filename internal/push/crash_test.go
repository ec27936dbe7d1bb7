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

// scene is a change that a push brings about, and that may be cut off at any request.
type scene struct {
	before, after func(s *site) *Desired
	// meanwhile is what somebody does on the member between the two.
	meanwhile func(s *site)
	// drifted is what the collector has said of ConfigMap a.
	drifted v1alpha1.DriftKind
	// gone is the uid of it that the Delivery had when the collector said so. Set by play.
	gone types.UID
	// recalls is whether the push recalls the Delivery, and does not read it.
	recalls bool
	// omits is whether the push writes no intent.
	omits bool
	// theirs is whether ConfigMap a is somebody else's in the end, and stays when the member is left.
	theirs bool
}

// stage is how things stand after a scene.
type stage struct {
	Objects   map[string]map[string]string
	Inventory []string
	Adopted   string
}

func (s *site) stage() stage {
	is := stage{Objects: s.pushed(), Inventory: s.inventory()}
	if d := s.delivery(); d != nil && len(d.Spec.Inventory) > 0 {
		is.Adopted = string(d.Spec.Inventory[0].Adopted)
	}
	return is
}

func scenes() map[string]scene {
	return map[string]scene{
		"a first push": {
			after: func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
		},
		"a change that adds, alters and drops": {
			before: func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1"), configMap("c", "1")) },
			after:  func(s *site) *Desired { return s.want(configMap("b", "2"), configMap("c", "1"), configMap("d", "1")) },
		},
		"a change of an object that somebody deleted": {
			before:    func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			meanwhile: func(s *site) { s.delete("v1", "ConfigMap", "a") },
			after:     func(s *site) *Desired { return s.want(configMap("a", "2"), configMap("b", "1")) },
		},
		"a repair of an object that somebody deleted": {
			before:    func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			meanwhile: func(s *site) { s.delete("v1", "ConfigMap", "a") },
			after:     func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			drifted:   v1alpha1.DriftGone,
		},
		"a repair of an object that is said to be gone, and is there": {
			before:  func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			after:   func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			drifted: v1alpha1.DriftGone,
		},
		"a repair of an adopted object that is said to be gone, and is there": {
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
			recalls: true, omits: true,
		},
		"a change of an object that somebody deleted, without an intent": {
			before:    func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			meanwhile: func(s *site) { s.delete("v1", "ConfigMap", "b") },
			after:     func(s *site) *Desired { return s.want(configMap("a", "2"), configMap("b", "2")) },
			recalls:   true, omits: true,
		},
		"a change of an object that somebody deleted, without a read": {
			before:    func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			meanwhile: func(s *site) { s.delete("v1", "ConfigMap", "a") },
			after:     func(s *site) *Desired { return s.want(configMap("a", "2"), configMap("b", "1")) },
			recalls:   true,
		},
		"a repair of an object that somebody deleted, without a read": {
			before:    func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			meanwhile: func(s *site) { s.delete("v1", "ConfigMap", "a") },
			after:     func(s *site) *Desired { return s.want(configMap("a", "1"), configMap("b", "1")) },
			drifted:   v1alpha1.DriftGone,
			recalls:   true,
		},
		"a repair of an object that is said to be gone, and is there, without a read": {
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

// adopting is what a wrapper wants that takes a into care where it is there.
func (s *site) adopting() *Desired {
	w := s.want(configMap("a", "1"), configMap("b", "1"))
	w.OnConflict = v1alpha1.ConflictAdoptIfEqual
	return w
}

// push makes the scene's pass.
func (sc *scene) push(s *site, w *Desired) (plan.Outcome, error) {
	p := &pass{conn: s.conn, want: w, seals: s.seals}
	if sc.recalls {
		p.recalled, p.omits = s.recall(), sc.omits
	}
	if sc.drifted != "" {
		p.drifted = map[plan.ObjectID]v1alpha1.DriftKind{objectA: sc.drifted}
		p.gone = map[plan.ObjectID]types.UID{objectA: sc.gone}
	}
	return p.run(s.Context())
}

// play brings a site to where the scene's push begins.
func (sc *scene) play(s *site) *Desired {
	if sc.before != nil {
		s.mustDeliver(sc.before(s))
	}
	if sc.drifted == v1alpha1.DriftGone {
		sc.gone = s.delivery().Spec.Inventory[0].UID
	}
	if sc.meanwhile != nil {
		sc.meanwhile(s)
	}
	return sc.after(s)
}

// cuts are the ways in which a push is cut off at its n-th request.
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
		"the pusher dies before it":           at(lost, true),
		"the pusher dies before the answer":   at(unanswered, true),
		"the request is lost, the next works": at(lost, false),
		"the answer is lost, the next works":  at(unanswered, false),
	}
}

func TestAPushThatIsCutOffAnywhereIsFinishedByTheNext(t *testing.T) {
	for name, sc := range scenes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := newSite(t)
			w := sc.play(whole)
			whole.wire.begin(nil)
			if out, err := sc.push(whole, w); err != nil || !out.Done {
				t.Fatal(out, err)
			}
			requests, want := len(whole.wire.all()), whole.stage()

			for n := 1; n <= requests; n++ {
				for how, cut := range cuts(n) {
					s := newSite(t)
					w := sc.play(s)
					s.wire.begin(cut)
					_, err := sc.push(s, w)
					s.nothingIsLost(fmt.Sprintf("request %d of %d, %s (%v)", n, requests, how, err))

					s.connect(config)
					if out, err := sc.push(s, w); err != nil || !out.Done {
						t.Fatal(out, err)
					}
					if diff := cmp.Diff(want, s.stage()); diff != "" {
						t.Errorf("request %d of %d, %s: the end differs (-want +got):\n%s", n, requests, how, diff)
					}
				}
			}
		})
	}
}

func TestAPushThatIsCutOffAnywhereCanBeLeftBehindWithoutATrace(t *testing.T) {
	for name, sc := range scenes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := newSite(t)
			w := sc.play(whole)
			whole.wire.begin(nil)
			if out, err := sc.push(whole, w); err != nil || !out.Done {
				t.Fatal(out, err)
			}
			requests := len(whole.wire.all())

			for n := 1; n <= requests; n++ {
				for how, cut := range cuts(n) {
					s := newSite(t)
					w := sc.play(s)
					s.wire.begin(cut)
					_, _ = sc.push(s, w)

					s.connect(config)
					w = s.leave()
					s.mustDeliver(w)
					if diff := cmp.Diff(stage{Objects: map[string]map[string]string{}}, s.stage()); diff != "" {
						t.Errorf("request %d of %d, %s: something is left (-want +got):\n%s", n, requests, how, diff)
					}
					if is := s.configMap("a") != nil; is != sc.theirs {
						t.Errorf("request %d of %d, %s: ConfigMap a is there: %v", n, requests, how, is)
					}
				}
			}
		})
	}
}

// A mark may be of an object that was repaired long ago, by a manager that has died since.
func TestAUIDThatNobodySaidToBeGoneStaysRecorded(t *testing.T) {
	s := newSite(t)
	w := s.want(configMap("a", "1"))
	s.mustDeliver(w)
	before := s.delivery().Spec.Inventory[0]
	p := &pass{conn: s.conn, want: w, drifted: map[plan.ObjectID]v1alpha1.DriftKind{objectA: v1alpha1.DriftGone},
		gone: map[plan.ObjectID]types.UID{objectA: "of the one before"}}
	s.wire.begin(func(_ int, req *http.Request) fate {
		if nameOf(req) == "GET configmaps/a" {
			return lost
		}
		return through
	})
	if _, err := p.run(t.Context()); err == nil {
		t.Fatal("the pass was not cut off")
	}
	if after := s.delivery().Spec.Inventory[0]; after.State != v1alpha1.EntryPending || after.UID != before.UID {
		t.Errorf("%+v, and it was %+v", after, before)
	}
}

// nothingIsLost checks the first invariant of the record: nothing of ours is there that no Delivery
// lists.
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
