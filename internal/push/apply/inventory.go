// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/push/prune"
)

// inventory has the objects of one pass, and makes from them the spec of the Delivery.
type inventory struct {
	desired *plan.Desired
	// seals signs the Delivery. The zero value writes no seal.
	seals deliveries.Seals

	// items are the desired objects in install order. Pass.resolve sets them.
	items []*item
	// leaving are the inventory entries whose objects the pass removes, in reverse install order. recorder.intend sets
	// them.
	leaving []*prune.Removal
}

// spec returns the spec that the Delivery should have at this point of the pass, from the items and the removals.
func (v *inventory) spec() v1alpha1.DeliverySpec {
	spec := v1alpha1.DeliverySpec{Wrapper: v.desired.Wrapper}
	if !v.desired.Leaving() {
		spec.Target = &v1alpha1.DeliveryTarget{Revision: v.desired.Revision, Rendering: v.desired.Digest()}
	}
	for _, it := range v.items {
		// The inventory lists refused objects too. The member has the objects of spec.target only when every entry is Applied.
		// So a Pending entry tells a restarted manager that an object is still missing.
		spec.Inventory = append(spec.Inventory, it.entry)
	}
	for i := len(v.leaving) - 1; i >= 0; i-- {
		if r := v.leaving[i]; !r.Gone {
			spec.Inventory = append(spec.Inventory, r.Entry)
		}
	}
	spec.Seal = v.seals.Sign(&spec.Wrapper, spec.Target)
	return spec
}

// anythingToApply reports whether the pass has to apply some object. It has to if the Delivery does not record the
// object's desired state as applied, or if the object has drifted. recorded has the entries of the Delivery. A pass
// that applies nothing does not check the namespace.
func (v *inventory) anythingToApply(recorded map[plan.ObjectID]v1alpha1.InventoryEntry, drifted map[plan.ObjectID]v1alpha1.DriftKind) bool {
	for _, it := range v.items {
		if it.refused {
			continue
		}
		entry, ok := recorded[it.id()]
		_, drifts := drifted[it.id()]
		if !ok || drifts || entry.State != v1alpha1.EntryApplied || entry.Rendering != it.entry.Rendering {
			return true
		}
	}
	return false
}

// anythingDue reports whether the pass still has to apply or remove an object.
func (v *inventory) anythingDue() bool {
	return slices.ContainsFunc(v.items, func(it *item) bool { return it.due }) || len(v.leaving) > 0
}

// refuseAll makes the pass apply no object.
func (v *inventory) refuseAll() {
	for _, it := range v.items {
		it.refused = true
	}
}

// anyRefused reports whether the pass must not or cannot apply some object.
func (v *inventory) anyRefused() bool {
	return slices.ContainsFunc(v.items, func(it *item) bool { return it.refused })
}

// anyMissing reports whether some desired object on the member is absent, or still differs from the desired one.
func (v *inventory) anyMissing() bool { return slices.ContainsFunc(v.items, (*item).isMissing) }

// isMissing reports whether one desired object on the member is absent, or still differs from the desired one.
func (v *inventory) isMissing(id plan.ObjectID) bool {
	return slices.ContainsFunc(v.items, func(it *item) bool { return it.id() == id && it.isMissing() })
}

// forgetRecorded removes from unrecorded the objects whose content the Delivery now records. An object that the pass
// could not apply stays in unrecorded, because its entry may record an earlier content.
func (v *inventory) forgetRecorded(unrecorded plan.UnrecordedOf) {
	missing := make(map[plan.ObjectID]bool)
	for _, it := range v.items {
		missing[it.id()] = it.isMissing()
	}
	unrecorded.KeepOnly(func(id plan.ObjectID) bool { return missing[id] })
}

// takesOnlyNewNames reports whether two specs differ only in the wrapper's generation, the name of the revision, and
// the seal that covers both.
func takesOnlyNewNames(there, next *v1alpha1.DeliverySpec) bool {
	if there.Target == nil || next.Target == nil || there.Wrapper.UID != next.Wrapper.UID {
		return false
	}
	if there.Wrapper.Generation > next.Wrapper.Generation {
		// The member was ahead of the host, and a person has decided that the host's version counts. Without a write, the
		// Delivery would keep the higher generation.
		return false
	}
	renamed := *there
	renamed.Wrapper.Generation = next.Wrapper.Generation
	renamed.Target = next.Target
	renamed.Seal = next.Seal // the seal covers the wrapper and the target
	return there.Target.Rendering == next.Target.Rendering && equality.Semantic.DeepEqual(renamed, *next)
}
