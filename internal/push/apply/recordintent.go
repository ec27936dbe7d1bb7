// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/push/prune"
)

// intend writes to the Delivery what the pass is about to change, before the pass changes it: the target, the desired
// objects, and the listed objects that are to be removed. If the pass ends at any later point, the Delivery still lists
// every object that the wrapper has on the member.
func (p *Pass) intend(ctx context.Context) error {
	recorded := p.delivery.entries()
	takeover := p.delivery.there != nil && p.delivery.there.Spec.Wrapper.UID != p.desired.Wrapper.UID
	wanted := make(map[plan.ObjectID]bool, len(p.items))
	for _, it := range p.items {
		wanted[it.id()] = true
		entry, listed := recorded[it.id()]
		if !listed {
			it.due, it.unlisted = !it.refused, true
			continue
		}
		p.compare(it, entry, takeover)
	}
	for id, entry := range recorded {
		if !wanted[id] {
			entry.State = v1alpha1.EntryRemoving
			p.leaving = append(p.leaving, &prune.Removal{Entry: entry})
		}
	}
	prune.Sort(p.leaving)
	if takeover {
		if err := p.pruner.Identify(ctx, p.leaving, p.delivery.there.Spec.Wrapper.UID); err != nil {
			return err
		}
	}

	next := p.spec()
	if p.delivery.there != nil && equality.Semantic.DeepEqual(p.delivery.there.Spec, next) {
		return nil
	}
	if p.delivery.there == nil && p.desired.Leaving() {
		return nil
	}
	if p.delivery.there != nil && !p.anythingDue() && takesOnlyNewNames(&p.delivery.there.Spec, &next) {
		// Only the generation, or the name of the revision, is new. The objects are the same, so no write is needed.
		return nil
	}
	return p.delivery.write(ctx, next)
}

// compare decides whether the pass has to apply an object that the Delivery lists, and copies from the recorded entry
// what the new entry keeps. takeover is true if the Delivery belongs to an earlier wrapper of the same name, which this
// wrapper takes over.
func (p *Pass) compare(it *item, entry v1alpha1.InventoryEntry, takeover bool) {
	drift, drifted := p.drifted[it.id()]
	it.wasThere = entry.UID != ""
	it.recorded = entry.State == v1alpha1.EntryApplied && entry.UID != "" && !takeover
	it.entry.UID, it.entry.Fields, it.entry.Adopted = entry.UID, entry.Fields, entry.Adopted
	if it.entry.Resource == "" {
		it.entry.Resource = entry.Resource
	}
	// An unrecorded object was applied by an earlier pass that could not write the result to the Delivery. Its recorded
	// entry may be wrong, so the object does not count as current.
	current := it.recorded && entry.Rendering == it.entry.Rendering && !p.todo.Unrecorded.Has(it.id())
	switch {
	case it.refused:
		// The pass must not or cannot apply this object. Its entry stays, so that the Delivery does not forget the object.
		// The entry keeps the recorded rendering, because the object does not have the desired one.
		it.entry.Rendering = entry.Rendering
		if current {
			it.entry.State = v1alpha1.EntryApplied
		}
	case current && !drifted:
		it.entry.State = v1alpha1.EntryApplied
	case current && drift == v1alpha1.DriftChanged:
		// The repair brings the object back to the content that the Delivery has recorded, so the entry stays Applied.
		it.entry.State, it.due = v1alpha1.EntryApplied, true
	default:
		it.due = true
		if drifted && drift != v1alpha1.DriftChanged {
			it.recorded = false
		}
		if gone, ok := p.gone[it.id()]; ok && gone == entry.UID && entry.Adopted == "" {
			// The collector has reported the recorded object as gone. Clearing the uid in this write saves the method make a
			// write of its own. If the object exists after all, the pass recognises it by its marks when it reads it. An adopted
			// object cannot be recognised by these marks, so its entry keeps the uid.
			it.entry.UID, it.entry.Fields = "", ""
			it.unlisted = true
		}
	}
}

// spec returns the spec that the Delivery should have at this point of the pass, from the items and the removals.
func (p *Pass) spec() v1alpha1.DeliverySpec {
	spec := v1alpha1.DeliverySpec{Wrapper: p.desired.Wrapper}
	if !p.desired.Leaving() {
		spec.Target = &v1alpha1.DeliveryTarget{Revision: p.desired.Revision, Rendering: p.desired.Digest()}
	}
	for _, it := range p.items {
		// The inventory lists refused objects too. The member has its target only when every entry is Applied, so an entry
		// that is Pending tells the manager after a restart that an object is still missing.
		spec.Inventory = append(spec.Inventory, it.entry)
	}
	for i := len(p.leaving) - 1; i >= 0; i-- {
		if r := p.leaving[i]; !r.Gone {
			spec.Inventory = append(spec.Inventory, r.Entry)
		}
	}
	spec.Seal = p.delivery.seals.Sign(&spec.Wrapper, spec.Target)
	return spec
}

func (p *Pass) anythingDue() bool {
	return slices.ContainsFunc(p.items, func(it *item) bool { return it.due }) || len(p.leaving) > 0
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
