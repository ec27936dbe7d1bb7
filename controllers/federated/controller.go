// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/placement"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/oldrevisions"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// Reconciler brings wrappers of one scope to their members.
type Reconciler struct {
	kind   v1alpha1.WrapperKind
	client client.Client
	// live reads past the cache.
	live  client.Reader
	fleet *member.Fleet
	// deliveries holds the Deliveries of the members. orphans finds those without a wrapper.
	deliveries *deliveries.Store
	orphans    *deliveries.Orphans
	pusher     Pusher
	// history encrypts revisions that hold a Secret.
	history *revision.HistoryKey
	events  events.EventRecorder
	clock   clock.PassiveClock

	writes    writeCache
	renderers renderers
	// old renders revisions that members in a rollout still have. rollouts has the health of these members over time.
	old      *oldrevisions.Store
	rollouts rolloutMemory

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	// started is the time at which the loop began: when the process became leader. Set by listen.
	started time.Time
}

// Dependencies are what both scopes share. All fields are required.
type Dependencies struct {
	Fleet *member.Fleet
	// Deliveries holds the Deliveries of the members. Orphans gets the members on which each wrapper is placed.
	Deliveries *deliveries.Store
	Orphans    *deliveries.Orphans
	Pusher     Pusher
	// History encrypts revisions that hold a Secret.
	History *revision.HistoryKey
	Clock   clock.PassiveClock
}

// New makes the reconciler of one scope.
func New(kind v1alpha1.WrapperKind, mgr ctrl.Manager, d Dependencies) *Reconciler {
	r := &Reconciler{
		kind:       kind,
		client:     mgr.GetClient(),
		live:       mgr.GetAPIReader(),
		fleet:      d.Fleet,
		deliveries: d.Deliveries,
		orphans:    d.Orphans,
		pusher:     d.Pusher,
		history:    d.History,
		events:     boundedRecorder{mgr.GetEventRecorder("fairlead")},
		clock:      d.Clock,
		old:        oldrevisions.New(mgr.GetAPIReader(), d.History),
	}
	d.Deliveries.Subscribe(rolloutWaker{r})
	d.Fleet.OnProbe(rolloutWaker{r}.probed)
	return r
}

// SetupWithManager adds the loop to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	// Only this controller writes the status. So a change of the status alone starts no reconcile.
	authored := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, deletionOrFinalizersChanged)
	err := ctrl.NewControllerManagedBy(mgr).
		Named(string(r.kind)).
		For(r.newWrapper(), builder.WithPredicates(authored)).
		Watches(&v1alpha1.MemberCluster{}, handler.EnqueueRequestsFromMapFunc(r.all), builder.WithPredicates(placementChanged)).
		Watches(&v1alpha1.MemberCluster{}, handler.EnqueueRequestsFromMapFunc(r.rollingOn), builder.WithPredicates(collectorChanged)).
		Watches(&v1alpha1.Approval{}, handler.EnqueueRequestsFromMapFunc(r.approved)).
		WatchesRawSource(source.Func(r.listen)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: retryLimiter()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the %s loop: %w", r.kind, err)
	}
	return nil
}

// Wake enqueues a wrapper of this scope for a reconcile.
func (r *Reconciler) Wake(key push.Key) {
	if key.Kind != r.kind {
		return
	}
	r.mu.Lock()
	queue := r.queue
	r.mu.Unlock()
	if queue != nil {
		queue.Add(reconcile.Request{NamespacedName: key.NamespacedName})
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	key := push.Key{Kind: r.kind, NamespacedName: req.NamespacedName}
	cached := r.newWrapper()
	if err := r.client.Get(ctx, req.NamespacedName, cached.(client.Object), client.UnsafeDisableDeepCopy); err != nil { //nolint:forcetypeassert // both are
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, fmt.Errorf("reading %s: %w", key, err)
		}
		r.forget(key)
		return ctrl.Result{}, nil
	}
	wrapper := r.writes.newest(cached.DeepCopyObject().(v1alpha1.Wrapper)) //nolint:forcetypeassert // a copy of a wrapper is one
	p := &reconciliation{Reconciler: r, key: key, cached: cached, wrapper: wrapper, now: r.clock.Now()}
	if wrapper.GetDeletionTimestamp() != nil {
		return p.delete(ctx)
	}
	return p.advance(ctx)
}

// reconciliation is one reconcile of one wrapper.
type reconciliation struct {
	*Reconciler
	key push.Key
	// cached is the cache's own copy and must not be changed. wrapper is the newest known copy, and belongs to the reconcile.
	cached, wrapper v1alpha1.Wrapper
	now             time.Time

	// members is the registry, set by listMembers.
	members map[string]*v1alpha1.MemberCluster
	// approvals are those of this wrapper, set by listApprovals.
	approvals []v1alpha1.Approval
	// overwrites are the Deliveries that an Approval allows the manager to overwrite, by member. Set by listApprovals.
	overwrites map[string]*v1alpha1.DeliveryVersion
	// revision is the name of the present spec's ControllerRevision, set by revise.
	revision string
	// invalid is the reason why the spec cannot be rendered for any member. Set by revise and render.
	invalid string
	// decision is the decision on members. Set by place.
	decision placement.Decision
	// desired is the desired state of each placed member. refusals is the reason why a member has none. Set by render.
	desired  map[string]*push.Desired
	refusals map[string]report.Refusal
	// rollout is the state of the rollout; the zero value if all members change at the same time. waits is why a member is not updated, and
	// rolloutAgain when time alone changes that. Set by rollOut.
	rollout      v1alpha1.RolloutStatus
	rolloutAgain time.Time
	waits        map[string]report.Wait
}

// advance takes a wrapper that is not being deleted through the steps. A fault in the wrapper is no error: publish
// reports it in the status. An error comes from the host's API server, and the reconcile is tried again.
func (p *reconciliation) advance(ctx context.Context) (result ctrl.Result, err error) {
	for _, step := range []func(context.Context) error{
		p.addFinalizer,
		p.listMembers,
		p.listApprovals,
		p.revise,
		p.place,
		p.render,
		p.rollOut,
		p.enqueue,
	} {
		if err := step(ctx); err != nil {
			if apierrors.IsConflict(err) {
				// The cache lags behind the last write. It wakes the wrapper when it has caught up.
				return ctrl.Result{RequeueAfter: time.Second}, nil
			}
			return ctrl.Result{}, err
		}
	}
	result, err = p.publish(ctx)
	if err != nil {
		return result, err
	}
	// No event announces that the hour is over, in which the wrapper may leave only so many members, or that a wave has soaked.
	for _, again := range []time.Time{p.decision.Again, p.rolloutAgain} {
		if again.IsZero() {
			continue
		}
		if wait := max(again.Sub(p.now), time.Second); result.RequeueAfter == 0 || wait < result.RequeueAfter {
			result.RequeueAfter = wait
		}
	}
	return result, nil
}

func (r *Reconciler) newWrapper() v1alpha1.Wrapper {
	if r.kind == v1alpha1.KindClusterFederated {
		return &v1alpha1.ClusterFederated{}
	}
	return &v1alpha1.Federated{}
}

// forget drops what this process keeps of a wrapper that is gone. Members keep their objects: a wrapper that
// disappeared without its finalizer's work is no reason to remove anything.
func (r *Reconciler) forget(key push.Key) {
	r.writes.forget(key)
	r.renderers.forget(key)
	r.rollouts.forget(key)
	for _, name := range r.pusher.DesiredMembers(key) {
		r.pusher.RemoveDesired(key, name)
	}
	_ = r.pusher.TakeKept(key) // the wrapper is gone, so there is no object for the event
}

// listen lets Wake reach the loop's queue.
func (r *Reconciler) listen(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue, r.started = queue, r.clock.Now()
	return nil
}

// all returns every wrapper of this scope, for changes on which any placement may depend.
func (r *Reconciler) all(ctx context.Context, _ client.Object) []reconcile.Request {
	var requests []reconcile.Request
	_ = r.each(ctx, func(w v1alpha1.Wrapper) {
		key := client.ObjectKeyFromObject(w.(client.Object)) //nolint:forcetypeassert // both wrappers are client.Objects
		requests = append(requests, reconcile.Request{NamespacedName: key})
	})
	return requests
}

func (r *Reconciler) each(ctx context.Context, do func(v1alpha1.Wrapper)) error {
	if r.kind == v1alpha1.KindClusterFederated {
		list := &v1alpha1.ClusterFederatedList{}
		if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		for i := range list.Items {
			do(&list.Items[i])
		}
		return nil
	}
	list := &v1alpha1.FederatedList{}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range list.Items {
		do(&list.Items[i])
	}
	return nil
}
