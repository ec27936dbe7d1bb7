// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/loopqueue"
	"github.com/fairlead-dev/fairlead/internal/push"
)

func east() *v1alpha1.MemberCluster {
	return &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}}
}

func TestAReconcileTakesANewWrapperToThePusher(t *testing.T) {
	w := rendered("u", object, 1)
	w.ResourceVersion = ""
	r, c := host(t, nil, w, east())
	r.history = testKey(t, 1)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err != nil {
		t.Fatal(err)
	}
	got := &v1alpha1.Federated{}
	if err := c.Get(t.Context(), web.NamespacedName, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{v1alpha1.Finalizer}, got.Finalizers); diff != "" {
		t.Errorf("finalizers: %s", diff)
	}
	if diff := cmp.Diff([]string{"east"}, got.Status.Placement.Clusters); diff != "" {
		t.Errorf("decision: %s", diff)
	}
	if diff := cmp.Diff([]string{"east"}, r.pusher.DesiredMembers(web)); diff != "" {
		t.Errorf("the desired states that the pusher got: %s", diff)
	}
	revisions := &appsv1.ControllerRevisionList{}
	if err := c.List(t.Context(), revisions); err != nil || len(revisions.Items) != 1 {
		t.Errorf("revisions on the host: %v, %v", revisions.Items, err)
	}
}

// A wrapper can disappear before the manager has processed its deletion, for instance when the host is restored from a
// backup. The manager must then forget what it has in memory about the wrapper.
func TestNothingIsKeptOfAWrapperThatIsGone(t *testing.T) {
	r, _ := host(t, nil)
	r.pusher.SetDesired("east", &push.Desired{Wrapper: v1alpha1.WrapperIdentity{Kind: web.Kind, Namespace: web.Namespace, Name: web.Name, UID: "u"}})
	r.writes.noteWritten(wrapper("u", "9", 1))
	if _, err := r.renderers.of(web, rendered("u", object, 1), nil, none); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err != nil {
		t.Fatal(err)
	}
	if wanted := r.pusher.DesiredMembers(web); len(wanted) > 0 || len(r.writes.last) > 0 || len(r.renderers.byKey) > 0 {
		t.Errorf("the process still has desired states on %v, %d writes and %d renderers", wanted, len(r.writes.last), len(r.renderers.byKey))
	}
}

func TestWakeEnqueuesWrappersOfItsOwnScope(t *testing.T) {
	r, _ := host(t, nil)
	r.Wake(web) // must not fail before the loop has a queue
	queue := workqueue.NewTypedRateLimitingQueue(loopqueue.RetryLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := r.listen(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	other := web
	other.Kind = v1alpha1.KindClusterFederated
	r.Wake(other)
	if queue.Len() != 0 {
		t.Error("the loop enqueued a wrapper of the other scope")
	}
	r.Wake(web)
	if got, _ := queue.Get(); got.NamespacedName != web.NamespacedName {
		t.Errorf("enqueued: %v", got)
	}
}

func TestEveryWrapperOfAScopeIsReconciledWhenTheRegistryChanges(t *testing.T) {
	w, cw := rendered("u", object, 1), &v1alpha1.ClusterFederated{ObjectMeta: metav1.ObjectMeta{Name: "crds"}}
	w.ResourceVersion = ""
	for kind, want := range map[v1alpha1.WrapperKind]client.ObjectKey{
		v1alpha1.KindFederated:        web.NamespacedName,
		v1alpha1.KindClusterFederated: {Name: "crds"},
	} {
		r, _ := host(t, nil, w.DeepCopy(), cw.DeepCopy())
		r.kind = kind
		if diff := cmp.Diff([]reconcile.Request{{NamespacedName: want}}, r.all(t.Context(), east())); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

func TestTheWrapperIndexGivesCopiesOfTheCacheToTheLoopOfTheirScope(t *testing.T) {
	namespaced, _ := host(t, nil)
	clusterScoped, _ := host(t, nil)
	clusterScoped.kind = v1alpha1.KindClusterFederated
	index := NewWrapperIndex(nil, namespaced.orphans, clusterScoped, namespaced)
	namespaced.writes.noteWritten(wrapper("u", "9", 1))
	index.OnAdd(wrapper("u", "8", 1), true)
	if namespaced.writes.last[web].wrapper == nil {
		t.Error("an older copy of the cache replaces the last write")
	}
	index.OnUpdate(nil, wrapper("u", "9", 1))
	if namespaced.writes.last[web].wrapper != nil {
		t.Error("the last write must be dropped once the cache has it")
	}
	if len(clusterScoped.writes.last) > 0 {
		t.Error("the loop of the other scope got the copy")
	}
	index.OnAdd("no wrapper", false)
	index.OnDelete(cache.DeletedFinalStateUnknown{Obj: wrapper("u", "9", 1)})
	index.OnDelete("no wrapper")
}
