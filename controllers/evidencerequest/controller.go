// SPDX-License-Identifier: Apache-2.0

package evidencerequest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/loopqueue"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/federate/memberreport"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// item is one entry of the loop's queue: a report, or a pair whose Delivery has requests for which the loop knows no report.
type item struct {
	report types.NamespacedName
	pair   pair
}

// Reconciler is the loop.
type Reconciler struct {
	client client.Client
	// cached has the metadata of the reports, and whole wrappers and MemberClusters. live reads from the host's API server.
	cached, live client.Reader
	clock        clock.PassiveClock
	pairs        *pairs
	// writes limits the rate at which the loop writes to all reports together.
	writes *rate.Limiter

	queue loopqueue.Queue[item]

	mu sync.Mutex
	// known has the reports that the loop has read. Only the reconcile of a report changes that report, so mu protects only the map.
	known map[types.NamespacedName]*report
}

// New makes the loop. store has what the members' Deliveries contain.
func New(mgr ctrl.Manager, store *deliveries.Store, requests Requests, clk clock.PassiveClock) *Reconciler {
	r := &Reconciler{client: mgr.GetClient(), cached: mgr.GetClient(), live: mgr.GetAPIReader(), clock: clk,
		writes: newWrites(), known: make(map[types.NamespacedName]*report)}
	r.pairs = newPairs(store, requests, clk, r.queue.AddAfter)
	return r
}

// SetupWithManager adds the loop to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	mayAsk := predicate.NewPredicateFuncs(func(obj client.Object) bool { return !memberreport.HasKey(obj.GetName()) })
	appears := predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
	err := builder.TypedControllerManagedBy[item](mgr).
		Named("evidencerequest").
		WatchesMetadata(&v1alpha1.MemberReport{}, handler.TypedEnqueueRequestsFromMapFunc(itemOf), builder.WithPredicates(mayAsk)).
		Watches(&v1alpha1.Federated{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofWrapper)).
		Watches(&v1alpha1.ClusterFederated{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofWrapper)).
		Watches(&v1alpha1.MemberCluster{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofMember), builder.WithPredicates(appears)).
		WatchesRawSource(source.TypedFunc[item](r.start)).
		WithOptions(controller.TypedOptions[item]{MaxConcurrentReconciles: 2, RateLimiter: loopqueue.RetryLimiter[item]()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the loop of requests for evidence: %w", err)
	}
	return nil
}

// start stores the loop's queue. After leftoverAfter it adds the pairs whose Deliveries have requests without a report. If the loop has
// still found no report about a pair by then, it removes the requests of the pair. controller-runtime adds every report when the loop
// starts.
func (r *Reconciler) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[item]) error {
	r.queue.Start(queue)
	for _, on := range r.pairs.withLeftovers() {
		r.queue.AddAfter(item{pair: on}, leftoverAfter)
	}
	return nil
}

func itemOf(_ context.Context, obj client.Object) []item {
	return []item{{report: client.ObjectKeyFromObject(obj)}}
}

// ofWrapper returns the reports about a wrapper.
func (r *Reconciler) ofWrapper(_ context.Context, obj client.Object) []item {
	w, ok := obj.(v1alpha1.Wrapper)
	if !ok {
		return nil
	}
	return r.items(func(is *report) bool { return is.key == deliveries.KeyOf(v1alpha1.Identity(w)) })
}

// ofMember returns the reports about a member.
func (r *Reconciler) ofMember(_ context.Context, obj client.Object) []item {
	return r.items(func(is *report) bool { return is.member == obj.GetName() })
}

// items returns the known reports that have a request, without those for which fits(report) is false.
func (r *Reconciler) items(fits func(*report) bool) (all []item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, is := range r.known {
		if is.asks && fits(is) {
			all = append(all, item{report: name})
		}
	}
	return all
}

// Reconcile implements reconcile.TypedReconciler.
func (r *Reconciler) Reconcile(ctx context.Context, it item) (ctrl.Result, error) {
	if it.pair.member != "" {
		w, err := r.wrapper(ctx, it.pair.key)
		if err != nil {
			return ctrl.Result{}, err
		}
		r.pairs.withdraw(it.pair, w != nil && slices.Contains(w.WrapperStatus().Placement.Clusters, it.pair.member))
		return ctrl.Result{}, nil
	}
	is, err := r.find(ctx, it.report)
	if err != nil || is == nil || !is.asks {
		return ctrl.Result{}, err
	}
	now := r.clock.Now()
	left := is.expires.Sub(now)
	if left <= 0 {
		r.forget(it.report)
		return ctrl.Result{}, r.delete(ctx, it.report, is.uid)
	}
	want, err := r.judge(ctx, it.report, is)
	if err != nil {
		return ctrl.Result{}, err
	}
	wait, err := r.write(ctx, it.report, is, want, now)
	if wait > 0 {
		left = min(left, wait)
	}
	return ctrl.Result{RequeueAfter: left}, err
}

// find returns what the loop knows about a report. If it does not know the report yet, it reads the report from the API server. One read is
// enough, because the spec of a report never changes. find returns nil if the report is gone.
func (r *Reconciler) find(ctx context.Context, name types.NamespacedName) (*report, error) {
	about := &metav1.PartialObjectMetadata{}
	about.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MemberReport"))
	err := r.cached.Get(ctx, name, about)
	if apierrors.IsNotFound(err) || err == nil && about.DeletionTimestamp != nil {
		r.forget(name)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of MemberReport %s: %w", name, err)
	}
	r.mu.Lock()
	is := r.known[name]
	r.mu.Unlock()
	if is != nil && is.uid == about.UID {
		return is, nil
	}
	whole := &v1alpha1.MemberReport{}
	if err := r.live.Get(ctx, name, whole); err != nil {
		if r.forget(name); apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading MemberReport %s: %w", name, err)
	}
	r.forget(name) // an earlier report of this name
	is = newReport(whole)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[name] = is
	return is, nil
}

// forget drops a report that is gone, and takes its request out of the Delivery.
func (r *Reconciler) forget(name types.NamespacedName) {
	r.mu.Lock()
	delete(r.known, name)
	r.mu.Unlock()
	r.pairs.remove(name)
}

func (r *Reconciler) delete(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	obj := &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	err := r.client.Delete(ctx, obj, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting MemberReport %s, which has expired: %w", name, err)
	}
	return nil
}

// judge decides what the status of a report has to be. It sends the request of the report. If check finds a problem, it takes the request
// back instead.
func (r *Reconciler) judge(ctx context.Context, name types.NamespacedName, is *report) (outcome, error) {
	problem, err := r.check(ctx, is)
	if err != nil {
		return outcome{}, err
	}
	if problem != nil {
		r.pairs.remove(name)
		return outcome{Problem: *problem}, nil
	}
	return r.pairs.ask(name, is), nil
}

// check returns why the loop must not send the request of a report; nil if the loop may send it.
func (r *Reconciler) check(ctx context.Context, is *report) (*rules.Problem, error) {
	var w v1alpha1.Wrapper
	if is.isBeside {
		var err error
		if w, err = r.wrapper(ctx, is.key); err != nil {
			return nil, err
		}
	}
	err := r.cached.Get(ctx, client.ObjectKey{Name: is.member}, &v1alpha1.MemberCluster{})
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading MemberCluster %s: %w", is.member, err)
	}
	return rules.Check(is.spec, w, err == nil), nil
}

// wrapper returns a wrapper; nil if the host has none of this kind and name.
func (r *Reconciler) wrapper(ctx context.Context, key deliveries.Key) (v1alpha1.Wrapper, error) {
	var w v1alpha1.Wrapper = &v1alpha1.Federated{}
	if key.Kind == v1alpha1.KindClusterFederated {
		w = &v1alpha1.ClusterFederated{}
	}
	err := r.cached.Get(ctx, key.NamespacedName, w)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	return w, nil
}
