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

// prepareRecalled makes the steps before apply without a read of the Delivery: it uses the summary that the host remembers. The
// pass then writes its intent from the summary, or applies and records the objects without an intent.
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

// intendRecalled patches the entries that change. The patch names the uid and the generation, so it fails when the remembered
// Delivery is not the present one. The answer brings the whole Delivery, and must be what intend would have written.
//
// intended is false if the pass has to read the Delivery. It has then written nothing.
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

// mayRecall reports whether the summary has all that a pass without a read needs. If a person may have to decide about
// the pair, the pass reads the Delivery.
func (p *Pass) mayRecall() bool {
	is, want := p.recalled, p.desired
	return is != nil && !p.todo.Unrecorded.Any() && is.Complete && is.Inventory != "" && !want.Leaving() && !want.Suspended && want.Overwrites == nil &&
		is.Wrapper.UID == want.Wrapper.UID && is.Wrapper.Generation <= want.Wrapper.Generation
}

// recalledPatch decides about each item, as compare does, and returns the change to the Delivery. It is nil if the
// pass has to read: when the set of objects changes, when there is nothing to apply, and for drift that leaves the
// Delivery as it is.
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
		it.wasThere = true // the recalled Delivery lists every object as Applied
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

// patchTarget writes all of a spec but its inventory.
func patchTarget(next *v1alpha1.DeliverySpec) []memberapi.Operation {
	return []memberapi.Operation{
		{Op: "replace", Path: "/spec/wrapper", Value: next.Wrapper},
		{Op: "replace", Path: "/spec/target", Value: next.Target},
		{Op: "add", Path: "/spec/seal", Value: next.Seal}, // which replaces the present one
	}
}

// acceptRecalled takes the uids and fields from the patched Delivery. It reports whether the Delivery is now
// exactly as a pass that reads it would have written it.
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
