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

// whyIntent returns why the pass has to write its intent to the Delivery before it applies the first object; "" if the
// pass may leave out the intent.
func (r *recalled) whyIntent(rendering *render.Rendering) string {
	change := plan.Change{Work: r.todo, SaysKeep: saysKeep(rendering), IsPaced: r.desired.IsPaced}
	for i, it := range r.inventory.items {
		if !it.wasThere {
			return "the Delivery does not list an object"
		}
		if it.due {
			change.Objects = append(change.Objects, plan.ChangedObject{
				ID: it.id(), UID: r.summary.Inventory.UID(i), GivesReplicas: it.mayGiveReplicas(),
			})
		}
	}
	return change.WhyIntent()
}

// applyWithoutIntent applies the changed objects by their recorded uids, and then records the result in one patch of
// the Delivery. The Delivery lists all these objects before the pass begins. So if the pass ends before the patch, no
// object lacks an entry. But an object may then have another content than its entry says. The next pass and the
// collector detect that.
//
// recorded is false if the API server refuses an object or the patch, or if an object turns out to be adopted. The pass
// then reads the Delivery and begins again, with an intent. Each applied object is in todo.Unrecorded until a Delivery
// records its content.
func (r *recalled) applyWithoutIntent(ctx context.Context) (recorded bool, err error) {
	var applied []int
	for i, it := range r.inventory.items {
		if !it.due {
			continue
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		r.todo.Unrecorded.Add(it.id())
		_, err := r.objects.applyExactly(ctx, it, r.summary.Inventory.UID(i), "")
		switch {
		case err != nil && memberapi.AnsweredAbout(it.entry.Group, err):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("applying %s to member %s: %w", it, r.objects.conn.Name(), err)
		}
		r.objects.applied(it)
		applied = append(applied, i)
	}
	record := r.recordPatch(applied)
	err = r.delivery.patch(ctx, r.summary.UID, r.summary.Generation, record)
	for tries := 0; tries < looksAgain && apierrors.IsConflict(err); tries++ { // the collector wrote the status at the same time
		err = r.delivery.patch(ctx, r.summary.UID, r.summary.Generation, record)
	}
	switch {
	case err != nil && memberapi.Answered(err):
		return false, nil
	case err != nil:
		return false, err
	}
	if !r.accept() {
		return false, nil
	}
	r.inventory.forgetRecorded(r.todo.Unrecorded)
	return true, nil
}

// recordPatch returns the patch that records applied items in the Delivery. applied has their indexes in the items.
// The API server refuses the patch if the uid of an entry is not the uid of the applied object.
func (r *recalled) recordPatch(applied []int) []memberapi.Operation {
	next := r.inventory.spec()
	patch := patchTarget(&next)
	for _, i := range applied {
		path, entry := fmt.Sprintf("/spec/inventory/%d/", i), &r.inventory.items[i].entry
		patch = append(patch,
			memberapi.Operation{Op: "test", Path: path + "uid", Value: entry.UID},
			memberapi.Operation{Op: "replace", Path: path + "rendering", Value: entry.Rendering},
			memberapi.Operation{Op: "add", Path: path + "fields", Value: entry.Fields}) // "add" replaces a present value
	}
	return patch
}

// saysKeep reports whether an object of the rendering has the annotation keep. Such a rendering needs an intent, because
// a removal obeys the annotation that the object has on the member. Without an intent, an interrupted pass could leave
// an object whose annotation differs from that in the rendering that the Delivery records.
func saysKeep(rendering *render.Rendering) bool {
	return rendering != nil && slices.ContainsFunc(rendering.Objects, func(o render.Object) bool { return o.Keep != "" })
}
