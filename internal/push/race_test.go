// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// The passes of two wrappers find the same names free at the same time. Without a lock, both wrappers could count the
// same object as their own.
func TestOneOfTwoRacingWrappersGetsTheObjectAndTheOtherReportsTheOwner(t *testing.T) {
	s := newSite(t)
	s.openNamespace()
	other := *s
	other.wrapper.Name, other.wrapper.UID = "other", s.wrapper.UID+"-other"
	var objects []string
	for i := range 20 {
		objects = append(objects, configMap(fmt.Sprint("c", i), "1"))
	}
	p := s.engage()
	p.SetDesired("east", s.want(objects...))
	p.SetDesired("east", other.want(objects...))
	p.probed("east", member.ProbeResult{}, usable)
	settled := func(key Key) bool {
		pair := p.Pair(key, "east")
		return pair.Holds || pair.Outcome != nil
	}
	s.await("both pairs had a pass", func(context.Context) bool { return settled(KeyOf(s.wrapper)) && settled(KeyOf(other.wrapper)) })
	p.queues["east"].queue.ShutDownWithDrain()

	owned := make(map[string]int)
	for i := range objects {
		owned[s.configMap(fmt.Sprint("c", i)).Labels[v1alpha1.LabelUID]]++
	}
	claimed := make(map[string]int)
	for _, one := range []*site{s, &other} {
		n := 0
		for _, e := range one.delivery().Spec.Inventory {
			if e.State == v1alpha1.EntryApplied {
				n++
			}
		}
		if n > 0 {
			claimed[string(one.wrapper.UID)] = n
		}
		out := p.Pair(KeyOf(one.wrapper), "east").Outcome
		if n < len(objects) && (out == nil || out.Reason != v1alpha1.ReasonOwnedByOther) {
			t.Errorf("%s lacks objects, and its outcome is %+v", one.wrapper.Name, out)
		}
	}
	if diff := cmp.Diff(owned, claimed); diff != "" {
		t.Errorf("the Deliveries differ from the objects (-objects +Deliveries):\n%s", diff)
	}
}

// A manager that loses its lease ends its member queues. A pass may be under way at that moment.
func TestAPassStopsWhenItsManagerLosesTheLease(t *testing.T) {
	s := newSite(t)
	ctx, depose := context.WithCancel(t.Context())
	s.wire.begin(func(_ int, req *http.Request) fate {
		if nameOf(req) == "PATCH configmaps/b" {
			depose()
		}
		return through
	})
	w := s.want(configMap("a", "1"), configMap("b", "1"), configMap("c", "1"))
	if _, err := (&pass{conn: s.conn, want: w}).run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the pass ended with %v", err)
	}
	if writes := s.wire.writes(); slices.Contains(writes, "PATCH configmaps/c") || writes[len(writes)-1] != "PATCH configmaps/b" {
		t.Errorf("the pass wrote after that: %v", writes)
	}
	// From the Delivery, the new leader learns which objects the ended pass may have created.
	if diff := cmp.Diff([]string{"ConfigMap a Pending", "ConfigMap b Pending", "ConfigMap c Pending"}, s.inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	s.wire.begin(nil)
	s.mustDeliver(w)
}

// A manager is frozen before its apply. Then a new leader pushes a newer state. When the first manager goes on, its
// apply still succeeds, and brings back the older content.
func TestALateApplyOfAFormerLeaderIsRepaired(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	old := *s
	old.connect(config)
	older := s.want(configMap("a", "0"))
	old.wire.begin(s.atOnce("PATCH configmaps/a", func() { s.mustDeliver(s.want(configMap("a", "2"))) }))
	if _, err := (&pass{conn: old.conn, want: older}).run(t.Context()); err == nil {
		t.Error("the former leader overwrote the newer record")
	}
	if got := s.configMap("a").Data["value"]; got != "0" {
		t.Fatalf("the late apply did not get through: %s", got)
	}
	d := s.delivery()
	if got := s.configMap("a").Annotations[v1alpha1.AnnotationRendering]; got == d.Spec.Inventory[0].Rendering {
		t.Error("the object's annotation does not show the drift to a collector")
	}
	// The collector reports the older content as drift, so the next pass applies the object again.
	p := &pass{conn: s.conn, want: s.want(configMap("a", "2")), drifted: map[plan.ObjectID]v1alpha1.DriftKind{objectA: v1alpha1.DriftChanged}}
	if out, err := p.run(t.Context()); err != nil || !out.Done {
		t.Fatalf("%+v %v", out, err)
	}
	if got := s.configMap("a").Data["value"]; got != "2" {
		t.Errorf("a has %s", got)
	}
}

func TestAKeptObjectIsReportedOnce(t *testing.T) {
	s := newSite(t)
	p := s.engage()
	p.probed("east", member.ProbeResult{}, usable)
	p.SetDesired("east", s.want(configMap("a", "1"), claimNamed("")))
	key := KeyOf(s.wrapper)
	s.await("the pair is served", func(context.Context) bool { return p.Pair(key, "east").Holds })
	p.SetDesired("east", s.leave())
	s.await("the wrapper has left", func(context.Context) bool {
		out := p.Pair(key, "east").Outcome
		return out != nil && out.Done
	})
	p.RemoveDesired(key, "east") // as the wrapper's controller does when the wrapper has left
	want := map[string][]Kept{"east": {{Reason: v1alpha1.ReasonKept, Object: "PersistentVolumeClaim data", Why: "of a kind that holds data, or that data depends on"}}}
	if diff := cmp.Diff(want, p.TakeKept(key)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := p.TakeKept(key); len(again) > 0 {
		t.Errorf("reported again: %v", again)
	}
}

// A person releases the wrapper from a member while the manager removes its objects there.
func TestARemovalStopsWhenTheDesiredStateChanges(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1"), configMap("b", "1"), configMap("c", "1")))
	asked := 0
	p := &pass{conn: s.conn, want: s.leave(), seals: s.seals, wanted: func() bool { asked++; return asked < 2 }}
	out, err := p.run(t.Context())
	if err != nil || out.Done {
		t.Fatalf("%v %+v", err, out)
	}
	left := 0
	for _, name := range []string{"a", "b", "c"} {
		if s.configMap(name) != nil {
			left++
		}
	}
	if left != 2 || len(s.inventory()) != 2 {
		t.Errorf("%d objects are left, the Delivery lists %v", left, s.inventory())
	}
}
