// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"
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
	"github.com/fairlead-dev/fairlead/controllers/federated/observed"
	"github.com/fairlead-dev/fairlead/controllers/federated/rolloutstate"
	"github.com/fairlead-dev/fairlead/controllers/federated/wrapperevents"
	"github.com/fairlead-dev/fairlead/controllers/loopqueue"
	"github.com/fairlead-dev/fairlead/federate/placement"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/oldrevisions"
	"github.com/fairlead-dev/fairlead/internal/push"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// Reconciler is the loop over the wrappers of one scope. It brings the objects of the wrappers to the members.
type Reconciler struct {
	kind   v1alpha1.WrapperKind
	client client.Client
	// live reads from the host's API server, not from the cache.
	live  client.Reader
	fleet *member.Fleet
	// deliveries has the Deliveries that the manager has read from the members.
	deliveries *deliveries.Store
	// orphans finds Deliveries whose wrapper does not exist, or is not placed on the Delivery's member.
	orphans *deliveries.Orphans
	pusher  Pusher
	// history encrypts revisions whose objects include a Secret.
	history *revision.HistoryKey
	// reinstallsOperators lets spec.upgrade.rollback: Reinstall have an effect.
	reinstallsOperators bool

	events events.EventRecorder
	clock  clock.PassiveClock
	// tracer makes traces; nil if tracing is off.
	tracer *tracing.Tracer

	writes    writeCache
	renderers renderers
	// old renders earlier revisions, for members that keep an earlier revision during a rollout.
	old *oldrevisions.Store
	// rollouts has, for each member of a rollout, the state of the member and when that state began.
	rollouts rolloutstate.Memory

	queue wrapperQueue
}

// Dependencies are what the loops for Federated and for ClusterFederated share. All fields but Tracer are required.
type Dependencies struct {
	Fleet *member.Fleet
	// Deliveries has the Deliveries that the manager has read from the members.
	Deliveries *deliveries.Store
	// Orphans finds Deliveries whose wrapper does not exist, or is not placed on the Delivery's member. Each reconcile
	// reports to it on which members a wrapper is placed.
	Orphans *deliveries.Orphans
	Pusher  Pusher
	// History encrypts revisions whose objects include a Secret.
	History *revision.HistoryKey
	// ReinstallsOperators lets spec.upgrade.rollback: Reinstall begin reinstalls.
	ReinstallsOperators bool

	Clock clock.PassiveClock
	// Tracer makes traces; nil if tracing is off.
	Tracer *tracing.Tracer
}

// New makes the loop over wrappers of one scope.
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
		events:     wrapperevents.Bounded{EventRecorder: mgr.GetEventRecorder("fairlead")},
		clock:      d.Clock,
		tracer:     d.Tracer,
		old:        oldrevisions.New(mgr.GetAPIReader(), d.History),
	}
	r.reinstallsOperators = d.ReinstallsOperators
	d.Deliveries.Subscribe(rolloutWaker{r})
	d.Fleet.OnProbe(rolloutWaker{r}.probed)
	return r
}

// SetupWithManager adds the loop to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	// Only this loop writes the status, so a change of the status alone starts no reconcile.
	authored := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, deletionOrFinalizersChanged)
	err := ctrl.NewControllerManagedBy(mgr).
		Named(string(r.kind)).
		For(r.newWrapper(), builder.WithPredicates(authored)).
		Watches(&v1alpha1.MemberCluster{}, handler.EnqueueRequestsFromMapFunc(r.all), builder.WithPredicates(placementChanged)).
		Watches(&v1alpha1.MemberCluster{}, handler.EnqueueRequestsFromMapFunc(r.rollingOn), builder.WithPredicates(collectorChanged)).
		Watches(&v1alpha1.MemberCluster{}, handler.EnqueueRequestsFromMapFunc(r.takingFrom), builder.WithPredicates(collectorChanged)).
		Watches(&v1alpha1.Approval{}, handler.EnqueueRequestsFromMapFunc(r.approved)).
		WatchesRawSource(source.Func(r.listen)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: loopqueue.RetryLimiter[reconcile.Request]()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the %s loop: %w", r.kind, err)
	}
	return nil
}

// Wake enqueues a wrapper for a reconcile if the wrapper is of this loop's scope.
func (r *Reconciler) Wake(key push.Key) {
	if key.Kind != r.kind {
		return
	}
	r.queue.Add(reconcile.Request{NamespacedName: key.NamespacedName})
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	key := push.Key{Kind: r.kind, NamespacedName: req.NamespacedName}
	cached := r.newWrapper()
	if err := r.client.Get(ctx, req.NamespacedName, cached.(client.Object), client.UnsafeDisableDeepCopy); err != nil { //nolint:forcetypeassert // both wrappers are client.Objects
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, fmt.Errorf("reading %s: %w", key, err)
		}
		r.forget(key)
		return ctrl.Result{}, nil
	}
	wrapper := r.writes.newest(cached.DeepCopyObject().(v1alpha1.Wrapper)) //nolint:forcetypeassert // the copy of a Wrapper is a Wrapper
	p := &reconciliation{Reconciler: r, key: key, cached: cached, wrapper: wrapper, now: r.clock.Now()}
	if wrapper.GetDeletionTimestamp() != nil {
		r.tracer.End(v1alpha1.Identity(wrapper), tracing.Deleted)
		return p.delete(ctx)
	}
	return p.advance(ctx)
}

// reconciliation is one reconcile of one wrapper.
type reconciliation struct {
	*Reconciler
	key push.Key
	// cached is the copy in the cache, which the reconcile must not change.
	cached v1alpha1.Wrapper
	// wrapper is the newest copy that this process has. The reconcile may change it.
	wrapper v1alpha1.Wrapper
	now     time.Time

	// members are the MemberClusters by name, without those that are being deleted. list sets it.
	members map[string]*v1alpha1.MemberCluster
	// approvals are the Approvals of this wrapper. list sets it.
	approvals []v1alpha1.Approval
	// overwrites are the Deliveries that an Approval allows the manager to overwrite, by member. list sets it.
	overwrites map[string]*v1alpha1.DeliveryVersion
	// revision is the name of the ControllerRevision of the present spec. revise sets it.
	revision string
	// plan is the compiled spec.rollout; nil before rolloutPlan has set it.
	plan *rollout.Plan
	// counted are the Approvals that count for the present rollout; nil before rolloutApprovals has set them.
	counted *rollout.Approvals
	// invalid is the error of a spec from which the manager cannot make any desired state; "" if the spec is valid.
	// revise, place, render and rollOut set it.
	invalid string
	// decision has the members on which the wrapper is placed. place sets it.
	decision placement.Decision
	// desired has the desired state of each placed member. render sets it, and rollOut changes it.
	desired map[string]*push.Desired
	// refusals has, for each placed member for which an override fails, the reason. render sets it.
	refusals map[string]report.Refusal
	// rollout is the state of the rollout; the zero value if all members change at the same time. rollOut sets it.
	rollout v1alpha1.RolloutStatus
	// rolloutAgain is the time at which the rollout needs a reconcile even if no event starts one; zero if only an
	// event can change the rollout. rollOut sets it.
	rolloutAgain time.Time
	// waits has, for each member that does not get the newest revision now, the reason. rollOut sets it.
	waits map[string]report.Wait
	// upgrade has the versions of the Subscriptions with `approve: Latest`. takeVersions sets it.
	upgrade v1alpha1.UpgradeStatus
	// versionsAgain is the time at which the manager decides again whether to take another version, even without an
	// event; zero if only an event can change that decision. takeVersions sets it.
	versionsAgain time.Time
	// deadlineAgain is when the next deadline of a member passes; zero if none runs. publish sets it.
	deadlineAgain time.Time
}

// advance makes all steps for a wrapper that is not being deleted. For an invalid spec it returns no error, because
// publish reports that in the status. It returns an error if the host's API server refuses a request or does not
// answer; the manager then repeats the reconcile.
func (p *reconciliation) advance(ctx context.Context) (result ctrl.Result, err error) {
	generationTrace{p.tracer, p.wrapper, p.now}.begin()
	for _, step := range []func(context.Context) error{
		p.writer(p.wrapper).addFinalizer,
		p.list,
		p.takeVersions,
		p.revise,
		p.traced(tracing.SpanPlace, p.place),
		p.traced(tracing.SpanRender, p.render),
		p.rollOut,
		p.enqueue,
	} {
		if err := step(ctx); err != nil {
			if apierrors.IsConflict(err) {
				// The cache does not have the newest version of the wrapper yet, so the API server refused this write.
				// Another reconcile follows and reads a newer version.
				return ctrl.Result{RequeueAfter: time.Second}, nil
			}
			return ctrl.Result{}, err
		}
	}
	result, err = p.publish(ctx)
	if err != nil {
		return result, err
	}
	// The manager also reconciles without an event: when the hour ends for which maxRemoval limits removals, when a wave's
	// soak time ends, when the manager may take another version, and when the deadline of a member passes.
	if p.invalid != "" {
		p.versionsAgain = time.Time{} // another version does not correct the spec
	}
	for _, again := range []time.Time{p.decision.Again, p.rolloutAgain, p.versionsAgain, p.deadlineAgain} {
		if again.IsZero() {
			continue
		}
		if wait := max(again.Sub(p.now), time.Second); result.RequeueAfter == 0 || wait < result.RequeueAfter {
			result.RequeueAfter = wait
		}
	}
	return result, nil
}

// writer returns the writer of a wrapper.
func (r *Reconciler) writer(w v1alpha1.Wrapper) wrapperWriter {
	return wrapperWriter{client: r.client, writes: &r.writes, wrapper: w}
}

// observer returns the observer of a wrapper on these members.
func (r *Reconciler) observer(key push.Key, w v1alpha1.Wrapper, members map[string]*v1alpha1.MemberCluster) observed.Reader {
	return observed.Reader{Deliveries: r.deliveries, Pusher: r.pusher, Fleet: r.fleet, Key: key, Wrapper: w, Members: members}
}

func (r *Reconciler) newWrapper() v1alpha1.Wrapper {
	if r.kind == v1alpha1.KindClusterFederated {
		return &v1alpha1.ClusterFederated{}
	}
	return &v1alpha1.Federated{}
}

// forget drops what this process remembers of a wrapper that no longer exists. It removes nothing from the members,
// because a wrapper may disappear before the manager has processed its deletion. The members then keep its objects.
func (r *Reconciler) forget(key push.Key) {
	r.tracer.End(v1alpha1.WrapperIdentity{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}, tracing.Deleted)
	r.writes.forget(key)
	r.renderers.forget(key)
	r.rollouts.Forget(key)
	for _, name := range r.pusher.DesiredMembers(key) {
		r.pusher.RemoveDesired(key, name)
	}
	_ = r.pusher.TakeKept(key) // the result is dropped: the event about kept objects needs the wrapper, which is gone
}

// listen stores the loop's queue, to which Wake adds wrappers. The manager calls it when the loop starts.
func (r *Reconciler) listen(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.queue.start(queue, r.clock.Now())
	wrappers.begin(ctx, r)
	return nil
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
