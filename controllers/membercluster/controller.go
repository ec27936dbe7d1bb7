// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/loopqueue"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// Reconciler is the control loop over MemberClusters.
type Reconciler struct {
	client     client.Client
	fleet      *member.Fleet
	collectors *Collectors
	orphans    *deliveries.Orphans
	host       member.Host
	version    string
	clock      clock.PassiveClock
	events     events.EventRecorder

	// deleting is the number of members from which the manager removes Fairlead's own objects at this moment.
	// maxDeletes bounds it.
	deleting atomic.Int32

	queue memberQueue
}

// New makes the loop, and the Collectors whose tasks the loop starts and stops. version is the manager's version. Each
// collector in the manager judges at most maxInflight Deliveries at the same time.
func New(
	mgr ctrl.Manager, fleet *member.Fleet, orphans *deliveries.Orphans, host member.Host, version string, maxInflight int, clk clock.WithTicker,
) *Reconciler {
	r := &Reconciler{
		client:  mgr.GetClient(),
		fleet:   fleet,
		orphans: orphans,
		host:    host,
		version: version,
		clock:   clk,
		events:  mgr.GetEventRecorder("fairlead"),
	}
	r.collectors = NewCollectors(version, maxInflight, clk, r.queue.add)
	fleet.OnProbe(r.probed)
	return r
}

// Collectors returns the Collectors. The caller has to add them to the manager, so that multicluster-runtime engages
// them with the connection to each member.
func (r *Reconciler) Collectors() *Collectors { return r.collectors }

// SetupWithManager adds the loop to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("MemberCluster").
		For(&v1alpha1.MemberCluster{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.membersUsing)).
		WatchesRawSource(source.Func(r.queue.start)).
		WithOptions(loopOptions()).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the MemberCluster loop: %w", err)
	}
	return nil
}

// loopOptions returns the options of the loop.
func loopOptions() controller.Options {
	return controller.Options{MaxConcurrentReconciles: 4, RateLimiter: loopqueue.RetryLimiter[reconcile.Request]()}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	mc := &v1alpha1.MemberCluster{}
	if err := r.client.Get(ctx, req.NamespacedName, mc); err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, fmt.Errorf("reading MemberCluster %s: %w", req.Name, err)
		}
		r.collectors.Forget(req.Name)
		r.fleet.Disconnect(req.Name)
		forgetMember(req.Name)
		return ctrl.Result{}, nil
	}
	refusal, err := r.connect(ctx, mc)
	if err != nil {
		return ctrl.Result{}, err
	}
	if mc.DeletionTimestamp != nil {
		return r.reconcileDelete(ctx, mc, refusal)
	}
	if controllerutil.AddFinalizer(mc, v1alpha1.Finalizer) {
		if err := r.client.Update(ctx, mc); err != nil {
			return ctrl.Result{}, fmt.Errorf("putting the finalizer on MemberCluster %s: %w", mc.Name, err)
		}
	}
	probe, _ := r.fleet.LastProbe(mc.Name)
	r.collectors.Set(mc.Name, mc.Spec.Collector, probe)
	renewal := r.renew(ctx, mc, refusal)
	return r.publish(ctx, mc, refusal, renewal, nil)
}

// renewWithin is how long the renewal of one member's tokens may take. A worker of the loop does nothing else during
// that time.
const renewWithin = 10 * time.Second

// renew renews the tokens of a member that are due: the host's token, and the token of a collector inside the manager.
// A failure does not stop the reconcile, because the old token is still valid. A condition tells until when.
func (r *Reconciler) renew(ctx context.Context, mc *v1alpha1.MemberCluster, refusal *member.CredentialsError) tokens.Renewal {
	probe, _ := r.fleet.LastProbe(mc.Name)
	conn := r.fleet.Conn(mc.Name)
	if refusal != nil || conn == nil || !probe.Usable() {
		return tokens.Renewal{}
	}
	secret := &corev1.Secret{}
	if err := r.client.Get(ctx, credentialsOf(mc), secret); err != nil {
		return tokens.Renewal{}
	}
	within, cancel := context.WithTimeout(ctx, renewWithin)
	defer cancel()
	renewal, err := tokens.Renew(within, r.client, conn.GetClient(), conn.Accepts, secret, probe.There(r.clock.Now()))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "could not renew the credentials of the member", "member", mc.Name, "expires", renewal.Expires)
	}
	if renewal.Renewed || !conn.Uses(string(secret.Data[v1alpha1.SecretToken])) || !conn.CollectorUses(string(secret.Data[v1alpha1.SecretCollectorToken])) {
		return renewal // the connection does not use the Secret's new tokens yet; the event of the Secret's change starts another reconcile
	}
	if err := tokens.Revoke(ctx, r.client, conn.GetClient(), secret); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "could not revoke the replaced tokens on the member; the manager tries again", "member", mc.Name)
		renewal.Due = probe.There(r.clock.Now()) // because of this time the loop tries again in a minute, not in a day
	}
	return renewal
}

func credentialsOf(mc *v1alpha1.MemberCluster) types.NamespacedName {
	return types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: mc.Spec.CredentialsRef.Name}
}

// connect makes the connection to a member match its MemberCluster and its Secret. refusal is why no connection is
// possible; nil if one is possible.
func (r *Reconciler) connect(ctx context.Context, mc *v1alpha1.MemberCluster) (refusal *member.CredentialsError, err error) {
	secret := &corev1.Secret{}
	if err := r.client.Get(ctx, credentialsOf(mc), secret); err != nil {
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading the credentials of member %s: %w", mc.Name, err)
		}
		secret = nil
	}
	recordTokens(mc.Name, secret)
	config, err := member.ConfigFor(mc, secret, "fairlead-manager/"+r.version)
	if refusal = member.AsCredentialsError(err); refusal == nil && secret != nil {
		refusal = ambiguous(mc, secret)
	}
	if refusal != nil {
		r.fleet.Disconnect(mc.Name)
		return refusal, nil
	}
	if err != nil {
		return nil, err
	}
	if err := r.fleet.Connect(ctx, mc.Name, config, mc.Status.UID); err != nil {
		return nil, err
	}
	if conn := r.fleet.Conn(mc.Name); conn != nil { // Collectors.Engage has stopped the collector, so no collector uses the new connection yet
		conn.SetCollectorToken(string(secret.Data[v1alpha1.SecretCollectorToken]))
	}
	return nil, nil
}

// ambiguous refuses a Secret that has both a client certificate and a token for the collector. The member would
// authenticate the collector by the certificate, while the status would describe the token.
func ambiguous(mc *v1alpha1.MemberCluster, secret *corev1.Secret) *member.CredentialsError {
	if !credentials.CertificateWins(secret) {
		return nil
	}
	return &member.CredentialsError{Reason: v1alpha1.ReasonCredentialsMissing, Message: fmt.Sprintf(
		"Secret %[1]s/%[2]s has both %[3]s and %[4]s. A member takes the certificate and ignores the token, so its collector would use the certificate's account: "+
			"remove %[3]s and %[5]s from the Secret, or remove %[4]s if the collector is to use the certificate, or run `hostctl join %[6]s --cluster-kubeconfig FILE` again",
		secret.Namespace, secret.Name, v1alpha1.SecretCert, v1alpha1.SecretCollectorToken, v1alpha1.SecretKey, mc.Name)}
}

// probed enqueues a member when the result of a probe differs from the previous result.
func (r *Reconciler) probed(name string, was, is member.ProbeResult) {
	if !was.Same(is) {
		r.queue.add(name)
	}
}

// membersUsing returns the members whose MemberClusters refer to a Secret.
func (r *Reconciler) membersUsing(ctx context.Context, secret client.Object) []reconcile.Request {
	list := &v1alpha1.MemberClusterList{}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if list.Items[i].Spec.CredentialsRef.Name == secret.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: list.Items[i].Name}})
		}
	}
	return requests
}
