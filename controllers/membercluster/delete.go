// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
	"github.com/fairlead-dev/fairlead/internal/member"
)

const (
	// deleteTimeout is the time limit of one attempt to remove Fairlead's own objects from a member. The next attempt
	// continues where the previous one stopped.
	deleteTimeout = 20 * time.Second
	// maxDeletes is the largest number of such attempts at the same time. The bound leaves the other workers of the
	// loop free for joins and conditions.
	maxDeletes = 2
)

// reconcileDelete removes Fairlead's own objects from a member whose MemberCluster is being deleted, and then the
// finalizer. If the member does not answer, the finalizer stays, and the status shows the reason. With `hostctl unjoin
// --forget` a person can remove the finalizer without the member.
func (r *Reconciler) reconcileDelete(ctx context.Context, mc *v1alpha1.MemberCluster, refusal *member.CredentialsError) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(mc, v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	r.collectors.Forget(mc.Name)
	defer r.deleting.Add(-1)
	if r.deleting.Add(1) > maxDeletes {
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	within, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	if err := r.withdraw(within, mc.DeepCopy()); err != nil {
		ctrl.LoggerFrom(ctx).Info("could not remove Fairlead's own objects from the member; the manager tries again", "member", mc.Name, "error", err.Error())
		if _, err := r.publish(ctx, mc, refusal, tokens.Renewal{}, err); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: member.RetryInterval}, nil
	}
	r.fleet.Disconnect(mc.Name)
	return ctrl.Result{}, nil
}

func (r *Reconciler) withdraw(ctx context.Context, mc *v1alpha1.MemberCluster) error {
	var remote client.Client
	if conn := r.fleet.Conn(mc.Name); conn != nil {
		if is, _ := r.fleet.LastProbe(mc.Name); is.Probed && !is.Reachable { // no retry is needed: the probe that reaches the member again enqueues the member
			return fmt.Errorf("leaving member %s: %s", mc.Name, is.Message)
		}
		if err := confirmIdentity(ctx, mc, conn); err != nil {
			return err
		}
		remote = conn.GetClient()
	}
	return join.Leave(ctx, r.client, mc, remote, r.host.UID, nil)
}

// confirmIdentity reads the uid of the member's cluster before the manager removes Fairlead's objects there. The
// Membership does not prove that the cluster is the joined one: a clone of that cluster has an equal Membership, and
// must not lose its Deliveries. The last probe does not prove it either, because the endpoint may lead to another
// cluster since then.
func confirmIdentity(ctx context.Context, mc *v1alpha1.MemberCluster, conn *member.Conn) error {
	if mc.Status.UID == "" { // no probe has succeeded since the join, so there is no uid to compare
		return nil
	}
	uid, err := conn.ClusterUID(ctx)
	switch {
	case (apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err)) && join.WasCleared(mc):
		return nil // an earlier attempt has deleted the host's account (see join.Sever), so the member now refuses the host
	case err != nil:
		return fmt.Errorf("leaving member %s: %w", mc.Name, err)
	case uid != mc.Status.UID:
		return fmt.Errorf("leaving member %s: %w", mc.Name, &member.OtherClusterError{Name: mc.Name, Joined: mc.Status.UID, Found: uid})
	}
	return nil
}
