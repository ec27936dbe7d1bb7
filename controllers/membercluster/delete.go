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
	"github.com/fairlead-dev/fairlead/internal/member"
)

// deleteTimeout bounds one attempt to withdraw from a member. An attempt continues where the last one was interrupted.
// maxDeletes bounds the number of members from which the manager withdraws at a time. The other workers of the loop
// stay free for joins and conditions.
const (
	deleteTimeout = 20 * time.Second
	maxDeletes    = 2
)

// reconcileDelete removes Fairlead's own objects from a member whose MemberCluster is deleted, and then removes the
// finalizer of the MemberCluster. It waits for a member that does not answer, and the status shows the reason. `hostctl
// unjoin --forget` does not wait.
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
		ctrl.LoggerFrom(ctx).Info("the manager cannot withdraw from the member yet", "member", mc.Name, "error", err.Error())
		if _, err := r.publish(ctx, mc, refusal, join.Renewal{}, err); err != nil {
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
		if is, _ := r.fleet.LastProbe(mc.Name); is.Probed && !is.Reachable { // the next probe wakes the loop
			return fmt.Errorf("leaving member %s: %s", mc.Name, is.Message)
		}
		if err := confirmIdentity(ctx, mc, conn); err != nil {
			return err
		}
		remote = conn.GetClient()
	}
	return join.Leave(ctx, r.client, mc, remote, r.host.UID, nil)
}

// confirmIdentity asks the member which cluster it is, before the manager withdraws. The Membership alone does not
// prove that: a clone has an equal one, and would lose its Deliveries in place of the joined cluster. The last probe
// does not prove it either, because the endpoint may lead to another cluster by now.
func confirmIdentity(ctx context.Context, mc *v1alpha1.MemberCluster, conn *member.Conn) error {
	if mc.Status.UID == "" { // deleted before any probe succeeded
		return nil
	}
	uid, err := conn.ClusterUID(ctx)
	switch {
	case (apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err)) && join.WasCleared(mc):
		return nil // an earlier attempt has already deleted the host's account there, see join.Sever
	case err != nil:
		return fmt.Errorf("leaving member %s: %w", mc.Name, err)
	case uid != mc.Status.UID:
		return fmt.Errorf("leaving member %s: %w", mc.Name, &member.OtherClusterError{Name: mc.Name, Joined: mc.Status.UID, Found: uid})
	}
	return nil
}
