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

// intend records the planned changes before they happen: the target, and the union of the listed and the desired
// objects. From here on the pass can die at any point and no object is lost.
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
		// Another generation or revision that renders to the very same objects is no reason to write.
		return nil
	}
	return p.delivery.write(ctx, next)
}

// compare decides about an object that the Delivery lists already.
func (p *Pass) compare(it *item, entry v1alpha1.InventoryEntry, takeover bool) {
	drift, drifted := p.drifted[it.id()]
	it.wasThere = entry.UID != ""
	it.recorded = entry.State == v1alpha1.EntryApplied && entry.UID != "" && !takeover
	it.entry.UID, it.entry.Fields, it.entry.Adopted = entry.UID, entry.Fields, entry.Adopted
	if it.entry.Resource == "" {
		it.entry.Resource = entry.Resource
	}
	// An earlier pass may have applied the object without recording that. Its entry may then be wrong.
	current := it.recorded && entry.Rendering == it.entry.Rendering && !p.todo.Unrecorded.Has(it.id())
	switch {
	case it.refused:
		// The recorded entry stays. The Delivery does not forget an object that cannot be reached or must not be
		// written. Nor does the object count as delivered while it differs from the desired one.
		it.entry.Rendering = entry.Rendering
		if current {
			it.entry.State = v1alpha1.EntryApplied
		}
	case current && !drifted:
		it.entry.State = v1alpha1.EntryApplied
	case current && drift == v1alpha1.DriftChanged:
		// The repair restores Fairlead's fields with the recorded digest: the Delivery does not change.
		it.entry.State, it.due = v1alpha1.EntryApplied, true
	default:
		it.due = true
		if drifted && drift != v1alpha1.DriftChanged {
			it.recorded = false
		}
		if gone, ok := p.gone[it.id()]; ok && gone == entry.UID && entry.Adopted == "" {
			// make would record this before it makes another object; here it is part of the same write. If the
			// recorded object exists after all, its marks show that it is Fairlead's. The marks of an adopted object
			// would not show that.
			it.entry.UID, it.entry.Fields = "", ""
			it.unlisted = true
		}
	}
}

// spec is the new spec of the Delivery.
func (p *Pass) spec() v1alpha1.DeliverySpec {
	spec := v1alpha1.DeliverySpec{Wrapper: p.desired.Wrapper}
	if !p.desired.Leaving() {
		spec.Target = &v1alpha1.DeliveryTarget{Revision: p.desired.Revision, Rendering: p.desired.Digest()}
	}
	for _, it := range p.items {
		// The inventory lists refused objects too, as Pending. A member holds its target only if every entry is
		// Applied. After a restart the manager learns only from the inventory that an object is missing.
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

// takesOnlyNewNames reports whether two specs differ only in the generation and in the name of the revision.
func takesOnlyNewNames(there, next *v1alpha1.DeliverySpec) bool {
	if there.Target == nil || next.Target == nil || there.Wrapper.UID != next.Wrapper.UID {
		return false
	}
	if there.Wrapper.Generation > next.Wrapper.Generation {
		// A person has decided that the host's version counts: the member must not stay ahead of it.
		return false
	}
	renamed := *there
	renamed.Wrapper.Generation = next.Wrapper.Generation
	renamed.Target = next.Target
	renamed.Seal = next.Seal // which is over both
	return there.Target.Rendering == next.Target.Rendering && equality.Semantic.DeepEqual(renamed, *next)
}
