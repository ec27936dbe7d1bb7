// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// recalled makes the steps before the step apply without reading the Delivery: it uses the summary of the Delivery that
// the host has in memory.
type recalled struct {
	// summary is the summary of the Delivery; nil when the pass has to read the Delivery.
	summary   *deliveries.Summary
	desired   *plan.Desired
	todo      *plan.Work
	delivery  *delivery
	objects   *objects
	inventory *inventory
}

// intend writes the intent by a patch of those entries of the Delivery that change. The patch tests the uid and the
// generation of the Delivery, so the API server refuses it if the summary in memory is outdated. The answer to the patch
// has the whole Delivery.
//
// intended is false if the API server refused the patch, or if the Delivery in the answer is not what recorder.intend
// would have written. The pass then has to read the Delivery.
func (r *recalled) intend(ctx context.Context, intent []memberapi.Operation) (intended bool, err error) {
	err = r.delivery.patch(ctx, r.summary.UID, r.summary.Generation, intent)
	if err != nil {
		if memberapi.Answered(err) {
			return false, nil
		}
		return false, err
	}
	return r.accept(), nil
}

// isUsable reports whether the pass may use the summary of the Delivery instead of reading the Delivery. It may not if
// the summary lacks what the pass needs, or if a person may have to decide first.
func (r *recalled) isUsable() bool {
	is, want := r.summary, r.desired
	return is != nil && !r.todo.Unrecorded.Any() && is.Complete && is.Inventory != "" && !want.Leaving() && !want.Suspended && want.Overwrites == nil &&
		is.Wrapper.UID == want.Wrapper.UID && is.Wrapper.Generation <= want.Wrapper.Generation
}

// intentPatch decides about each item, as recorder.compare does, and returns the patch that writes the intent. It
// returns nil if the pass has to read the Delivery, for one of these reasons:
//
//   - an object is dropped, or objects are added at several places of the inventory;
//   - the manager has no key for the seal;
//   - the pass must not apply one of the objects;
//   - an object drifted, and the collector did not report it as gone;
//   - no object has to be applied.
func (r *recalled) intentPatch() []memberapi.Operation {
	inventory := make([]v1alpha1.InventoryEntry, 0, len(r.inventory.items))
	for _, it := range r.inventory.items {
		inventory = append(inventory, it.entry)
	}
	differs, ok := r.summary.Inventory.Compare(inventory)
	next := r.inventory.spec()
	if !ok || next.Seal == "" {
		return nil
	}
	patch := patchTarget(&next)
	due := false
	for i, it := range r.inventory.items {
		if it.refused {
			return nil
		}
		path := fmt.Sprintf("/spec/inventory/%d", i) // of the new inventory: the patch has added the entries before this one
		if differs.IsAdded(i) {
			it.unlisted, it.due, due = true, true, true
			patch = append(patch, memberapi.Operation{Op: "add", Path: path, Value: it.entry})
			continue
		}
		it.wasThere = true // the summary is complete, so the Delivery lists the object as Applied
		drift, drifted := r.todo.Drifted[it.id()]
		gone := r.todo.Gone[it.id()]
		switch {
		case drifted && (drift != v1alpha1.DriftGone || gone == ""):
			return nil
		case drifted:
			it.unlisted = true
			patch = append(patch,
				memberapi.Operation{Op: "test", Path: path + "/uid", Value: gone},
				memberapi.Operation{Op: "remove", Path: path + "/uid"},
				memberapi.Operation{Op: "remove", Path: path + "/fields"})
		case !slices.Contains(differs.Changed, i):
			it.entry.State = v1alpha1.EntryApplied
			continue
		}
		it.due, due = true, true
		patch = append(patch,
			memberapi.Operation{Op: "replace", Path: path + "/state", Value: it.entry.State},
			memberapi.Operation{Op: "replace", Path: path + "/rendering", Value: it.entry.Rendering})
	}
	if !due {
		return nil
	}
	return patch
}

// patchTarget returns the patch that writes every field of a Delivery's spec except the inventory.
func patchTarget(next *v1alpha1.DeliverySpec) []memberapi.Operation {
	return []memberapi.Operation{
		{Op: "replace", Path: "/spec/wrapper", Value: next.Wrapper},
		{Op: "replace", Path: "/spec/target", Value: next.Target},
		{Op: "add", Path: "/spec/seal", Value: next.Seal}, // "add" replaces a present seal
	}
}

// accept copies the uids and the digests of managedFields from the patched Delivery into the items. It reports
// whether the Delivery now is exactly what a pass that reads the Delivery would have written.
func (r *recalled) accept() bool {
	inventory := r.delivery.there.Spec.Inventory
	if len(inventory) != len(r.inventory.items) {
		return false
	}
	for i, it := range r.inventory.items {
		it.entry.UID, it.entry.Fields = inventory[i].UID, inventory[i].Fields
		it.recorded = it.entry.UID != ""
	}
	return equality.Semantic.DeepEqual(r.delivery.there.Spec, r.inventory.spec())
}
