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

// aboutWeb is the spec.wrapper of Approvals about the wrapper of these tests.
var aboutWeb = v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: "web", UID: "u"}

func registered(name string) *v1alpha1.MemberCluster {
	return &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"in": "true"}}}
}

func TestAnApprovalWakesItsWrapper(t *testing.T) {
	for name, test := range map[string]struct {
		loop, kind v1alpha1.WrapperKind
		namespace  string
		want       []string
	}{
		"an Approval in the namespace of a Federated":             {v1alpha1.KindFederated, v1alpha1.KindFederated, "shop", []string{"shop/web"}},
		"an Approval in fairlead-system for a ClusterFederated":   {v1alpha1.KindClusterFederated, v1alpha1.KindClusterFederated, v1alpha1.SystemNamespace, []string{"/web"}},
		"an Approval for a wrapper of the other scope":            {v1alpha1.KindFederated, v1alpha1.KindClusterFederated, v1alpha1.SystemNamespace, nil},
		"an Approval for a ClusterFederated in another namespace": {v1alpha1.KindClusterFederated, v1alpha1.KindClusterFederated, "shop", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := &v1alpha1.Approval{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace}}
			a.Spec.Wrapper = v1alpha1.WrapperReference{Kind: test.kind, Name: "web"}
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

// departing returns the loop with a wrapper that is being deleted. Its objects are on two members, and the manager has
// no connection to either.
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
		t.Fatal("the wrapper is gone before it has left its members")
	}
	if diff := cmp.Diff([]string{"east", "west"}, r.pusher.DesiredMembers(web)); diff != "" {
		t.Fatalf("members that the wrapper still leaves (-want +got):\n%s", diff)
	}
	if err := c.Create(t.Context(), release("first", "west")); err != nil {
		t.Fatal(err)
	}
	if depart(t, r, c) {
		t.Fatal("the wrapper is gone although only one of its two members was released")
	}
	if diff := cmp.Diff([]string{"east"}, r.pusher.DesiredMembers(web)); diff != "" {
		t.Fatalf("the pusher must have no work on a released member (-want +got):\n%s", diff)
	}
	// The garbage collector may delete the Approval before the wrapper. The release must still count then.
	if err := c.DeleteAllOf(t.Context(), &v1alpha1.Approval{}, client.InNamespace("shop")); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), release("second", "east")); err != nil {
		t.Fatal(err)
	}
	if !depart(t, r, c) {
		t.Error("the wrapper waits for members that were released")
	}
}

// The removal from west waits. No event comes when the hour for maxRemoval ends, so the manager has to reconcile the
// wrapper by itself then.
func TestARemovalThatWaitsIsReconciledWhenTheHourEnds(t *testing.T) {
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
	// The first reconcile delays the status, so the next one comes after statusInterval. The second reconcile writes
	// the status, so the third one comes when the hour is over.
	for _, step := range []struct{ at, again time.Duration }{{0, statusInterval}, {statusInterval, time.Hour - statusInterval}} {
		if result, err := pass(now.Add(step.at)).advance(t.Context()); err != nil || result.RequeueAfter != step.again {
			t.Fatalf("the next reconcile is after %s, want %s (%v)", result.RequeueAfter, step.again, err)
		}
	}
	if err := c.Get(t.Context(), web.NamespacedName, w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"west"}, w.Status.Placement.Withheld); diff != "" {
		t.Errorf("members whose removal waits (-want +got):\n%s", diff)
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
		t.Errorf("after the Approval the reconcile is repeated at %s; leaving (-want +got):\n%s", p.decision.Again, diff)
	}
}
