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

// delete removes the wrapper from every member, as onDelete says. It removes the finalizer when that is done on all.
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
		// The user deleted the namespace or the CRD, not this wrapper. Members keep their objects and their
		// Deliveries, and their collectors report these as orphaned.
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
		// Deletion outranks suspension of the wrapper, not that of the member.
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

// release decides for which members a deleted wrapper still waits. First it records the members that an Approval
// released, because the Approval may be deleted before the wrapper. With --cascade=foreground the garbage collector
// deletes the wrapper's dependents while the wrapper still exists.
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

// membersToLeave are the members to leave, sorted: all that any decision placed, and all that hold a Delivery of this
// very wrapper, except for released ones. A member without a MemberCluster cannot be reached, and is left out.
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

// isDeletedByCascade reports whether the wrapper is deleted only because its namespace or its CRD is. Such a deletion
// states no intent about members (docs/design.md, section 7, invariant 4). It asks the API server until the answer is no:
// a later deletion of the namespace or the CRD comes after that of the wrapper.
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

// deletedBefore reports whether the deletion of a cluster-scoped object of the host began no later than the wrapper's.
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
		// This is a new object of that name: the one of the wrapper's time is gone. A creation time in the future proves
		// nothing: the host's clock was ahead then.
		return true, nil
	}
	return found.DeletionTimestamp != nil && !deleted.Before(found.DeletionTimestamp), nil
}
