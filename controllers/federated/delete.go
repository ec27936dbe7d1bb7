// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/placement"
)

// delete makes a wrapper that is being deleted leave every member, as spec.onDelete of the wrapper says. When the
// wrapper has left all members, delete removes the finalizer.
func (p *reconciliation) delete(ctx context.Context) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(p.object(), v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if err := p.listMembers(ctx); err != nil {
		return ctrl.Result{}, err
	}
	swept, err := p.isDeletedByCascade(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if swept {
		// A person deleted the namespace or the CRD, not this wrapper. The members keep the objects and the Deliveries
		// of the wrapper. The manager then reports these Deliveries as orphans.
		return ctrl.Result{}, p.removeFinalizer(ctx)
	}
	if err := p.listApprovals(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if err := p.release(ctx); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: time.Second}, nil
		}
		return ctrl.Result{}, err
	}
	var waiting []string
	for _, name := range p.decision.Status.Leaving {
		desired := p.desiredOn(p.members[name])
		// The deletion of a wrapper goes on even if spec.suspend of the wrapper is All. It pauses on members whose
		// MemberCluster has spec.suspend: Pushes.
		desired.Suspended = p.members[name].Spec.Suspend == v1alpha1.SuspendPushes
		p.pusher.SetDesired(name, desired)
		if !p.left(name) {
			waiting = append(waiting, name)
		}
	}
	if len(waiting) == 0 {
		p.recordKept()
		return ctrl.Result{}, p.removeFinalizer(ctx)
	}
	p.decision.Status.Leaving = waiting
	return p.publish(ctx)
}

// release decides for which members the deletion of a wrapper still waits. It also records in the status which members
// an Approval released, because the Approval may be deleted before the wrapper. For example, with --cascade=foreground
// the garbage collector first deletes the objects that the wrapper owns, and hostctl makes the wrapper the owner of its
// Approvals.
func (p *reconciliation) release(ctx context.Context) error {
	departing := p.membersToLeave()
	before := p.wrapper.WrapperStatus().Placement
	still, heard := placement.Release(v1alpha1.Identity(p.wrapper), departing, before.Released, p.approvals)
	p.decision.Status.Leaving = still
	for _, name := range departing {
		if !slices.Contains(still, name) {
			p.pusher.RemoveDesired(p.key, name)
		}
	}
	heard = slices.DeleteFunc(heard, func(r v1alpha1.ReleasedCluster) bool { return p.members[r.Name] == nil })
	if equality.Semantic.DeepEqual(before.Released, heard) {
		return nil
	}
	decided := *before.DeepCopy()
	decided.Released = heard
	gone := func(name string) bool { return slices.Contains(departing, name) && !slices.Contains(still, name) }
	decided.Clusters = slices.DeleteFunc(decided.Clusters, gone)
	decided.Withheld = slices.DeleteFunc(decided.Withheld, gone)
	decided.Leaving = slices.DeleteFunc(decided.Leaving, gone)
	return p.writeDecision(ctx, decided)
}

// membersToLeave returns the members that a deleted wrapper has to leave, sorted. These are the members of the last
// decision and the members with a Delivery of this wrapper's uid. It leaves out released members, and members without a
// MemberCluster, because the manager cannot reach those.
func (p *reconciliation) membersToLeave() []string {
	placed := p.wrapper.WrapperStatus().Placement
	names := slices.Concat(placed.Clusters, placed.Leaving)
	released := func(name string) bool {
		return slices.ContainsFunc(placed.Released, func(r v1alpha1.ReleasedCluster) bool { return r.Name == name })
	}
	for _, name := range p.deliveries.Holders(p.key) {
		if released(name) {
			continue
		}
		if seen := p.deliveries.Record(p.key, name).Summary; seen != nil && seen.Wrapper.UID == p.wrapper.GetUID() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return p.members[name] == nil })
}

// isDeletedByCascade reports whether the wrapper is being deleted only because its namespace or its CRD is being
// deleted. If so, the members keep their objects (docs/design.md, section 7, invariant 4). After the answer "no", later
// calls do not read the namespace and the CRD again: a deletion of the namespace or CRD that begins later did not cause
// the deletion of the wrapper.
func (p *reconciliation) isDeletedByCascade(ctx context.Context) (bool, error) {
	if p.writes.isIntended(p.wrapper) {
		return false, nil
	}
	if p.key.Namespace != "" {
		swept, err := p.deletedBefore(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, p.key.Namespace)
		if swept || err != nil {
			return swept, err
		}
	}
	swept, err := p.deletedBefore(ctx, schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		strings.ToLower(string(p.key.Kind))+"s."+v1alpha1.Group)
	if !swept && err == nil {
		p.writes.noteIntended(p.wrapper)
	}
	return swept, err
}

// deletedBefore reports whether the deletion of a cluster-scoped object of the host began before the wrapper's
// deletion, or at the same time. It also reports true if the object does not exist: its deletion is complete.
func (p *reconciliation) deletedBefore(ctx context.Context, gvk schema.GroupVersionKind, name string) (bool, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(gvk)
	err := p.live.Get(ctx, client.ObjectKey{Name: name}, found)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s %s: %w", gvk.Kind, name, err)
	}
	deleted := p.wrapper.GetDeletionTimestamp()
	if deleted.Before(&found.CreationTimestamp) && !found.CreationTimestamp.After(p.now) {
		// The namespace or CRD was created after the deletion of the wrapper began. So the earlier namespace or CRD, to
		// which the wrapper belonged, is gone. A creation time in the future proves nothing: the API server wrote that
		// time while its clock was ahead.
		return true, nil
	}
	return found.DeletionTimestamp != nil && !deleted.Before(found.DeletionTimestamp), nil
}
