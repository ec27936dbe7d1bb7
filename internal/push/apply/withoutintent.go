// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// whyIntent returns the reason why the pass has to write its intent before the first object; "" if it may omit the intent.
func (p *Pass) whyIntent() string {
	change := plan.Change{Work: p.todo, SaysKeep: p.saysKeep(), IsPaced: p.desired.IsPaced}
	for i, it := range p.items {
		if it.due {
			change.Objects = append(change.Objects, plan.ChangedObject{
				ID: it.id(), UID: p.recalled.Inventory.UID(i), GivesReplicas: it.mayGiveReplicas(),
			})
		}
	}
	return change.WhyIntent()
}

// saysKeep reports whether an object of the rendering has the annotation keep. A removal decides by the annotation of the object on
// the member. So it must never differ from the annotation in the rendering that the Delivery records.
func (p *Pass) saysKeep() bool {
	return p.rendering != nil && slices.ContainsFunc(p.rendering.Objects, func(o render.Object) bool { return o.Keep != "" })
}

// applyWithoutIntent applies the changed objects by their recorded uids, and then records them in one patch of the Delivery. The
// Delivery lists all of them already, so a pass that dies in between leaves no object without a record. It may leave an object
// whose content differs from the recorded one. The next pass and the collector find that.
//
// recorded is false when the member refuses an object or the record, and when an object turns out to be adopted. The pass then
// reads the Delivery, and begins again with an intent. todo.Unrecorded has each applied object until a Delivery records it.
func (p *Pass) applyWithoutIntent(ctx context.Context) (recorded bool, err error) {
	var applied []int
	for i, it := range p.items {
		if !it.due {
			continue
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		p.todo.Unrecorded.Add(it.id())
		_, err := p.applier.applyExactly(ctx, it, p.recalled.Inventory.UID(i), "")
		switch {
		case err != nil && memberapi.AnsweredAbout(it.entry.Group, err):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("applying %s to member %s: %w", it, p.member.Conn.Name(), err)
		}
		p.applier.applied(it)
		applied = append(applied, i)
	}
	record := p.recordRecalled(applied)
	err = p.delivery.patch(ctx, p.recalled.UID, p.recalled.Generation, record)
	for tries := 0; tries < looksAgain && apierrors.IsConflict(err); tries++ { // a status was written at the same time
		err = p.delivery.patch(ctx, p.recalled.UID, p.recalled.Generation, record)
	}
	switch {
	case err != nil && memberapi.Answered(err):
		return false, nil
	case err != nil:
		return false, err
	}
	if !p.acceptRecalled() {
		return false, nil
	}
	p.forgetRecorded()
	return true, nil
}

// recordRecalled is the change to the Delivery after these items were applied. The patch fails if an entry has another uid than
// the applied object.
func (p *Pass) recordRecalled(applied []int) []memberapi.Operation {
	next := p.spec()
	patch := patchTarget(&next)
	for _, i := range applied {
		path, entry := fmt.Sprintf("/spec/inventory/%d/", i), &p.items[i].entry
		patch = append(patch,
			memberapi.Operation{Op: "test", Path: path + "uid", Value: entry.UID},
			memberapi.Operation{Op: "replace", Path: path + "rendering", Value: entry.Rendering},
			memberapi.Operation{Op: "add", Path: path + "fields", Value: entry.Fields}) // which replaces the present ones
	}
	return patch
}

// forgetRecorded removes from Unrecorded the objects that the Delivery records now. An object that the pass could not apply stays
// there: its entry may record an earlier content.
func (p *Pass) forgetRecorded() {
	missing := make(map[plan.ObjectID]bool)
	for _, it := range p.items {
		missing[it.id()] = it.isMissing()
	}
	p.todo.Unrecorded.KeepOnly(func(id plan.ObjectID) bool { return missing[id] })
}
