// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

const (
	// orphansNamed is the number of orphans that a status names. The count includes all orphans.
	orphansNamed = 10
	// orphansWithin is how long the loop waits for further changes of orphans before it writes them. After the deletion
	// of a wrapper's CRD, every Delivery of the fleet becomes an orphan, one by one.
	orphansWithin = time.Second
)

// Tell makes the loop update a member's orphans soon. It does not block.
func (r *Reconciler) Tell(name string) { r.enqueueAfter(name, orphansWithin) }

// reportOrphans writes the member's orphans to the status. If they are unknown, the status keeps its last value.
func (r *Reconciler) reportOrphans(ctx context.Context, mc *v1alpha1.MemberCluster) {
	count, names, known := r.orphans.Of(mc.Name, orphansNamed)
	names = plain.Names(names)
	was := mc.Status.Orphans
	if !known || int32(count) == was.Count && slices.Equal(names, was.Names) { //nolint:gosec // Deliveries of one member, not billions
		return
	}
	mc.Status.Orphans = v1alpha1.OrphanedDeliveries{Count: int32(count), Names: names} //nolint:gosec // likewise
	if count == 0 {
		mc.Status.Orphans = v1alpha1.OrphanedDeliveries{}
	}
	ctrl.LoggerFrom(ctx).Info("the number or the names of the orphans on the member changed; the manager deletes nothing, see `hostctl recover`",
		"member", mc.Name, "count", count, "before", was.Count, "first", names)
}
