// SPDX-License-Identifier: Apache-2.0

package push

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

func TestAFirstPushMakesTheNamespaceTheObjectsAndTheDelivery(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1"), configMap("b", "1")))

	want := []string{"POST v1/namespaces", "POST " + v1alpha1.SystemNamespace + "/deliveries",
		"PATCH configmaps/a", "PATCH configmaps/b", "PATCH deliveries/" + s.delivery().Name}
	if diff := cmp.Diff(want, s.wire.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap a Applied", "ConfigMap b Applied"}, s.inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	cm, entry := s.configMap("a"), s.delivery().Spec.Inventory[0]
	if diff := cmp.Diff(cm.UID, entry.UID); diff != "" {
		t.Errorf("the recorded uid (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(marks.FieldsDigest(cm.ManagedFields), entry.Fields); diff != "" {
		t.Errorf("the recorded digest of our fields (-want +got):\n%s", diff)
	}
	if !marks.IsOurs(cm, s.wrapper.UID,
		"configmaps/"+s.namespace+"/a") || cm.Annotations[v1alpha1.AnnotationRendering] != entry.Rendering ||
		cm.Annotations[v1alpha1.AnnotationWrapper] != "federated/"+s.namespace+"/web" {
		t.Errorf("marks are missing: %v %v", cm.Labels, cm.Annotations)
	}
	ns := s.get("v1", "Namespace", s.namespace)
	if ns.GetLabels()[v1alpha1.LabelMade] != "true" {
		t.Errorf("the namespace is not marked as made by Fairlead: %v", ns.GetLabels())
	}
}

func TestAChangeCostsOneWriteForEachChangedObjectAndTwoOfTheDelivery(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1"), configMap("b", "1"), configMap("c", "1")))

	s.wire.begin(nil)
	s.mustDeliver(s.want(configMap("a", "1"), configMap("b", "2"), configMap("c", "1")))
	record := "PATCH deliveries/" + s.delivery().Name
	if diff := cmp.Diff([]string{record, "PATCH configmaps/b", record}, s.wire.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if got := s.configMap("b").Data["value"]; got != "2" {
		t.Errorf("b has %q", got)
	}
}

func TestAPassWritesNothingIfTheMemberHasTheDesiredState(t *testing.T) {
	for name, renew := range map[string]func(*Desired){
		"the same desired state":                     func(*Desired) {},
		"another generation with the same rendering": func(w *Desired) { w.Wrapper.Generation = 7 },
		"another revision with the same rendering":   func(w *Desired) { w.Revision = "rev-other" },
		"another policy about conflicts and deletions": func(w *Desired) {
			w.OnConflict, w.OnDelete = v1alpha1.ConflictAdoptIfEqual,
				v1alpha1.KeepAll
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.mustDeliver(s.want(configMap("a", "1"), configMap("b", "1")))
			w := s.want(configMap("b", "1"), configMap("a", "1")) // the order in which the author lists the objects does not matter
			renew(w)
			s.wire.begin(nil)
			s.mustDeliver(w)
			if diff := cmp.Diff([]string(nil), s.wire.writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPassWritesNothingForASuspendedPair(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	for name, w := range map[string]*Desired{"a change": s.want(configMap("a", "2")), "leaving": s.leave()} {
		w.Suspended = true
		s.wire.begin(nil)
		out := s.mustFail(w, v1alpha1.ReasonSuspended)
		if out.State != v1alpha1.StateHeld || len(s.wire.writes()) > 0 {
			t.Errorf("%s: state %s, writes %v", name, out.State, s.wire.writes())
		}
	}
}

func TestAPairIsHeldIfTheMemberHasALaterGeneration(t *testing.T) {
	s := newSite(t)
	s.wrapper.Generation = 5
	s.mustDeliver(s.want(configMap("a", "5")))

	s.wrapper.Generation = 3
	s.wire.begin(nil)
	out := s.mustFail(s.want(configMap("a", "3")), v1alpha1.ReasonHostBehindMember, "generation 5", "has only 3")
	s.mustFail(s.leave(), v1alpha1.ReasonHostBehindMember)
	if out.State != v1alpha1.StateHeld || len(s.wire.writes()) > 0 {
		t.Errorf("state %s, writes %v", out.State, s.wire.writes())
	}
}

func TestAWrapperMadeAgainTakesOverOrIsHeld(t *testing.T) {
	for name, test := range map[string]struct {
		value  string
		reason string // why the pair is held; "" if the new wrapper takes over the objects
	}{
		"takes over equal objects":                {value: "1"},
		"is held if the member has other objects": {value: "2", reason: v1alpha1.ReasonWrapperReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.mustDeliver(s.want(configMap("a", "1")))
			uid := s.configMap("a").UID
			s.wrapper.UID += "-anew"
			s.wire.begin(nil)
			if test.reason != "" {
				s.mustFail(s.want(configMap("a", test.value)), test.reason, "uid-"+s.namespace)
				if len(s.wire.writes()) > 0 {
					t.Errorf("writes: %v", s.wire.writes())
				}
				return
			}
			s.mustDeliver(s.want(configMap("a", test.value)))
			cm := s.configMap("a")
			if cm.UID != uid || cm.Labels[v1alpha1.LabelUID] != string(s.wrapper.UID) {
				t.Errorf("the object does not belong to the wrapper: uid %s (was %s), labels %v", cm.UID, uid, cm.Labels)
			}
			if got := s.delivery().Spec.Wrapper.UID; got != s.wrapper.UID {
				t.Errorf("the Delivery belongs to %s", got)
			}
		})
	}
}

func TestALeavingWrapperDoesNotTouchAnotherWrapperOfItsName(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	s.wrapper.UID += "-anew"
	s.wire.begin(nil)
	s.mustDeliver(s.leave())
	if len(s.wire.writes()) > 0 || s.configMap("a") == nil {
		t.Errorf("writes: %v", s.wire.writes())
	}
}

// The collector writes the status of the Delivery between the pass's read and its write. The pass must not fail.
func TestAStatusWrittenMeanwhileDoesNotFailAPass(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	w := s.want(configMap("a", "2"))
	s.wire.begin(s.atOnce("PATCH configmaps/a", func() {
		d := s.delivery()
		d.Status.ObservedRendering = "sha256:seen"
		if err := s.admin.Status().Update(s.Context(), d); err != nil {
			t.Error(err)
		}
	}))
	s.mustDeliver(w)
	d := s.delivery()
	if diff := cmp.Diff("sha256:seen", d.Status.ObservedRendering); diff != "" {
		t.Errorf("the status was overwritten (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap a Applied"}, s.inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}

func TestASpecWrittenMeanwhileFailsThePass(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	w := s.want(configMap("a", "2"))
	s.wire.begin(s.atOnce("PATCH configmaps/a", func() {
		d := s.delivery()
		d.Spec.Inventory = append(d.Spec.Inventory, v1alpha1.InventoryEntry{Kind: "ConfigMap", Resource: "configmaps", Name: "z",
			State: v1alpha1.EntryPending})
		if err := s.admin.Update(s.Context(), d); err != nil {
			t.Error(err)
		}
	}))
	if _, err := s.push(w); err == nil {
		t.Error("the other manager's record was overwritten")
	}
	if diff := cmp.Diff([]string{"ConfigMap a Pending", "ConfigMap z Pending"}, s.inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}

func TestADeliveryWithAChangedSpecIsNotWithdrawn(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*site, *v1alpha1.Delivery) error
		stays  bool
	}{
		"another manager wrote an entry": {func(s *site, d *v1alpha1.Delivery) error {
			d.Spec.Inventory = []v1alpha1.InventoryEntry{{Kind: "ConfigMap", Resource: "configmaps", Name: "z", State: v1alpha1.EntryPending}}
			return s.admin.Update(s.Context(), d)
		}, true},
		"the collector wrote the status": {func(s *site, d *v1alpha1.Delivery) error {
			d.Status.ObservedRendering = "sha256:seen"
			return s.admin.Status().Update(s.Context(), d)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.mustDeliver(s.want(configMap("a", "1")))
			s.wire.begin(s.atOnce("DELETE deliveries/"+s.delivery().Name, func() {
				if err := test.change(s, s.delivery()); err != nil {
					t.Error(err)
				}
			}))
			_, err := s.push(s.leave())
			if stays := s.delivery() != nil; stays != test.stays || (err != nil) != test.stays {
				t.Errorf("the Delivery stays: %v (%v)", stays, err)
			}
		})
	}
}
