// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/loopqueue"
	rules "github.com/fairlead-dev/fairlead/federate/memberreport"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// gatherFor is how long the loop waits for further changes of a wrapper's evidence before it writes. In an outage, many members
// send evidence at the same time.
const gatherFor = 500 * time.Millisecond

// Reconciler is the loop that writes the MemberReports of each wrapper.
type Reconciler struct {
	client client.Client
	// cached has the metadata of the reports. live reads from the host's API server.
	cached, live client.Reader
	store        *Store
	clock        clock.PassiveClock
	limits       *writeLimits

	queue loopqueue.Queue[deliveries.Key]

	mu sync.Mutex
	// known has what the loop knows about the reports of each wrapper.
	known map[deliveries.Key]*knownReports
}

// New makes the loop. limit is how many bytes of memory the evidence of all members may take; 0 means DefaultMemory.
func New(mgr ctrl.Manager, store *deliveries.Store, clk clock.PassiveClock, limit int) *Reconciler {
	if limit == 0 {
		limit = DefaultMemory
	}
	r := &Reconciler{client: mgr.GetClient(), cached: mgr.GetClient(), live: mgr.GetAPIReader(), clock: clk, known: make(map[deliveries.Key]*knownReports), limits: newWriteLimits(clk)}
	r.store = NewStore(store, clk, limit, mgr.GetLogger().WithName("memberreport"), r.wake)
	return r
}

// SetupWithManager adds the loop to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	deleted := predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false }}
	err := builder.TypedControllerManagedBy[deliveries.Key](mgr).
		Named("memberreport").
		WatchesMetadata(&v1alpha1.MemberReport{}, handler.TypedEnqueueRequestsFromMapFunc(wrapperOf)).
		Watches(&v1alpha1.MemberCluster{}, handler.TypedEnqueueRequestsFromMapFunc(r.forget), builder.WithPredicates(deleted)).
		WatchesRawSource(&wrapperSource{cache: mgr.GetCache(), store: r.store, start: r.queue.Start}).
		WithOptions(controller.TypedOptions[deliveries.Key]{MaxConcurrentReconciles: 2, RateLimiter: loopqueue.RetryLimiter[deliveries.Key]()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the MemberReport loop: %w", err)
	}
	return nil
}

// wake enqueues a wrapper. Before the loop has started, wake does nothing: the loop begins with every wrapper about which the store
// has evidence.
func (r *Reconciler) wake(key deliveries.Key) { r.queue.AddAfter(key, gatherFor) }

// wrapperOf returns the wrapper that owns a report.
func wrapperOf(_ context.Context, obj client.Object) []deliveries.Key {
	for _, o := range obj.GetOwnerReferences() {
		key := deliveries.Key{Kind: v1alpha1.WrapperKind(o.Kind), NamespacedName: types.NamespacedName{Name: o.Name}}
		switch {
		case o.APIVersion != v1alpha1.GroupVersion.String():
		case key.Kind == v1alpha1.KindFederated:
			key.Namespace = obj.GetNamespace()
			return []deliveries.Key{key}
		case key.Kind == v1alpha1.KindClusterFederated && obj.GetNamespace() == v1alpha1.SystemNamespace:
			return []deliveries.Key{key}
		}
	}
	return nil
}

// forget tells the store that a MemberCluster was deleted. The store wakes the wrappers.
func (r *Reconciler) forget(_ context.Context, obj client.Object) []deliveries.Key {
	r.store.Forget(obj.GetName())
	return nil
}

// Reconcile implements reconcile.TypedReconciler. It brings the reports of one wrapper up to date.
func (r *Reconciler) Reconcile(ctx context.Context, key deliveries.Key) (ctrl.Result, error) {
	want, ok := r.store.desired(key)
	if !ok {
		return ctrl.Result{}, nil // the store wakes the wrapper when it knows more
	}
	if want.wrapper == nil { // the garbage collector deletes the reports
		r.mu.Lock()
		delete(r.known, key)
		r.mu.Unlock()
		return ctrl.Result{}, nil
	}
	p := &reconciliation{Reconciler: r, key: key, id: v1alpha1.Identity(want.wrapper), now: r.clock.Now(), known: r.knownOf(key, want.wrapper.GetUID())}
	restored, err := p.find(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if restored {
		if want, ok = r.store.desired(key); !ok || want.wrapper == nil || want.wrapper.GetUID() != p.id.UID {
			return ctrl.Result{RequeueAfter: time.Second}, nil
		}
	}
	err = p.write(ctx, want.reports)
	return ctrl.Result{RequeueAfter: p.again}, err
}

func (r *Reconciler) knownOf(key deliveries.Key, uid types.UID) *knownReports {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.known[key]; k == nil || k.wrapper != uid {
		r.known[key] = newKnownReports(uid)
	}
	return r.known[key]
}

// reconciliation is one reconcile of one wrapper.
type reconciliation struct {
	*Reconciler
	key   deliveries.Key
	id    v1alpha1.WrapperIdentity
	now   time.Time
	known *knownReports
	// again is the time after which the loop repeats the reconcile even without an event; 0 if it need not.
	again time.Duration
}

// find compares what the loop knows with the reports in the cache. It reads a report from the API server if the loop has neither
// written nor read it before, or if another client has changed it since then. restored is true if the store got the content of a
// report that an earlier process of the manager wrote.
func (p *reconciliation) find(ctx context.Context) (restored bool, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MemberReportList"))
	if err := p.cached.List(ctx, list, client.InNamespace(p.id.Beside()), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing the MemberReports of %s: %w", p.key, err)
	}
	found := make(map[string]bool)
	var failed []error
	for i := range list.Items {
		is := &list.Items[i]
		report, ok := p.owns(is)
		if !ok || p.known.deleted[is.Name].uid == is.UID {
			continue // of another wrapper, made by a person, or deleted: the cache does not know that yet
		}
		found[is.Name] = true
		was := p.known.byName[is.Name]
		if was != nil && was.uid == is.UID {
			was.cached = true
			if !isNewer(is.ResourceVersion, was.version) {
				continue
			}
		}
		ok, err := p.read(ctx, is.Name, report)
		restored = restored || ok
		failed = append(failed, err)
	}
	for name, was := range p.known.byName {
		// The cache may still lack a report that the loop has just created.
		if !found[name] && (was.cached || p.now.Sub(was.written) > cacheLag) {
			delete(p.known.byName, name)
		}
	}
	return restored, errors.Join(failed...)
}

// owns returns the key of a report of this wrapper. ok is false for a report of another wrapper, and for a report that a person wrote.
func (p *reconciliation) owns(obj metav1.Object) (key rules.Key, ok bool) {
	owned := slices.ContainsFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == p.id.UID })
	key, ok = rules.KeyIn(obj.GetName(), p.id.Name)
	return key, ok && owned
}

// read reads a report from the API server. If the loop did not know the report, read passes its content to the store and returns true.
func (p *reconciliation) read(ctx context.Context, name string, report rules.Key) (restored bool, err error) {
	is := &v1alpha1.MemberReport{}
	err = p.live.Get(ctx, client.ObjectKey{Namespace: p.id.Beside(), Name: name}, is)
	if _, ok := p.owns(is); apierrors.IsNotFound(err) || err == nil && !ok {
		delete(p.known.byName, name)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading MemberReport %s/%s: %w", p.id.Beside(), name, err)
	}
	was := p.known.byName[name]
	p.known.byName[name] = p.knownAs(is, true)
	if was != nil {
		p.known.byName[name].written = was.written
		return false, nil
	}
	p.store.restore(p.key, p.id.UID, report, &is.Status)
	return true, nil
}

// isNewer reports whether resourceVersion a is later than b. It returns true if it cannot tell.
func isNewer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}
