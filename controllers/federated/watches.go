// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/observed"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// deletionOrFinalizersChanged passes a wrapper whose deletion began or whose finalizers changed. Some versions of
// Kubernetes do not raise the generation for such a change.
var deletionOrFinalizersChanged = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return true },
	GenericFunc: func(event.GenericEvent) bool { return true },
	DeleteFunc:  func(event.DeleteEvent) bool { return true },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			!slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	},
}

// placementChanged passes a MemberCluster when its spec, its labels or its deletion changed, because decisions,
// renderings and pushes depend on these. It ignores changes of the status: the fleet reports whether a member is
// usable.
var placementChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		was, okWas := e.ObjectOld.(*v1alpha1.MemberCluster)
		is, okIs := e.ObjectNew.(*v1alpha1.MemberCluster)
		return !okWas || !okIs || was.Generation != is.Generation || !maps.Equal(was.Labels, is.Labels) ||
			was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero()
	},
}

// collectorChanged passes a MemberCluster when its collector becomes ready, or stops being ready. Only rollouts and
// versions (`approve: Latest`) depend on the readiness of a collector.
var collectorChanged = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		was, okWas := e.ObjectOld.(*v1alpha1.MemberCluster)
		is, okIs := e.ObjectNew.(*v1alpha1.MemberCluster)
		return okWas && okIs && observed.IsCollectorSilent(was) != observed.IsCollectorSilent(is)
	},
}

// all returns every wrapper of this scope, because a change of a MemberCluster may change the placement of any wrapper.
func (r *Reconciler) all(ctx context.Context, _ client.Object) []reconcile.Request {
	var requests []reconcile.Request
	_ = r.each(ctx, func(w v1alpha1.Wrapper) {
		key := client.ObjectKeyFromObject(w.(client.Object)) //nolint:forcetypeassert // both wrappers are client.Objects
		requests = append(requests, reconcile.Request{NamespacedName: key})
	})
	return requests
}

// approved maps an Approval to a reconcile of the wrapper that the Approval names. It returns nothing if that wrapper
// is of the other scope, or if the Approval is not in the namespace for Approvals of that wrapper.
func (r *Reconciler) approved(_ context.Context, obj client.Object) []reconcile.Request {
	approval, ok := obj.(*v1alpha1.Approval)
	if !ok || approval.Spec.Wrapper.Kind != r.kind {
		return nil
	}
	id := v1alpha1.WrapperIdentity{Kind: r.kind, Name: approval.Spec.Wrapper.Name}
	if r.kind == v1alpha1.KindFederated {
		id.Namespace = approval.Namespace
	}
	if id.Beside() != approval.Namespace {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: id.Namespace, Name: id.Name}}}
}

// takingFrom returns the wrappers for which the manager takes versions from the reports of a member. The manager
// ignores the reports of a silent collector, so these wrappers need a reconcile when the collector's readiness changes.
func (r *Reconciler) takingFrom(ctx context.Context, mc client.Object) []reconcile.Request {
	var requests []reconcile.Request
	_ = r.each(ctx, func(w v1alpha1.Wrapper) {
		if w.GetDeletionTimestamp().IsZero() && upgrade.TakesLatest(&w.WrapperSpec().Upgrade) && slices.Contains(w.WrapperStatus().Placement.Clusters, mc.GetName()) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.GetNamespace(), Name: w.GetName()}})
		}
	})
	return requests
}

// rolloutWaker enqueues the wrappers with a rollout on a member when the member becomes reachable or unreachable. The
// pusher enqueues only wrappers with a desired state on the member, but a member that waits in a rollout may have none.
type rolloutWaker struct{ *Reconciler }

var _ deliveries.Listener = rolloutWaker{}

// Changed implements deliveries.Listener.
func (rolloutWaker) Changed(*deliveries.Index, deliveries.Change) {}

// Listed implements deliveries.Listener.
func (rolloutWaker) Listed(*deliveries.Index, map[string]int64) {}

// Readable implements deliveries.Listener.
func (w rolloutWaker) Readable(x *deliveries.Index, _ bool) { w.wakeRollouts(x.Member()) }

// Unreadable implements deliveries.Listener.
func (w rolloutWaker) Unreadable(x *deliveries.Index) { w.wakeRollouts(x.Member()) }

// probed enqueues the wrappers with a rollout on a member when the member becomes usable or stops being usable. The
// fleet calls it after each probe.
func (w rolloutWaker) probed(name string, was, is member.ProbeResult) {
	if was.Usable() != is.Usable() {
		w.wakeRollouts(name)
	}
}

func (r *Reconciler) wakeRollouts(memberName string) {
	for _, key := range r.rollouts.KeysOf(memberName) {
		r.Wake(key)
	}
}

// rollingOn returns the wrappers with a rollout that are placed on a member.
func (r *Reconciler) rollingOn(_ context.Context, mc client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, key := range r.rollouts.KeysOf(mc.GetName()) {
		requests = append(requests, reconcile.Request{NamespacedName: key.NamespacedName})
	}
	return requests
}
