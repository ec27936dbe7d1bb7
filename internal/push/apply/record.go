// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/push/prune"
)

// recorder writes to the Delivery what the pass is about to change, and what it has changed.
type recorder struct {
	desired   *plan.Desired
	todo      *plan.Work
	delivery  *delivery
	inventory *inventory
	pruner    *prune.Pruner
}

// intend writes to the Delivery what the pass is about to change, before the pass changes it: the target, the desired
// objects, and the listed objects that are to be removed. If the pass ends at any later point, the Delivery still lists
// every object that the wrapper has on the member.
func (r *recorder) intend(ctx context.Context) error {
	recorded := r.delivery.entries()
	takeover := r.delivery.there != nil && r.delivery.there.Spec.Wrapper.UID != r.desired.Wrapper.UID
	wanted := make(map[plan.ObjectID]bool, len(r.inventory.items))
	for _, it := range r.inventory.items {
		wanted[it.id()] = true
		entry, listed := recorded[it.id()]
		if !listed {
			it.due, it.unlisted = !it.refused, true
			continue
		}
		r.compare(it, entry, takeover)
	}
	for id, entry := range recorded {
		if !wanted[id] {
			entry.State = v1alpha1.EntryRemoving
			r.inventory.leaving = append(r.inventory.leaving, &prune.Removal{Entry: entry})
		}
	}
	prune.Sort(r.inventory.leaving)
	if takeover {
		if err := r.pruner.Identify(ctx, r.inventory.leaving, r.delivery.there.Spec.Wrapper.UID); err != nil {
			return err
		}
	}

	next := r.inventory.spec()
	if r.delivery.there != nil && equality.Semantic.DeepEqual(r.delivery.there.Spec, next) {
		return nil
	}
	if r.delivery.there == nil && r.desired.Leaving() {
		return nil
	}
	if r.delivery.there != nil && !r.inventory.anythingDue() && takesOnlyNewNames(&r.delivery.there.Spec, &next) {
		// Only the generation, or the name of the revision, is new. The objects are the same, so no write is needed.
		return nil
	}
	return r.delivery.write(ctx, next)
}

// compare decides whether the pass has to apply an object that the Delivery lists, and copies from the recorded entry
// what the new entry keeps. takeover is true if the Delivery belongs to an earlier wrapper of the same name, which this
// wrapper takes over.
func (r *recorder) compare(it *item, entry v1alpha1.InventoryEntry, takeover bool) {
	drift, drifted := r.todo.Drifted[it.id()]
	it.wasThere = entry.UID != ""
	it.recorded = entry.State == v1alpha1.EntryApplied && entry.UID != "" && !takeover
	it.entry.UID, it.entry.Fields, it.entry.Adopted = entry.UID, entry.Fields, entry.Adopted
	if it.entry.Resource == "" {
		it.entry.Resource = entry.Resource
	}
	// An unrecorded object was applied by an earlier pass that could not write the result to the Delivery. Its recorded
	// entry may be wrong, so the object does not count as current.
	current := it.recorded && entry.Rendering == it.entry.Rendering && !r.todo.Unrecorded.Has(it.id())
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
		if gone, ok := r.todo.Gone[it.id()]; ok && gone == entry.UID && entry.Adopted == "" {
			// The collector has reported the recorded object as gone. The intent clears the uid, so the method make need not
			// write the Delivery for that. If the object exists after all, the pass reads it and recognises it by its marks.
			// These marks are not enough to recognise an adopted object, so the entry of such an object keeps the uid.
			it.entry.UID, it.entry.Fields = "", ""
			it.unlisted = true
		}
	}
}

// note writes the present entries to the Delivery, before a step of the pass that must not be made without that record.
func (r *recorder) note(ctx context.Context) error {
	next := r.inventory.spec()
	if equality.Semantic.DeepEqual(r.delivery.there.Spec, next) {
		return nil
	}
	return r.delivery.write(ctx, next)
}

// record writes to the Delivery what the pass has applied and removed.
func (r *recorder) record(ctx context.Context) error {
	if err := r.writeRecord(ctx); err != nil {
		return err
	}
	r.inventory.forgetRecorded(r.todo.Unrecorded)
	return nil
}

// writeRecord writes the Delivery, unless its content would stay the same. If the wrapper leaves the member and no
// entry remains, it deletes the Delivery.
func (r *recorder) writeRecord(ctx context.Context) error {
	next := r.inventory.spec()
	if r.desired.Leaving() && len(next.Inventory) == 0 {
		return r.delivery.withdraw(ctx)
	}
	if r.delivery.there == nil || equality.Semantic.DeepEqual(r.delivery.there.Spec, next) ||
		equality.Semantic.DeepEqual(r.delivery.there.Spec.Inventory, next.Inventory) && takesOnlyNewNames(&r.delivery.there.Spec, &next) {
		return nil
	}
	return r.delivery.write(ctx, next)
}
