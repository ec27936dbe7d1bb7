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
	// orphansNamed is how many orphans the status names at most. The count in the status includes all orphans.
	orphansNamed = 10
	// orphansWithin is how long the loop waits for further changes of a member's orphans before it writes the status.
	// If a person deletes the CRD of Federateds, the Deliveries of all Federateds become orphans, one after the other.
	orphansWithin = time.Second
)

// Tell makes the loop write a member's orphans to the status after orphansWithin. It does not block.
func (r *Reconciler) Tell(name string) { r.queue.addAfter(name, orphansWithin) }

// reportOrphans sets status.orphans of a member. While the manager does not know yet which Deliveries are orphans, the
// status keeps its last value.
func (r *Reconciler) reportOrphans(ctx context.Context, mc *v1alpha1.MemberCluster) {
	count, names, known := r.orphans.Of(mc.Name, orphansNamed)
	names = plain.Names(names)
	was := mc.Status.Orphans
	if !known || int32(count) == was.Count && slices.Equal(names, was.Names) { //nolint:gosec // one member has fewer Deliveries than an int32 can count
		return
	}
	mc.Status.Orphans = v1alpha1.OrphanedDeliveries{Count: int32(count), Names: names} //nolint:gosec // as above
	if count == 0 {
		mc.Status.Orphans = v1alpha1.OrphanedDeliveries{}
	}
	ctrl.LoggerFrom(ctx).Info("the orphans on the member changed: Deliveries whose wrapper does not exist or is not placed there; the manager deletes nothing, see `hostctl recover`",
		"member", mc.Name, "count", count, "before", was.Count, "first", names)
}
