// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// prepareRecalled makes the steps before apply with the summary of the Delivery that the host has in memory, so that
// the pass need not read the Delivery. If the pass needs an intent, prepareRecalled writes it by a patch. If it needs
// none, prepareRecalled applies the objects and records them.
//
// prepared is false if the pass has to read the Delivery and make these steps again.
func (p *Pass) prepareRecalled(ctx context.Context) (prepared bool, err error) {
	if !p.mayRecall() || p.render() != nil {
		return false, nil
	}
	if err := p.resolve(ctx); err != nil {
		return false, err
	}
	intent := p.recalledPatch()
	if intent == nil {
		return false, nil
	}
	if err := p.openNamespace(ctx); err != nil {
		return false, err
	}
	if slices.ContainsFunc(p.items, func(it *item) bool { return it.refused }) {
		return false, nil
	}
	if p.whyIntent() == "" {
		return p.applyWithoutIntent(ctx)
	}
	return p.intendRecalled(ctx, intent)
}

// intendRecalled writes the intent by a patch of those entries of the Delivery that change. The patch tests the uid and
// the generation of the Delivery, so the API server refuses it if the summary in memory is outdated. The answer to the
// patch has the whole Delivery.
//
// intended is false if the API server refused the patch, or if the Delivery in the answer is not what intend would have
// written. The pass then has to read the Delivery.
func (p *Pass) intendRecalled(ctx context.Context, intent []memberapi.Operation) (intended bool, err error) {
	err = p.delivery.patch(ctx, p.recalled.UID, p.recalled.Generation, intent)
	if err != nil {
		if memberapi.Answered(err) {
			return false, nil
		}
		return false, err
	}
	return p.acceptRecalled(), nil
}

// mayRecall reports whether the pass may use the summary of the Delivery instead of reading the Delivery. It may not if
// the summary lacks what the pass needs, or if a person may have to decide first.
func (p *Pass) mayRecall() bool {
	is, want := p.recalled, p.desired
	return is != nil && !p.todo.Unrecorded.Any() && is.Complete && is.Inventory != "" && !want.Leaving() && !want.Suspended && want.Overwrites == nil &&
		is.Wrapper.UID == want.Wrapper.UID && is.Wrapper.Generation <= want.Wrapper.Generation
}

// recalledPatch decides about each item, as compare does, and returns the patch that writes the intent. It returns nil
// if the pass has to read the Delivery, for one of these reasons:
//
//   - the set of objects changes;
//   - the manager has no key for the seal;
//   - the pass must not apply one of the objects;
//   - an object drifted, and the collector did not report it as gone;
//   - no object has to be applied.
func (p *Pass) recalledPatch() []memberapi.Operation {
	inventory := make([]v1alpha1.InventoryEntry, 0, len(p.items))
	for _, it := range p.items {
		inventory = append(inventory, it.entry)
	}
	differing, ok := p.recalled.Inventory.Differing(inventory)
	next := p.spec()
	if !ok || next.Seal == "" {
		return nil
	}
	patch := patchTarget(&next)
	due := false
	for i, it := range p.items {
		path := fmt.Sprintf("/spec/inventory/%d/", i)
		it.wasThere = true // the summary is complete, so the Delivery lists every object as Applied
		drift, drifted := p.drifted[it.id()]
		gone := p.gone[it.id()]
		switch {
		case it.refused, drifted && (drift != v1alpha1.DriftGone || gone == ""):
			return nil
		case drifted:
			it.unlisted = true
			patch = append(patch,
				memberapi.Operation{Op: "test", Path: path + "uid", Value: gone},
				memberapi.Operation{Op: "remove", Path: path + "uid"},
				memberapi.Operation{Op: "remove", Path: path + "fields"})
		case !slices.Contains(differing, i):
			it.entry.State = v1alpha1.EntryApplied
			continue
		}
		it.due, due = true, true
		patch = append(patch,
			memberapi.Operation{Op: "replace", Path: path + "state", Value: it.entry.State},
			memberapi.Operation{Op: "replace", Path: path + "rendering", Value: it.entry.Rendering})
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

// acceptRecalled copies the uids and the digests of managedFields from the patched Delivery into the items. It reports
// whether the Delivery now is exactly what a pass that reads the Delivery would have written.
func (p *Pass) acceptRecalled() bool {
	inventory := p.delivery.there.Spec.Inventory
	if len(inventory) != len(p.items) {
		return false
	}
	for i, it := range p.items {
		it.entry.UID, it.entry.Fields = inventory[i].UID, inventory[i].Fields
		it.recorded = it.entry.UID != ""
	}
	return equality.Semantic.DeepEqual(p.delivery.there.Spec, p.spec())
}
