// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// delivery reads and writes the Delivery of one wrapper on one member during a pass.
type delivery struct {
	conn    *member.Conn
	desired *plan.Desired
	// isNew is true if the host knows of no Delivery of the wrapper on the member. The pass then creates the Delivery
	// without reading first. If the member has one after all, the API server refuses the creation.
	isNew bool
	// seals signs and verifies the seals of Deliveries on this member. The zero value writes no seal and accepts none.
	seals deliveries.Seals

	// there holds the wrapper's Delivery on the member, as the pass last read or wrote it; nil when the member has none.
	// Its spec has no requests for evidence: these are in the field requests.
	there *v1alpha1.Delivery
	// requests are the requests for evidence that the Delivery has. A pass neither needs nor changes them. They are no part of the
	// desired state, so the pass ignores them when it compares two specs. Each write of the spec keeps them.
	requests []v1alpha1.EvidenceRequest
	// writes is the number of writes and deletions of the Delivery that the API server accepted.
	writes int
}

// isSealed reports whether the seal proves that this host wrote the member's Delivery.
func (d *delivery) isSealed() bool {
	return d.seals.Verify(d.there.Spec.Seal, &d.there.Spec.Wrapper, d.there.Spec.Target)
}

// read reads the wrapper's Delivery from the member. A member that does not serve Deliveries has none: an unjoin may have removed their
// CRD. If this wrapper is to leave the member, a Delivery of another wrapper of the same name counts as absent: the objects that it lists
// belong to that other wrapper.
func (d *delivery) read(ctx context.Context) error {
	if d.isNew && d.there == nil {
		return nil
	}
	found, err := memberapi.ReadDelivery(ctx, d.conn, d.name())
	if apierrors.IsNotFound(err) {
		d.there = nil
		return nil
	}
	if err != nil {
		return err
	}
	if d.desired.Leaving() && found.Spec.Wrapper.UID != d.desired.Wrapper.UID {
		return nil
	}
	d.take(found)
	return nil
}

// take stores in d.there a Delivery that came from the member. It moves the requests for evidence from the spec of that
// Delivery to d.requests.
func (d *delivery) take(found *v1alpha1.Delivery) {
	d.there, d.requests = found, found.Spec.Requests
	found.Spec.Requests = nil
}

// write writes spec to the Delivery. The request tests the uid and the generation that the pass read last, so that two
// managers cannot overwrite each other's spec. The API server also answers with a conflict when the collector writes
// the status at the same time. The uid and the generation are then unchanged, and write tries again.
func (d *delivery) write(ctx context.Context, spec v1alpha1.DeliverySpec) error {
	err := d.writeOnce(ctx, spec)
	for tries := 0; tries < looksAgain && apierrors.IsConflict(err) && d.isUnchanged(ctx); tries++ {
		err = d.writeOnce(ctx, spec)
	}
	return err
}

// isUnchanged reads the Delivery again, and reports whether it still has the uid and the generation that the pass
// knows.
func (d *delivery) isUnchanged(ctx context.Context) bool {
	if d.there == nil {
		return false
	}
	known := d.there
	if err := d.read(ctx); err != nil || d.there == nil || d.there.UID != known.UID || d.there.Generation != known.Generation {
		d.there = known
		return false
	}
	return true
}

func (d *delivery) writeOnce(ctx context.Context, spec v1alpha1.DeliverySpec) error {
	if d.there != nil {
		if d.there.Spec.Wrapper.UID == spec.Wrapper.UID { // the requests were for this wrapper, and not for an earlier one of its name
			spec.Requests = d.requests
		}
		return d.patch(ctx, d.there.UID, d.there.Generation, []memberapi.Operation{{Op: "replace", Path: "/spec", Value: spec}})
	}
	return d.wrote(memberapi.CreateDelivery(ctx, d.conn, d.name(), nil, &spec))
}

// patch changes the Delivery if it has the given uid and generation. If it does not, the API server answers 422.
func (d *delivery) patch(ctx context.Context, uid types.UID, generation int64, changes []memberapi.Operation) error {
	return d.wrote(memberapi.PatchDelivery(ctx, d.conn, d.name(), append(memberapi.UnchangedSince(uid, generation), changes...)))
}

// wrote takes the result of a write.
func (d *delivery) wrote(written *v1alpha1.Delivery, err error) error {
	if err != nil {
		return err
	}
	d.take(written)
	d.writes++
	return nil
}

func (d *delivery) name() string { return deliveries.KeyOf(d.desired.Wrapper).Delivery() }

// withdraw deletes the Delivery after the wrapper has left the member.
func (d *delivery) withdraw(ctx context.Context) error {
	if d.there == nil {
		return nil
	}
	err := d.withdrawOnce(ctx)
	for tries := 0; tries < looksAgain && apierrors.IsConflict(err) && d.isUnchanged(ctx); tries++ {
		err = d.withdrawOnce(ctx)
	}
	if err != nil && !memberapi.IsAbsent(err) {
		return fmt.Errorf("deleting Delivery %s on member %s: %w", d.there.Name, d.conn.Name(), err)
	}
	if err == nil {
		d.writes++
	}
	d.there = nil
	return nil
}

func (d *delivery) withdrawOnce(ctx context.Context) error {
	return memberapi.DeleteExactly(ctx, d.conn, deliveries.Path(d.there.Name), metav1.Preconditions{
		UID: &d.there.UID, ResourceVersion: &d.there.ResourceVersion,
	})
}

// entries returns the entries of the Delivery's inventory, by the IDs of their objects.
func (d *delivery) entries() map[plan.ObjectID]v1alpha1.InventoryEntry {
	if d.there == nil {
		return nil
	}
	entries := make(map[plan.ObjectID]v1alpha1.InventoryEntry, len(d.there.Spec.Inventory))
	for _, e := range d.there.Spec.Inventory {
		entries[plan.IDOf(&e)] = e
	}
	return entries
}

// hold returns why the pass must write nothing to the member: the wrapper or the member is suspended, or a person has
// to decide whether the host may overwrite the member's Delivery. It returns nil when the pass may write.
func (d *delivery) hold() *memberapi.Trouble {
	if d.desired.Suspended {
		return &memberapi.Trouble{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonSuspended,
			Message: "the manager writes nothing to the member: spec.suspend of the wrapper is All, or spec.suspend of the MemberCluster is Pushes"}
	}
	if d.there == nil {
		return nil
	}
	if d.desired.MayOverwrite(d.there) {
		return nil
	}
	there, want := &d.there.Spec.Wrapper, &d.desired.Wrapper
	switch {
	case there.UID == want.UID && there.Generation > want.Generation:
		return overtaken(d.there, v1alpha1.ReasonHostBehindMember,
			"the member has generation %d of this wrapper, but the host has only %d: `%s` shows the ways out; was the host restored from a backup?",
			there.Generation, want.Generation, recoverCommand(want))
	case there.UID != want.UID && !d.isSealed():
		return overtaken(d.there, v1alpha1.ReasonWrapperReplaced,
			"the member has a Delivery of this name that this host has not sealed: `%s` shows the ways out; that Delivery names wrapper uid %s",
			recoverCommand(want), there.UID)
	case there.UID != want.UID && (d.there.Spec.Target == nil || d.there.Spec.Target.Rendering != d.desired.Digest()):
		return overtaken(d.there, v1alpha1.ReasonWrapperReplaced,
			"the member has other objects of an earlier wrapper of this name: `%s` shows the ways out; that wrapper had uid %s",
			recoverCommand(want), there.UID)
	}
	return nil
}

// overtaken is the trouble with a Delivery that the host must not overwrite on its own. A person has to decide whether
// the host's or the member's version counts.
func overtaken(there *v1alpha1.Delivery, reason, format string, args ...any) *memberapi.Trouble {
	return &memberapi.Trouble{State: v1alpha1.StateHeld, Reason: reason, Message: fmt.Sprintf(format, args...),
		Overtaken: &v1alpha1.DeliveryVersion{UID: there.UID, Generation: there.Generation}}
}

// recoverCommand is the command that shows a person the ways out for a wrapper that is held on a member.
func recoverCommand(w *v1alpha1.WrapperIdentity) string {
	if w.Kind == v1alpha1.KindClusterFederated {
		return "hostctl recover cfed/" + w.Name
	}
	return "hostctl recover " + w.Name + " -n " + w.Namespace
}

// WriteRequests sets the requests for evidence in a Delivery, and returns the Delivery. It changes nothing else, so it needs no pass. The
// API server answers 422 if the Delivery has another uid, or belongs to another wrapper. It refuses the write if its CRD of
// Deliveries lacks the field spec.requests (see memberapi.MissingField).
func WriteRequests(
	ctx context.Context, conn *member.Conn, key deliveries.Key, delivery, wrapper types.UID, requests []v1alpha1.EvidenceRequest,
) (*v1alpha1.Delivery, error) {
	if requests == nil {
		requests = []v1alpha1.EvidenceRequest{} // null is no list
	}
	patch := []memberapi.Operation{
		{Op: "test", Path: "/metadata/uid", Value: delivery},
		{Op: "test", Path: "/spec/wrapper/uid", Value: wrapper},
		{Op: "add", Path: "/spec/requests", Value: requests}, // "add" replaces a present list
	}
	if len(requests) == 0 {
		patch = append(patch, memberapi.Operation{Op: "remove", Path: "/spec/requests"})
	}
	return memberapi.PatchDelivery(ctx, conn, key.Delivery(), patch)
}
