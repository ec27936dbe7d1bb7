// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/placement"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push"
)

func TestSettled(t *testing.T) {
	for name, test := range map[string]struct {
		state  v1alpha1.ClusterState
		reason string
		want   bool
	}{
		"healthy":                               {v1alpha1.StateHealthy, "", true},
		"stalled":                               {v1alpha1.StateStalled, v1alpha1.ReasonInvalid, true},
		"unreachable":                           {v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, true},
		"waiting for a consumer":                {v1alpha1.StateWaiting, v1alpha1.ReasonWaitForFirstConsumer, true},
		"progressing by its own account":        {v1alpha1.StateProgressing, v1alpha1.ReasonInstalling, true},
		"being pushed":                          {v1alpha1.StatePushing, v1alpha1.ReasonPushing, false},
		"being left":                            {v1alpha1.StateRemoving, v1alpha1.ReasonLeaving, false},
		"not read yet":                          {v1alpha1.StateUnknown, v1alpha1.ReasonNotHeardFrom, false},
		"there, and not looked at yet":          {v1alpha1.StateProgressing, v1alpha1.ReasonApplying, false},
		"drifted, which is repaired in no time": {v1alpha1.StateProgressing, v1alpha1.ReasonDrifted, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &v1alpha1.WrapperStatus{Clusters: []v1alpha1.ClusterStatus{{State: v1alpha1.StateHealthy}, {State: test.state,
				Reason: test.reason}}}
			if got := settled(s); got != test.want {
				t.Errorf("settled: %v", got)
			}
		})
	}
	if !settled(&v1alpha1.WrapperStatus{}) {
		t.Error("a wrapper that is nowhere is under way for ever")
	}
}

func TestLargeStatusesAreFurtherApart(t *testing.T) {
	small, large := &v1alpha1.WrapperStatus{}, &v1alpha1.WrapperStatus{}
	for i := range 500 {
		large.Clusters = append(large.Clusters, v1alpha1.ClusterStatus{Name: fmt.Sprintf("member-%d", i), State: v1alpha1.StateDegraded,
			Message: string(make([]byte, 256))})
	}
	if paced(small) != statusInterval || paced(large) < 2*statusInterval {
		t.Errorf("small %s, large %s", paced(small), paced(large))
	}
}

// host is a reconciler with a host of its own and a fleet without members.
func host(t testing.TB, refuse func() error, objects ...client.Object) (*Reconciler, client.Client) {
	t.Helper()
	clk := clocktesting.NewFakeClock(now)
	c := fake.NewClientBuilder().WithScheme(member.Scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.Federated{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object,
			patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if refuse != nil {
				if err := refuse(); err != nil {
					return err
				}
			}
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		}, SubResourceApply: applyAsAServerDoes}).Build()
	fleet := member.NewFleet(member.Host{}, clk)
	store := deliveries.NewStore(clk)
	pusher := push.New(fleet, store, clk, push.Host{}, func(push.Key) {})
	return &Reconciler{kind: v1alpha1.KindFederated, client: c, live: c, fleet: fleet,
		deliveries: store, pusher: pusher, orphans: deliveries.NewOrphans(store, pusher.Desired, nil), events: events.NewFakeRecorder(10), clock: clk}, c
}

// applyAsAServerDoes tells the resourceVersion that came of it, which the fake client keeps to itself.
func applyAsAServerDoes(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	if err := c.SubResource(sub).Apply(ctx, obj, opts...); err != nil {
		return err
	}
	applied := obj.(metav1.Object) //nolint:forcetypeassert // it is the decision, which is made of an unstructured object
	w := &v1alpha1.Federated{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: applied.GetNamespace(), Name: applied.GetName()}, w); err != nil {
		return err
	}
	applied.SetResourceVersion(w.ResourceVersion)
	return nil
}

func at(r *Reconciler, w *v1alpha1.Federated, when time.Time, placed ...string) *reconciliation {
	p := &reconciliation{Reconciler: r, key: web, wrapper: r.writes.newest(w.DeepCopy()), now: when, revision: "fed-web-1"}
	p.decision = placement.Decision{Status: v1alpha1.PlacementStatus{Clusters: placed}, Placed: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonPlaced}
	return p
}

func ready(t *testing.T, c client.Client) string {
	t.Helper()
	w := &v1alpha1.Federated{}
	if err := c.Get(t.Context(), web.NamespacedName, w); err != nil {
		t.Fatal(err)
	}
	for _, cond := range w.Status.Conditions {
		if cond.Type == v1alpha1.ConditionReady {
			return string(cond.Status) + " " + cond.Reason
		}
	}
	return ""
}

// A status that is held back is written in the end. A final status is written at once.
func TestNoStatusIsLostByPacing(t *testing.T) {
	w := wrapper("u", "", 1)
	r, c := host(t, nil, w)

	// Under way: held back, and come back to.
	result, err := at(r, w, now, "east").publish(t.Context())
	if err != nil || result.RequeueAfter != statusInterval || ready(t, c) != "" {
		t.Fatalf("under way: %v %v %q", result, err, ready(t, c))
	}
	// When the interval is over, the status is written.
	if _, err := at(r, w, now.Add(statusInterval), "east").publish(t.Context()); err != nil || ready(t, c) != "False NotHeardFrom" {
		t.Fatalf("after the interval: %v %q", err, ready(t, c))
	}
	// A final status does not wait. The cache still has the wrapper from the beginning.
	if _, err := at(r, w, now.Add(statusInterval+time.Millisecond)).publish(t.Context()); err != nil || ready(t, c) != "True AllHealthy" {
		t.Fatalf("final: %v %q", err, ready(t, c))
	}
	// And then it is not written again.
	before := &v1alpha1.Federated{}
	if err := c.Get(t.Context(), web.NamespacedName, before); err != nil {
		t.Fatal(err)
	}
	result, err = at(r, w, now.Add(time.Hour)).publish(t.Context())
	if err != nil || result.RequeueAfter != 0 {
		t.Fatal(result, err)
	}
	after := &v1alpha1.Federated{}
	if err := c.Get(t.Context(), web.NamespacedName, after); err != nil || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("an unchanged status was written again (%v)", err)
	}
}

// A restart alone changes no status: until the grace is over, missing knowledge of the manager is not reported.
func TestAStartWritesNothingThatItOnlyDoesNotKnowYet(t *testing.T) {
	well := report.Build(report.Input{Generation: 1, UpdateRevision: "fed-web-1", PlacedOK: true, PlacedReason: v1alpha1.ReasonPlaced,
		Before: &v1alpha1.WrapperStatus{}, Members: []report.Member{{Name: "east", Revision: "fed-web-1", Held: true,
			Reachability: report.Reachability{Known: true, Usable: true}}}}, now.Add(-time.Hour))
	w := wrapper("u", "", 1)
	w.Status = well
	r, c := host(t, nil, w)
	recorder := r.events.(*events.FakeRecorder) //nolint:forcetypeassert // host made it
	if err := r.listen(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, 2 * time.Second, startupGrace - time.Second} {
		result, err := at(r, w, now.Add(after), "east").publish(t.Context())
		if err != nil || result.RequeueAfter != startupGrace-after || ready(t, c) != "True AllHealthy" {
			t.Fatalf("%s after the start: %v %v %q", after, result, err, ready(t, c))
		}
	}
	if len(recorder.Events) != 0 {
		t.Fatalf("an event reports a restart: %s", <-recorder.Events)
	}
	// It stays silent: now that is the news.
	if result, err := at(r, w, now.Add(startupGrace), "east").publish(t.Context()); err != nil || result.RequeueAfter != statusInterval {
		t.Fatalf("%v %v", result, err)
	}
	if _, err := at(r, w, now.Add(startupGrace+statusInterval), "east").publish(t.Context()); err != nil || ready(t, c) != "False NotHeardFrom" {
		t.Fatalf("after the grace: %v %q", err, ready(t, c))
	}
	if len(recorder.Events) != 1 {
		t.Fatal("the status does not report that the manager has not read a member")
	}
}

// The grace does not hold back known facts: a wrapper that is on no member, or that was edited, is reported at once
// after a start.
func TestAStartHoldsNoNewsBack(t *testing.T) {
	w := wrapper("u", "", 1)
	r, c := host(t, nil, w)
	if err := r.listen(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := at(r, w, now).publish(t.Context()); err != nil || ready(t, c) != "True AllHealthy" {
		t.Fatalf("%v %q", err, ready(t, c))
	}
}

func TestAStatusWriteIsTriedAgainAfterAConflict(t *testing.T) {
	w := wrapper("u", "", 1)
	conflict := apierrors.NewConflict(schema.GroupResource{}, "web", nil)
	r, c := host(t, func() error { return conflict }, w)
	result, err := at(r, w, now).publish(t.Context())
	if err != nil || result.RequeueAfter == 0 {
		t.Fatalf("the reconcile is not repeated: %v %v", result, err)
	}
	if got := r.writes.newest(w.DeepCopy()).WrapperStatus().Conditions; len(got) > 0 {
		t.Errorf("a status that was not written counts as written: %v", got)
	}
	if got := ready(t, c); got != "" {
		t.Errorf("it was written: %s", got)
	}
}

func TestOfAMemberWhoseDeliveriesCannotBeReadNothingIsKnown(t *testing.T) {
	usable, away := report.Reachability{Known: true, Usable: true}, report.Reachability{Known: true, Reason: v1alpha1.ReasonUnreachable}
	for name, test := range map[string]struct {
		reachability report.Reachability
		record       deliveries.Record
		want         report.Reachability
	}{
		"they are listed":                     {usable, deliveries.Record{Listed: true}, usable},
		"they are not listed yet":             {usable, deliveries.Record{}, report.Reachability{}},
		"they were, and have become too much": {usable, deliveries.Record{Listed: true, Unreadable: "too much"}, report.Reachability{Message: "too much"}},
		"it does not answer either":           {away, deliveries.Record{Listed: true, Unreadable: "too much"}, away},
	} {
		t.Run(name, func(t *testing.T) {
			if got := known(test.reachability, test.record); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
