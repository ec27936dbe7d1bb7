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

// rolloutWaker wakes paced wrappers when a member of theirs can be reached, or no longer. The pusher wakes wrappers that have a desired
// state on the member, and a member that waits in a rollout may have none.
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

// probed is called after each probe of a member.
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

// rollingOn are the paced wrappers that are placed on a member.
func (r *Reconciler) rollingOn(_ context.Context, mc client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, key := range r.rollouts.keysOf(mc.GetName()) {
		requests = append(requests, reconcile.Request{NamespacedName: key.NamespacedName})
	}
	return requests
}

// collectorChanged passes a MemberCluster whose collector began or ceased to work. Only a rollout depends on that.
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
