// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/wrapperevents"
	"github.com/fairlead-dev/fairlead/federate/placement"
)

// delete makes a wrapper that is being deleted leave every member, as spec.onDelete of the wrapper says. When the
// wrapper has left all members, delete removes the finalizer.
func (p *reconciliation) delete(ctx context.Context) (result ctrl.Result, err error) {
	if !controllerutil.ContainsFinalizer(objectOf(p.wrapper), v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if p.members, err = listMembers(ctx, p.client); err != nil {
		return ctrl.Result{}, err
	}
	swept, err := cascade{live: p.live, writes: &p.writes, now: p.now}.deleted(ctx, p.wrapper)
	if err != nil {
		return ctrl.Result{}, err
	}
	writer, observer := p.writer(p.wrapper), p.observer(p.key, p.wrapper, p.members)
	if swept {
		// A person deleted the namespace or the CRD, not this wrapper. The members keep the objects and the Deliveries
		// of the wrapper. The manager then reports these Deliveries as orphans.
		return ctrl.Result{}, writer.removeFinalizer(ctx)
	}
	if p.approvals, err = listApprovals(ctx, p.client, v1alpha1.Identity(p.wrapper)); err != nil {
		return ctrl.Result{}, err
	}
	p.overwrites = overwritesOf(p.approvals)
	departing := membersToLeave(&p.wrapper.WrapperStatus().Placement, observer.Holders(), p.members)
	still, released := release(p.wrapper, departing, p.approvals, p.members)
	p.decision.Status.Leaving = still
	for _, name := range departing {
		if !slices.Contains(still, name) {
			p.pusher.RemoveDesired(p.key, name)
		}
	}
	if released != nil {
		if err := writer.writeDecision(ctx, *released); err != nil {
			if apierrors.IsConflict(err) {
				return ctrl.Result{RequeueAfter: time.Second}, nil
			}
			return ctrl.Result{}, err
		}
	}
	var waiting []string
	for _, name := range still {
		desired := p.desiredOn(name, p.revision)
		// The deletion of a wrapper goes on even if spec.suspend of the wrapper is All. It pauses on members whose
		// MemberCluster has `spec.suspend: Pushes`.
		desired.Suspended = p.members[name].Spec.Suspend == v1alpha1.SuspendPushes
		p.pusher.SetDesired(name, desired)
		if !observer.HasLeft(name) {
			waiting = append(waiting, name)
		}
	}
	if len(waiting) == 0 {
		wrapperevents.Record(p.events, p.wrapper, wrapperevents.Kept(p.key, p.pusher.TakeKept(p.key), p.members)...)
		return ctrl.Result{}, writer.removeFinalizer(ctx)
	}
	p.decision.Status.Leaving = waiting
	return p.publish(ctx)
}

// release returns the members for which the deletion of a wrapper still waits. released is the placement that the manager
// has to write to the status before it removes the finalizer; nil if the status has it already. This placement records
// which members an Approval released, because the Approval may be deleted before the wrapper. For example, with
// --cascade=foreground the garbage collector first deletes the objects that the wrapper owns, and hostctl makes the
// wrapper the owner of its Approvals.
func release(
	w v1alpha1.Wrapper, departing []string, approvals []v1alpha1.Approval, members map[string]*v1alpha1.MemberCluster,
) (still []string, released *v1alpha1.PlacementStatus) {
	before := w.WrapperStatus().Placement
	still, heard := placement.Release(v1alpha1.Identity(w), departing, before.Released, approvals)
	heard = slices.DeleteFunc(heard, func(r v1alpha1.ReleasedCluster) bool { return members[r.Name] == nil })
	if equality.Semantic.DeepEqual(before.Released, heard) {
		return still, nil
	}
	decided := before.DeepCopy()
	decided.Released = heard
	gone := func(name string) bool { return slices.Contains(departing, name) && !slices.Contains(still, name) }
	decided.Clusters = slices.DeleteFunc(decided.Clusters, gone)
	decided.Withheld = slices.DeleteFunc(decided.Withheld, gone)
	decided.Leaving = slices.DeleteFunc(decided.Leaving, gone)
	return still, decided
}

// membersToLeave returns the members that a deleted wrapper has to leave, sorted. These are the members of the last
// decision and the holders, that is, the members with a Delivery of this wrapper's uid. It leaves out released members,
// and members without a MemberCluster, because the manager cannot reach those.
func membersToLeave(placed *v1alpha1.PlacementStatus, holders []string, members map[string]*v1alpha1.MemberCluster) []string {
	names := slices.Concat(placed.Clusters, placed.Leaving)
	for _, name := range holders {
		if !slices.ContainsFunc(placed.Released, func(r v1alpha1.ReleasedCluster) bool { return r.Name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return members[name] == nil })
}
