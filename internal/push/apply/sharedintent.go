// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// maxShared bounds the JSON of the objects of a pass that shares its intent, in bytes: they stay in memory while the pass waits.
const maxShared = 64 << 10

// SharedIntent prepares a pass of a new pair whose intent is written to the member's list of shared intents instead of a Delivery. It
// returns that intent; nil if the pass must write its own, because it may do more than create absent objects. After a nil the caller
// makes another pass.
func (p *Pass) SharedIntent(ctx context.Context) (*v1alpha1.DeliverySpec, error) {
	want := p.desired
	if !p.todo.IsNew || want.Leaving() || want.Suspended || want.Overwrites != nil || want.IsPaced || p.todo.Unrecorded.Any() || p.render() != nil {
		return nil, nil
	}
	size := 0
	for i := range p.rendering.Objects {
		size += len(p.rendering.Objects[i].JSON)
	}
	if size > maxShared {
		return nil, nil
	}
	if err := p.resolve(ctx); err != nil {
		return nil, err
	}
	for _, it := range p.inventory.items {
		it.unlisted, it.due = true, true
		if it.refused || !p.applier.createsUnread(ctx, it) {
			return nil, nil
		}
	}
	if err := p.openNamespace(ctx); err != nil || p.inventory.anyRefused() {
		return nil, err
	}
	intent := p.inventory.spec()
	return &intent, nil
}

// RunShared creates the objects of a pass that SharedIntent has prepared, and then the Delivery, which records them. The member's list of
// shared intents has to have the intent.
//
// isRecorded is false if an object or the Delivery could not be created. Then the caller makes the Delivery of the intent, and another
// pass, which finds out why.
func (p *Pass) RunShared(ctx context.Context) (outcome plan.Outcome, isRecorded bool, err error) {
	if err := p.openNamespace(ctx); err != nil || p.inventory.anyRefused() { // the pass may have waited since SharedIntent
		return outcome, false, err
	}
	for _, it := range p.inventory.items {
		if err := ctx.Err(); err != nil {
			return outcome, false, err
		}
		if err := p.applier.createShared(ctx, it); err != nil {
			return outcome, false, err
		}
		if it.due {
			return outcome, false, nil
		}
		p.applier.objects.applied(it)
	}
	if err := p.delivery.write(ctx, p.inventory.spec()); err != nil {
		if memberapi.Answered(err) {
			return outcome, false, nil
		}
		return outcome, false, err
	}
	return p.conclude(nil), true, nil
}

// createShared creates an object that no Delivery lists. it.due stays true if the API server did not create it.
func (a *applier) createShared(ctx context.Context, it *item) error {
	if a.names != nil {
		a.names.LockKey(it.mark())
		defer func() { _ = a.names.UnlockKey(it.mark()) }() // UnlockKey fails only for a key that is not locked
	}
	_, err := a.applyUnlisted(ctx, it)
	return err
}
