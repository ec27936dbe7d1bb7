// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestASealIsOverAllThatItIsFor(t *testing.T) {
	seals := NewSeals([]byte("k"), "host", "east")
	id, target := webIdentity, v1alpha1.DeliveryTarget{Revision: "r", Rendering: "d"}
	seal := seals.Sign(&id, &target)
	if !seals.Verify(seal, &id, &target) {
		t.Fatalf("the host does not recognise its own seal %s", seal)
	}
	for name, change := range map[string]func(*Seals, *v1alpha1.WrapperIdentity, *v1alpha1.DeliveryTarget){
		"the key":            func(s *Seals, _ *v1alpha1.WrapperIdentity, _ *v1alpha1.DeliveryTarget) { s.key = []byte("l") },
		"the host":           func(s *Seals, _ *v1alpha1.WrapperIdentity, _ *v1alpha1.DeliveryTarget) { s.host = "other" },
		"the member":         func(s *Seals, _ *v1alpha1.WrapperIdentity, _ *v1alpha1.DeliveryTarget) { s.member = "west" },
		"the wrapper's kind": func(_ *Seals, w *v1alpha1.WrapperIdentity, _ *v1alpha1.DeliveryTarget) { w.Kind = "x" },
		"its namespace":      func(_ *Seals, w *v1alpha1.WrapperIdentity, _ *v1alpha1.DeliveryTarget) { w.Namespace = "x" },
		"its name":           func(_ *Seals, w *v1alpha1.WrapperIdentity, _ *v1alpha1.DeliveryTarget) { w.Name = "x" },
		"its uid":            func(_ *Seals, w *v1alpha1.WrapperIdentity, _ *v1alpha1.DeliveryTarget) { w.UID = "x" },
		"its generation":     func(_ *Seals, w *v1alpha1.WrapperIdentity, _ *v1alpha1.DeliveryTarget) { w.Generation++ },
		"the revision":       func(_ *Seals, _ *v1alpha1.WrapperIdentity, t *v1alpha1.DeliveryTarget) { t.Revision = "x" },
		"the rendering":      func(_ *Seals, _ *v1alpha1.WrapperIdentity, t *v1alpha1.DeliveryTarget) { t.Rendering = "x" },
		"a letter that moved from one field to the next": func(_ *Seals, _ *v1alpha1.WrapperIdentity, t *v1alpha1.DeliveryTarget) {
			t.Revision, t.Rendering = "rd", ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, w, g := seals, id, target
			change(&s, &w, &g)
			if s.Verify(seal, &w, &g) {
				t.Error("the seal is still valid")
			}
		})
	}
}

func TestWithoutAKeyNothingIsSealedAndNothingKnown(t *testing.T) {
	id := webIdentity
	for name, seals := range map[string]Seals{
		"no key": NewSeals(nil, "host", "east"), "no host": NewSeals([]byte("k"), "", "east"), "no member": NewSeals([]byte("k"), "host", ""),
	} {
		if seal := seals.Sign(&id, nil); seal != "" || seals.Verify("", &id, nil) {
			t.Errorf("%s: sealed %q, or no seal is known for one", name, seal)
		}
	}
}
