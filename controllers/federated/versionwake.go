// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

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
