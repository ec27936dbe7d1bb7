// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

func TestAReportAppearsAndGoes(t *testing.T) {
	s := newSite(t, "east", "west")
	s.list("east", "it crashes")
	s.pass()
	s.check("it crashes: east, sample of east")
	r := s.reports()[0]
	owner := metav1.OwnerReference{APIVersion: "federation.fairlead.dev/v1alpha1", Kind: "Federated", Name: "web", UID: s.wrapper.UID}
	if !strings.HasPrefix(r.Name, "web.") || len(r.Name) != len("web.")+10 || len(r.OwnerReferences) != 1 || r.OwnerReferences[0] != owner || r.Spec.Wrapper.UID != s.wrapper.UID {
		t.Errorf("%s, owners %v, spec %v", r.Name, r.OwnerReferences, r.Spec)
	}
	if st := r.Status; st.Reason != "CrashLoopBackOff" || st.ClusterCount != 1 || st.Containers[0].Log != "log of east" || st.Events[0].Message != "back-off" || !st.ObservedTime.Time.Equal(now) {
		t.Errorf("status %+v", st)
	}
	s.clock.Step(time.Second)
	s.list("west", "it crashes")
	s.pass()
	s.check("it crashes: east west, sample of east")
	s.clock.Step(time.Second)
	s.list("east", "")
	s.pass()
	s.check("it crashes: west, sample of east")
	s.clock.Step(time.Second)
	s.indexes["west"].Remove(s.ill("", "").Name)
	s.pass()
	s.check()
	s.checkRequests(map[string]int{"POST": 1, "PATCH": 3, "DELETE": 1})
}

func TestAReportIsWrittenNoMoreOftenThanItHasTo(t *testing.T) {
	s := newSite(t, "east", "west")
	s.list("east", "it crashes")
	s.pass()
	s.checkRequests(map[string]int{"POST": 1, "PATCH": 1})
	s.list("east", "it crashes")
	if again := s.pass(); again != 0 {
		t.Errorf("nothing is to do, again in %s", again)
	}
	s.clock.Step(4 * time.Second)
	s.indexes["east"].Put(s.ill("it crashes", "a newer log"))
	if again := s.pass(); again != 6*time.Second {
		t.Errorf("evidence alone waits %s", again)
	}
	s.checkRequests(nil)
	s.list("west", "it crashes")
	s.pass()
	s.checkRequests(map[string]int{"PATCH": 1})
	s.list("west", "")
	if again := s.pass(); again != time.Second {
		t.Errorf("a change of the members waits %s", again)
	}
	s.checkRequests(nil)
}

func TestAMemberThatCannotBeReadKeepsItsReports(t *testing.T) {
	s := newSite(t, "east")
	s.list("east", "it crashes")
	s.pass()
	s.store.Close(s.indexes["east"])
	delete(s.indexes, "east")
	s.clock.Step(time.Hour)
	s.pass()
	s.check("it crashes: east, sample of east")
	s.connect("east").Replace() // the Delivery went while the manager could not read
	s.pass()
	s.check()
}

func TestARestartKeepsTheReportsOfMembersThatAreNotReadYet(t *testing.T) {
	s := newSite(t, "east", "north", "west")
	for _, name := range []string{"east", "north", "west"} {
		s.list(name, "it crashes")
	}
	s.pass()
	s.check("it crashes: east north west, sample of east")
	s.clock.Step(time.Hour)
	s.restart(DefaultMemory)
	s.connect("east") // connected, and not listed
	s.pass()
	s.pass()
	s.checkRequests(map[string]int{"GET": 1})
	s.list("north", "it crashes")
	s.list("east", "it crashes")
	s.pass()
	s.checkRequests(nil)
	s.check("it crashes: east north west, sample of east")
	s.list("north", "")
	s.list("west", "")
	s.pass()
	s.check("it crashes: east, sample of east")
	s.restart(DefaultMemory)
	s.list("east", "") // read before the loop finds the report
	s.pass()
	s.check()
}

// If a list of Deliveries has too much evidence, the manager drops the evidence of some of them. It then does not know what the member
// shows in them.
func TestEvidenceThatAListHadNoRoomForDeletesNoReport(t *testing.T) {
	s := newSite(t, "east")
	s.list("east", "it crashes")
	s.pass()
	d := s.ill("it crashes", "log")
	list := func() {
		x := s.connect("east")
		s.loop.store.Changed(x, deliveries.Change{Name: d.Name, Is: deliveries.Summarise(d), Evidence: deliveries.Evidence{Omitted: true}})
		s.loop.store.Listed(x, map[string]int64{d.Name: 1})
		s.clock.Step(time.Second)
		s.pass()
		s.check("it crashes: east, sample of east")
	}
	list()
	s.restart(DefaultMemory)
	list()
	s.list("east", "")
	s.pass()
	s.check()
}

func TestAMemberThatAWrapperHasLeftShowsNothing(t *testing.T) {
	for name, leave := range map[string]func(*site){
		"the placement changes": func(s *site) {
			w := s.wrapper.DeepCopy()
			w.Status.Placement.Clusters = []string{"west"}
			s.loop.store.addWrapper(w)
		},
		"the MemberCluster is deleted": func(s *site) { s.loop.store.Forget("east") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "east", "west")
			s.list("east", "it crashes")
			s.list("west", "it crashes")
			leave(s)
			s.pass()
			s.check("it crashes: west, sample of east")
		})
	}
}

func TestAMemberIsTrustedOnlyAboutItself(t *testing.T) {
	for name, lie := range map[string]func(*v1alpha1.Delivery){
		"a wrapper that is not placed there": func(*v1alpha1.Delivery) {},
		"another uid":                        func(d *v1alpha1.Delivery) { d.Spec.Wrapper.UID = "another" },
		"another wrapper": func(d *v1alpha1.Delivery) {
			d.Spec.Wrapper.Name = "db"
			d.Name = deliveries.KeyOf(d.Spec.Wrapper).Delivery()
		},
		"a Delivery of another name": func(d *v1alpha1.Delivery) { d.Name = "fed.shop.other" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "east")
			d, from := s.ill("it crashes", "log"), "east"
			if lie(d); name == "a wrapper that is not placed there" {
				from = "hostile"
			}
			s.connect(from).Replace(d)
			s.pass()
			s.check()
			s.checkRequests(nil)
			if used := s.loop.store.evidence.memory.used; used != 0 {
				t.Errorf("%d bytes are kept", used)
			}
		})
	}
}

func TestEvidenceFromBeforeTheWrappersAreKnown(t *testing.T) {
	s := newSite(t, "east")
	s.loop.store.placements.wrappers, s.loop.store.placements.complete = map[deliveries.Key]v1alpha1.Wrapper{}, false
	s.list("east", "it crashes")
	s.list("hostile", "it crashes")
	s.pass()
	s.check()
	s.loop.store.addWrapper(s.wrapper)
	s.loop.store.wrappersListed()
	s.pass()
	s.check("it crashes: east, sample of east")
}

func TestAReportThatAPersonWroteStays(t *testing.T) {
	s := newSite(t, "east")
	byHand := &v1alpha1.MemberReport{Spec: v1alpha1.MemberReportSpec{Wrapper: v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: "web", UID: s.wrapper.UID}}}
	byHand.Namespace, byHand.Name = s.wrapper.Namespace, "web.0123456789"
	owned := byHand.DeepCopy()
	owned.Name = "notes"
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Federated", Name: "web", UID: s.wrapper.UID}}
	for _, obj := range []client.Object{byHand, owned} {
		if err := s.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	s.list("east", "")
	s.pass()
	s.checkRequests(nil)
	if got := len(s.reports()); got != 2 {
		t.Errorf("%d reports", got)
	}
}

func TestAReportThatAPersonDeletedOrChangedIsWrittenAgain(t *testing.T) {
	s := newSite(t, "east")
	s.list("east", "it crashes")
	s.pass()
	s.pass() // the cache has it now
	r := s.reports()[0]
	if err := s.Status().Patch(t.Context(), &r, client.RawPatch(types.MergePatchType, []byte(`{"status":{"message":"all is well"}}`))); err != nil {
		t.Fatal(err)
	}
	s.clock.Step(10 * time.Second)
	s.pass()
	s.check("it crashes: east, sample of east")
	if err := s.Delete(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	s.pass()
	s.check("it crashes: east, sample of east")
}

// letters writes a number in letters, because messages that differ only in numbers count as equal.
func letters(n int) string {
	return strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprintf("%05d", n))
}

func TestAnOutageOfAThousandMembersWithDistinctMessages(t *testing.T) {
	s := newSite(t, "east")
	w := s.wrapper.DeepCopy()
	w.Status.Placement.Clusters = nil
	for i := range 1000 {
		w.Status.Placement.Clusters = append(w.Status.Placement.Clusters, fmt.Sprintf("m%04d", i))
	}
	s.wrapper = w
	const limit = 300 << 10
	s.restart(limit)
	for i, name := range w.Status.Placement.Clusters {
		s.connect(name).Replace(s.ill("it crashes: "+letters(i), strings.Repeat("x", 8<<10)))
		if used := s.loop.store.evidence.memory.used; used > limit {
			t.Fatalf("%d bytes after %d members", used, i)
		}
	}
	if s.loop.store.refused == 0 {
		t.Error("there was memory for everything")
	}
	s.pass()
	s.checkRequests(map[string]int{"POST": 10, "PATCH": 10})
	if got := len(s.reports()); got != 10 {
		t.Errorf("%d reports", got)
	}
	for name, used := range s.loop.store.evidence.memory.byMember {
		if used > limit/share {
			t.Errorf("%s takes %d bytes", name, used)
		}
	}
	for _, name := range w.Status.Placement.Clusters {
		s.list(name, "")
	}
	s.clock.Step(10 * time.Second)
	s.pass()
	s.check()
	if used := s.loop.store.evidence.memory.used; used != 0 {
		t.Errorf("%d bytes are still kept", used)
	}
}

func TestTheReportsOfManyWrappersFitIntoTheLimit(t *testing.T) {
	const wrappers, limit = 40, 1 << 20
	s := newSite(t)
	s.restart(limit)
	all := make([]*v1alpha1.Federated, 0, wrappers)
	for i := range wrappers {
		w := build.Federated(fmt.Sprintf("web-%02d", i)).In(s.wrapper.Namespace).With(build.ConfigMap("a")).To("east").Obj()
		if err := s.Create(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		w.Status.Placement.ObservedGeneration = 1
		for m := range 16 {
			w.Status.Placement.Clusters = append(w.Status.Placement.Clusters, fmt.Sprintf("m%02d", m))
		}
		s.loop.store.addWrapper(w)
		all = append(all, w)
	}
	for m := range 16 {
		list := make([]*v1alpha1.Delivery, 0, wrappers)
		for i := range all {
			s.wrapper = all[i]
			list = append(list, s.ill("it crashes: "+letters(100*m+i), strings.Repeat("x", 8<<10)))
		}
		s.connect(fmt.Sprintf("m%02d", m)).Replace(list...)
	}
	for round, writes := 0, -1; writes != 0; round++ { // the limit of writes delays most reports
		if round == 20 {
			t.Fatal("the loop still writes after 20 rounds, a minute apart")
		}
		clear(s.requests)
		for i := range all {
			s.wrapper = all[i]
			s.pass()
		}
		writes = len(s.requests)
		s.clock.Step(time.Minute)
	}
	stored, named := 0, make(map[string]int)
	for _, r := range s.reports() {
		content, err := json.Marshal(r.Status)
		if err != nil {
			t.Fatal(err)
		}
		stored += len(content)
		named[r.Spec.Wrapper.Name]++
	}
	if stored > limit || stored < limit/2 {
		t.Errorf("%d reports take %d bytes, want no more than %d and at least half of it", len(s.reports()), stored, limit)
	}
	for name, reports := range named {
		if reports > 10 {
			t.Errorf("%s has %d reports", name, reports)
		}
	}
	if s.loop.store.refused == 0 {
		t.Error("there was memory for everything")
	}
}

func TestAHostileMemberTakesOnlyItsShare(t *testing.T) {
	s := newSite(t, "east", "hostile")
	s.restart(64 << 10)
	d := s.ill("it crashes", strings.Repeat("x", 8<<10)) // a sample takes more than an eighth of the memory
	s.connect("hostile").Replace(d)
	s.list("east", "it crashes")
	s.pass()
	s.check("it crashes: east hostile, sample of east")
}

func TestAHealthyFleetMakesNoRequests(t *testing.T) {
	s := newSite(t, "east", "west")
	for range 3 {
		s.list("east", "")
		s.list("west", "")
		s.pass()
	}
	s.checkRequests(nil)
	if len(s.loop.store.evidence.sets) != 0 || s.loop.store.evidence.memory.used != 0 {
		t.Errorf("%d sets, %d bytes", len(s.loop.store.evidence.sets), s.loop.store.evidence.memory.used)
	}
}
