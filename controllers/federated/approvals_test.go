// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func approval(name string, spec v1alpha1.ApprovalSpec) *v1alpha1.Approval {
	return &v1alpha1.Approval{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(now)}, Spec: spec,
	}
}

// aboutWeb names the wrapper of these tests.
var aboutWeb = v1alpha1.ApprovedWrapper{Kind: v1alpha1.KindFederated, Name: "web", UID: "u"}

func registered(name string) *v1alpha1.MemberCluster {
	return &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"in": "true"}}}
}

func TestAnApprovalWakesItsWrapper(t *testing.T) {
	for name, test := range map[string]struct {
		loop, kind v1alpha1.WrapperKind
		namespace  string
		want       []string
	}{
		"a Federated beside it":         {v1alpha1.KindFederated, v1alpha1.KindFederated, "shop", []string{"shop/web"}},
		"a ClusterFederated":            {v1alpha1.KindClusterFederated, v1alpha1.KindClusterFederated, v1alpha1.SystemNamespace, []string{"/web"}},
		"of the other scope":            {v1alpha1.KindFederated, v1alpha1.KindClusterFederated, v1alpha1.SystemNamespace, nil},
		"from where it does not belong": {v1alpha1.KindClusterFederated, v1alpha1.KindClusterFederated, "shop", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := &v1alpha1.Approval{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace}}
			a.Spec.Wrapper = v1alpha1.ApprovedWrapper{Kind: test.kind, Name: "web"}
			var got []string
			for _, request := range (&Reconciler{kind: test.loop}).approved(t.Context(), a) {
				got = append(got, request.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// departing is a wrapper that is being deleted. Its objects are on two members, neither of which is connected.
func departing(t *testing.T, approvals ...client.Object) (*Reconciler, client.Client) {
	t.Helper()
	w := wrapper("u", "", 1)
	w.Finalizers, w.DeletionTimestamp = []string{v1alpha1.Finalizer}, &metav1.Time{Time: now}
	w.Status.Placement.Clusters = []string{"east", "west"}
	r, c := host(t, nil, append(approvals, w, registered("east"), registered("west"))...)
	r.live = things{deleted: map[string]time.Time{"shop": {}, "federateds.federation.fairlead.dev": {}}}
	return r, c
}

func depart(t *testing.T, r *Reconciler, c client.Client) (left bool) {
	t.Helper()
	w := &v1alpha1.Federated{}
	if err := c.Get(t.Context(), web.NamespacedName, w); err != nil {
		t.Fatal(err)
	}
	p := &reconciliation{Reconciler: r, key: web, wrapper: r.writes.newest(w), now: now}
	if _, err := p.delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := c.Get(t.Context(), web.NamespacedName, w)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return apierrors.IsNotFound(err)
}

func TestADeletedWrapperDoesNotWaitForAReleasedMember(t *testing.T) {
	release := func(name string, clusters ...string) *v1alpha1.Approval {
		return approval(name, v1alpha1.ApprovalSpec{Wrapper: aboutWeb, Allow: v1alpha1.AllowRelease, Clusters: clusters})
	}
	other := release("other", "east", "west")
	other.Spec.Wrapper.UID = "an earlier one"

	r, c := departing(t, other)
	if depart(t, r, c) {
		t.Fatal("it is gone, and nobody was left")
	}
	if diff := cmp.Diff([]string{"east", "west"}, r.pusher.DesiredMembers(web)); diff != "" {
		t.Fatalf("to be left (-want +got):\n%s", diff)
	}
	if err := c.Create(t.Context(), release("first", "west")); err != nil {
		t.Fatal(err)
	}
	if depart(t, r, c) {
		t.Fatal("it is gone, and was not released for one of the two")
	}
	if diff := cmp.Diff([]string{"east"}, r.pusher.DesiredMembers(web)); diff != "" {
		t.Fatalf("nothing is to be done on a member that was released (-want +got):\n%s", diff)
	}
	// The garbage collector may delete the Approval before the wrapper. The release is still valid.
	if err := c.DeleteAllOf(t.Context(), &v1alpha1.Approval{}, client.InNamespace("shop")); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), release("second", "east")); err != nil {
		t.Fatal(err)
	}
	if !depart(t, r, c) {
		t.Error("it waits for members that were released")
	}
}

// A reconcile that left members waiting comes back by itself when the hour is over.
func TestARemovalThatWaitsIsComeBackTo(t *testing.T) {
	w := wrapper("u", "", 1)
	w.Finalizers = []string{v1alpha1.Finalizer}
	w.Spec.Placement.Clusters = &v1alpha1.ClusterSelection{Names: []string{"east"}}
	w.Status.Placement = v1alpha1.PlacementStatus{ObservedGeneration: 1, Clusters: []string{"east", "north", "west"}}
	r, c := host(t, nil, w, registered("east"), registered("north"), registered("west"))
	pass := func(now time.Time) *reconciliation {
		t.Helper()
		if err := c.Get(t.Context(), web.NamespacedName, w); err != nil {
			t.Fatal(err)
		}
		return &reconciliation{Reconciler: r, key: web, wrapper: r.writes.newest(w.DeepCopy()), now: now}
	}
	// First the manager holds the status back, and the reconcile comes sooner. Then the status is written, and the next
	// reconcile comes when the hour is over.
	for _, step := range []struct{ at, again time.Duration }{{0, statusInterval}, {statusInterval, time.Hour - statusInterval}} {
		if result, err := pass(now.Add(step.at)).advance(t.Context()); err != nil || result.RequeueAfter != step.again {
			t.Fatalf("it is come back to after %s, want %s (%v)", result.RequeueAfter, step.again, err)
		}
	}
	if err := c.Get(t.Context(), web.NamespacedName, w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"west"}, w.Status.Placement.Withheld); diff != "" {
		t.Errorf("withheld (-want +got):\n%s", diff)
	}
	a := approval("go", v1alpha1.ApprovalSpec{Wrapper: aboutWeb, Allow: v1alpha1.AllowRemoval,
		Decision: w.Status.Placement.Decision, Clusters: []string{"west"}})
	if err := c.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	p := pass(now.Add(2 * time.Second))
	if _, err := p.advance(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"north", "west"}, p.decision.Status.Leaving); diff != "" || !p.decision.Again.IsZero() {
		t.Errorf("approved, and again at %s; leaving (-want +got):\n%s", p.decision.Again, diff)
	}
}
