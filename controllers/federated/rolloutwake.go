// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
)

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
	for _, key := range r.rollouts.keysOf(memberName) {
		r.Wake(key)
	}
}

// rollingOn returns the wrappers with a rollout that are placed on a member.
func (r *Reconciler) rollingOn(_ context.Context, mc client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, key := range r.rollouts.keysOf(mc.GetName()) {
		requests = append(requests, reconcile.Request{NamespacedName: key.NamespacedName})
	}
	return requests
}

// collectorChanged passes a MemberCluster when its collector becomes ready, or stops being ready. Only rollouts and
// versions (approve: Latest) depend on the readiness of a collector.
var collectorChanged = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		was, okWas := e.ObjectOld.(*v1alpha1.MemberCluster)
		is, okIs := e.ObjectNew.(*v1alpha1.MemberCluster)
		return okWas && okIs && isCollectorSilent(was) != isCollectorSilent(is)
	},
}
