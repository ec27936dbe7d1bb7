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
		"healthy":                     {v1alpha1.StateHealthy, "", true},
		"stalled":                     {v1alpha1.StateStalled, v1alpha1.ReasonInvalid, true},
		"unreachable":                 {v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, true},
		"waiting for a consumer":      {v1alpha1.StateWaiting, v1alpha1.ReasonWaitForFirstConsumer, true},
		"progressing without a push":  {v1alpha1.StateProgressing, v1alpha1.ReasonInstalling, true},
		"being pushed":                {v1alpha1.StatePushing, v1alpha1.ReasonPushing, false},
		"being left":                  {v1alpha1.StateRemoving, v1alpha1.ReasonLeaving, false},
		"not read yet":                {v1alpha1.StateUnknown, v1alpha1.ReasonNotHeardFrom, false},
		"applied, and not judged yet": {v1alpha1.StateProgressing, v1alpha1.ReasonApplying, false},
		"drifted, and repaired soon":  {v1alpha1.StateProgressing, v1alpha1.ReasonDrifted, false},
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
		t.Error("a wrapper without members never counts as settled")
	}
}

func TestLargeStatusesAreFurtherApart(t *testing.T) {
	small, large := &v1alpha1.WrapperStatus{}, &v1alpha1.WrapperStatus{}
	for i := range 500 {
		large.Clusters = append(large.Clusters, v1alpha1.ClusterStatus{Name: fmt.Sprintf("member-%d", i), State: v1alpha1.StateDegraded,
			Message: string(make([]byte, 256))})
	}
	if paced(small) != statusInterval || paced(large) < 2*statusInterval {
		t.Errorf("the interval for a small status is %s and for a large one %s", paced(small), paced(large))
	}
}

// host returns the loop with a fake host that has these objects, and with a fleet without members. refuse may return an
// error for a write of the status.
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

// applyAsAServerDoes copies the new resourceVersion to the applied object, as a client of a real API server does. The
// fake client does not copy it.
func applyAsAServerDoes(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	if err := c.SubResource(sub).Apply(ctx, obj, opts...); err != nil {
		return err
	}
	applied := obj.(metav1.Object) //nolint:forcetypeassert // the reconciler applies only unstructured objects
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

// While pushes are under way, the manager delays a status. It must write the delayed status later, and a final status
// at once.
func TestNoStatusIsLostByPacing(t *testing.T) {
	w := wrapper("u", "", 1)
	r, c := host(t, nil, w)

	// A push is under way: the manager delays the status, and asks for another reconcile.
	result, err := at(r, w, now, "east").publish(t.Context())
	if err != nil || result.RequeueAfter != statusInterval || ready(t, c) != "" {
		t.Fatalf("unfinished work: result %v, error %v, Ready %q", result, err, ready(t, c))
	}
	// When the interval is over, the manager writes the status.
	if _, err := at(r, w, now.Add(statusInterval), "east").publish(t.Context()); err != nil || ready(t, c) != "False NotHeardFrom" {
		t.Fatalf("after the interval: error %v, Ready %q", err, ready(t, c))
	}
	// The manager writes a final status at once, although the cache still has the first version of the wrapper.
	if _, err := at(r, w, now.Add(statusInterval+time.Millisecond)).publish(t.Context()); err != nil || ready(t, c) != "True AllHealthy" {
		t.Fatalf("final status: error %v, Ready %q", err, ready(t, c))
	}
	// The manager does not write the same status again.
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

// The manager restarts, and nothing else changes. Until startupGrace is over, the manager must not write a status in which
// the only news is that it has not read a member yet.
func TestAStartDoesNotReportMembersThatAreNotReadYet(t *testing.T) {
	well := report.Build(report.Input{Generation: 1, UpdateRevision: "fed-web-1", PlacedOK: true, PlacedReason: v1alpha1.ReasonPlaced,
		Before: &v1alpha1.WrapperStatus{}, Members: []report.Member{{Name: "east", Revision: "fed-web-1", Held: true,
			Reachability: report.Reachability{Known: true, Usable: true}}}}, now.Add(-time.Hour))
	w := wrapper("u", "", 1)
	w.Status = well
	r, c := host(t, nil, w)
	recorder := r.events.(*events.FakeRecorder) //nolint:forcetypeassert // host uses a FakeRecorder
	if err := r.listen(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, 2 * time.Second, startupGrace - time.Second} {
		result, err := at(r, w, now.Add(after), "east").publish(t.Context())
		if err != nil || result.RequeueAfter != startupGrace-after || ready(t, c) != "True AllHealthy" {
			t.Fatalf("%s after the start: result %v, error %v, Ready %q", after, result, err, ready(t, c))
		}
	}
	if len(recorder.Events) != 0 {
		t.Fatalf("an event reports a restart: %s", <-recorder.Events)
	}
	// The manager still has not read the member when startupGrace is over. Now the status says so.
	if result, err := at(r, w, now.Add(startupGrace), "east").publish(t.Context()); err != nil || result.RequeueAfter != statusInterval {
		t.Fatalf("%v %v", result, err)
	}
	if _, err := at(r, w, now.Add(startupGrace+statusInterval), "east").publish(t.Context()); err != nil || ready(t, c) != "False NotHeardFrom" {
		t.Fatalf("after the grace period: error %v, Ready %q", err, ready(t, c))
	}
	if len(recorder.Events) != 1 {
		t.Fatal("the status does not report that the manager has not read a member")
	}
}

// startupGrace delays only a status with less information. Right after a start, the manager has to write a status with
// news.
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
		t.Fatalf("the reconcile must be repeated: %v %v", result, err)
	}
	if got := r.writes.newest(w.DeepCopy()).WrapperStatus().Conditions; len(got) > 0 {
		t.Errorf("after a conflict the write counts as successful: %v", got)
	}
	if got := ready(t, c); got != "" {
		t.Errorf("the status was written in spite of the conflict: %s", got)
	}
}

// A container crashes on three members, and each of them reports a restart every ten seconds. The reasons and the messages of these
// lines come from the MemberClusters, because the fleet of this test has no connections.
func TestRestartsOfACrashingContainerCauseFewWrites(t *testing.T) {
	w := wrapper("u", "", 1)
	writes := 0
	r, c := host(t, func() error { writes++; return nil }, w)
	names := []string{"east", "north", "west"}
	members := make(map[string]*v1alpha1.MemberCluster)
	report := func(name, reason, message string) {
		members[name] = &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		members[name].Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}}
	}
	second, again := 0, 0
	publish := func() {
		t.Helper()
		p := at(r, w, now.Add(time.Duration(second)*time.Second), names...)
		p.members = members
		result, err := p.publish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again = 0; result.RequeueAfter > 0 {
			again = second + int(result.RequeueAfter.Seconds())
		}
	}
	message := func() string {
		stored := &v1alpha1.Federated{}
		if err := c.Get(t.Context(), web.NamespacedName, stored); err != nil {
			t.Fatal(err)
		}
		return stored.Status.Clusters[0].Message
	}
	for _, name := range names {
		report(name, "CrashLoopBackOff", "container app ended with exit code 1 after 2 restarts")
	}
	publish()
	for writes = 0; second < 120; second++ {
		if second%10 < 3 {
			report(names[second%10], "CrashLoopBackOff", fmt.Sprintf("container app ended with exit code 1 after %d restarts", 3+second/10))
		}
		if second%10 < 3 || second == again {
			publish()
		}
	}
	if writes != 4 {
		t.Errorf("%d writes in two minutes", writes)
	}
	for ; again > 0; second++ { // the members report nothing more
		if second == again {
			publish()
		}
	}
	if got := message(); got != "container app ended with exit code 1 after 14 restarts" {
		t.Errorf("the last restart is not in the status: %s", got)
	}
	for i, test := range []struct{ reason, message string }{
		{"CrashLoopBackOff", "container app ended with exit code 127 after 15 restarts"}, // another cause with the same reason
		{"OOMKilled", "container app used more memory than its limit"},                   // another reason
	} {
		second += 10
		report("east", test.reason, test.message)
		if publish(); message() != test.message {
			t.Errorf("%d: the status has %q", i, message())
		}
	}
}
