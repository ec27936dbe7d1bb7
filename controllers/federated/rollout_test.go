// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/rolloutstate"
	"github.com/fairlead-dev/fairlead/controllers/loopqueue"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/oldrevisions"
	"github.com/fairlead-dev/fairlead/internal/push"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

func TestAMemberWakesTheWrappersThatRollOutOnIt(t *testing.T) {
	r, _ := host(t, nil)
	r.rollouts.Observe(web, "east", rolloutstate.Observation{}, now)
	queue := workqueue.NewTypedRateLimitingQueue(loopqueue.RetryLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := r.listen(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	up, down := member.ProbeResult{Probed: true, Reachable: true, Valid: true}, member.ProbeResult{Probed: true}
	rolloutWaker{r}.probed("west", down, up)
	rolloutWaker{r}.probed("east", up, up)
	if queue.Len() != 0 {
		t.Error("a member wakes a wrapper that is not there, or although the member did not change")
	}
	rolloutWaker{r}.probed("east", down, up)
	if got := r.rollingOn(t.Context(), east()); queue.Len() != 1 || len(got) != 1 || got[0].NamespacedName != web.NamespacedName {
		t.Errorf("%d wrappers are enqueued, %v", queue.Len(), got)
	}
}

func TestWhichApprovalsCountForARollout(t *testing.T) {
	w := rendered("u", object, 1)
	w.ResourceVersion = ""
	r, _ := host(t, nil, w)
	state := rollout.State{ID: "a", Revision: "r2", Since: now.Add(-time.Hour)}
	approve := func(name string, spec v1alpha1.ApprovalSpec, minutes int) v1alpha1.Approval {
		a := v1alpha1.Approval{Spec: spec}
		a.Name, a.Namespace, a.CreationTimestamp = name, "shop", metav1.NewTime(now.Add(time.Duration(minutes)*time.Minute))
		return a
	}
	approvals := []v1alpha1.Approval{
		approve("wave", v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowWave, Rollout: "a", Revision: "r2", Wave: "rest"}, 0),
		approve("skip", v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowSkip, Rollout: "a", Revision: "r2", Clusters: []string{"east", "west"}}, 0),
		approve("retry-2", v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowRetry, Rollout: "a", Revision: "r2"}, 2),
		approve("retry-1", v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowRetry, Rollout: "a", Revision: "r2"}, 1),
		approve("other-rollout", v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowWave, Rollout: "b", Revision: "r2", Wave: "canary"}, 0),
		approve("other-revision", v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowSkip, Rollout: "a", Revision: "r1", Clusters: []string{"north"}}, 0),
		approve("unknown-wave", v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowWave, Rollout: "a", Revision: "r2", Wave: "rset"}, 0),
		approve("removal", v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowRemoval, Clusters: []string{"south"}}, 0),
	}
	for range 2 {
		p := &reconciliation{Reconciler: r, key: web, wrapper: w, now: now, approvals: approvals}
		want := rollout.Approvals{Waves: []string{"rest"}, Skip: []string{"east", "west"}, Retry: now.Add(2 * time.Minute)}
		if diff := cmp.Diff(want, p.rolloutApprovals(t.Context(), &state)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	recorded := r.events.(*events.FakeRecorder).Events //nolint:forcetypeassert // host uses a FakeRecorder
	close(recorded)
	var told []string
	for note := range recorded {
		told = append(told, note)
	}
	if diff := cmp.Diff([]string{
		"Warning ApprovalOutdated Approval other-rollout does not count: it is for rollout b of r2, and the present rollout is a of r2. " +
			"Run `kubectl delete approval other-rollout -n shop`, and approve the present rollout",
		"Warning ApprovalOutdated Approval other-revision does not count: it is for rollout a of r1, and the present rollout is a of r2. " +
			"Run `kubectl delete approval other-revision -n shop`, and approve the present rollout",
		"Warning ApprovalOutdated Approval unknown-wave does not count: its spec.wave is rset, and spec.rollout has no wave of this name. " +
			"Run `kubectl delete approval unknown-wave -n shop`, and approve one of the waves rest",
	}, told); diff != "" {
		t.Errorf("events about Approvals that do not count (-want +got):\n%s", diff)
	}
}

// countingReader counts the reads of single objects.
type countingReader struct {
	client.Reader
	gets int
}

func (r *countingReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	r.gets++
	return r.Reader.Get(ctx, key, obj, opts...)
}

// The author adds a wave, and a person approves it at once. The cache has the Approval first.
func TestAnApprovalOfAWaveThatTheCacheDoesNotHaveYetIsNotReported(t *testing.T) {
	approve := func(wave string, at time.Time) v1alpha1.Approval {
		a := v1alpha1.Approval{Spec: v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowWave, Rollout: "a", Revision: "r2", Wave: wave}}
		a.Name, a.Namespace, a.CreationTimestamp = "approval", "shop", metav1.NewTime(at)
		return a
	}
	for name, test := range map[string]struct {
		approval v1alpha1.Approval
		outdated bool // the cache lacks the wave "added"
		events   int  // after two reconciles
		reads    int
	}{
		"of a known wave":                     {approval: approve("canary", now)},
		"of a wave that the cache lacks":      {approval: approve("added", now), outdated: true, reads: 2},
		"of a wave that does not exist":       {approval: approve("lost", now), events: 1, reads: 1},
		"of an unknown wave, before the wave": {approval: approve("lost", now.Add(-2*time.Hour))},
	} {
		t.Run(name, func(t *testing.T) {
			present := rendered("u", object, 1)
			present.ResourceVersion = ""
			present.Spec.Rollout.Waves = []v1alpha1.RolloutWave{build.Wave("canary", "east"), build.Wave("added", "west")}
			r, _ := host(t, nil, present)
			live := &countingReader{Reader: r.live}
			r.live = live
			cached := present.DeepCopy()
			if test.outdated {
				cached.Spec.Rollout.Waves = cached.Spec.Rollout.Waves[:1]
			}
			for range 2 {
				p := &reconciliation{Reconciler: r, key: web, wrapper: cached, now: now, approvals: []v1alpha1.Approval{test.approval}}
				p.rolloutApprovals(t.Context(), &rollout.State{ID: "a", Revision: "r2", Since: now.Add(-time.Hour)})
			}
			if got := len(r.events.(*events.FakeRecorder).Events); got != test.events || live.gets != test.reads { //nolint:forcetypeassert // host uses a FakeRecorder
				t.Errorf("%d events and %d reads, want %d and %d", got, live.gets, test.events, test.reads)
			}
		})
	}
}

// inWaves returns the loop with a wrapper on east and west. Its rollout changes east first, in the wave canary.
func inWaves(t *testing.T) (*Reconciler, client.Client) {
	t.Helper()
	w := rendered("u", object, 1)
	w.ResourceVersion = ""
	w.Spec.Placement.Clusters.Names = []string{"east", "west"}
	w.Spec.Rollout.Waves = []v1alpha1.RolloutWave{build.Wave("canary", "east")}
	west := east()
	west.Name = "west"
	r, c := host(t, nil, w, east(), west)
	r.history = testKey(t, 1)
	r.old = oldrevisions.New(c, r.history)
	return r, c
}

// The manager cannot reach the members and knows no Deliveries on them. Then the rollout begins, but no member gets a
// target.
func TestAMemberOutOfReachIsGivenNoTarget(t *testing.T) {
	r, c := inWaves(t)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err != nil {
		t.Fatal(err)
	}
	got := &v1alpha1.Federated{}
	if err := c.Get(t.Context(), web.NamespacedName, got); err != nil {
		t.Fatal(err)
	}
	if s := got.Status.Rollout; s.State != v1alpha1.RolloutProgressing || s.Wave != "canary" || s.Begun != v1alpha1.Yes || s.ID == "" {
		t.Errorf("the status of the rollout is %+v", s)
	}
	if wanted := r.pusher.DesiredMembers(web); len(wanted) > 0 {
		t.Errorf("members with a desired state: %v", wanted)
	}
}

func TestARolloutKnowsTheMessageOfAMember(t *testing.T) {
	r, _ := inWaves(t)
	r.pusher.SetDesired("east", &push.Desired{Wrapper: v1alpha1.Identity(rendered("u", object, 1)), Revision: "fed-web-1"})
	silent := east()
	silent.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRedirected, Message: "another server answers"}}
	reader := rolloutReader{observer: r.observer(web, rendered("u", object, 1), map[string]*v1alpha1.MemberCluster{"east": silent}), memory: &r.rollouts, now: now}
	if m := reader.member("east", nil, &rollout.State{ID: "a"}); m.State != v1alpha1.StateUnreachable || m.Message != "another server answers" {
		t.Errorf("the member is %s: %q", m.State, m.Message)
	}
}

func TestNoDeadlineRunsWherePushesAreSuspended(t *testing.T) {
	r, _ := inWaves(t)
	for name, test := range map[string]struct {
		wrapper, member v1alpha1.SuspendPolicy
		want            bool
	}{
		"nothing is suspended": {v1alpha1.SuspendNone, v1alpha1.SuspendNone, false},
		"further waves":        {v1alpha1.SuspendRollout, "", false},
		"all of the wrapper":   {v1alpha1.SuspendAll, "", true},
		"all of the member":    {"", v1alpha1.SuspendPushes, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, mc := rendered("u", object, 1), east()
			w.Spec.Suspend, mc.Spec.Suspend = test.wrapper, test.member
			reader := rolloutReader{observer: r.observer(web, w, map[string]*v1alpha1.MemberCluster{"east": mc}), memory: &r.rollouts, now: now}
			if got := reader.member("east", nil, &rollout.State{ID: "a"}).HeldUp; got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestWhichTargetsNeedNoProof(t *testing.T) {
	for name, test := range map[string]struct {
		state    rollout.State
		revision string // of the member's target
		want     bool
	}{
		"no rollout was there before":                            {rollout.State{}, "r1", true},
		"the rollout is complete":                                {rollout.State{ID: "a", Phase: rollout.Complete, Revision: "r2"}, "r2", true},
		"the rollout is under way":                               {rollout.State{ID: "a", Phase: rollout.Progressing, Revision: "r2", LastGood: "r1"}, "r2", false},
		"a member that waits has the last good revision":         {rollout.State{ID: "a", Phase: rollout.Progressing, Revision: "r2", LastGood: "r1"}, "r1", true},
		"a member is back at the last good revision":             {rollout.State{ID: "a", Phase: rollout.RolledBack, Revision: "r2", LastGood: "r1"}, "r1", true},
		"the rollout brings the last good revision":              {rollout.State{ID: "a", Phase: rollout.Progressing, Revision: "r1", LastGood: "r1"}, "r1", false},
		"a fresh member, and no revision was good":               {rollout.State{ID: "a", Phase: rollout.Progressing, Revision: "r1"}, "", false},
		"the rollout has failed with the revision of the member": {rollout.State{ID: "a", Phase: rollout.Paused, Revision: "r2", LastGood: "r1"}, "r2", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isProven(&rollout.Member{Revision: test.revision}, &test.state); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// The member became unreachable after the decision and before the first write to it. So the new revision cannot be the
// cause, and must not count as the member's target.
func TestAMemberLostBeforeItsDeliveryHadTheTargetDoesNotHaveTheTarget(t *testing.T) {
	r, _ := inWaves(t)
	w := rendered("u", object, 1)
	renderer, err := r.renderers.of(web, w, nil, none)
	if err != nil {
		t.Fatal(err)
	}
	newest, err := renderer.VariantFor(selection.Member{Name: "east"})
	if err != nil {
		t.Fatal(err)
	}
	r.pusher.SetDesired("east", &push.Desired{Wrapper: v1alpha1.Identity(w), Revision: "fed-web-1", Rendering: newest})
	if revision, rendering := r.observer(web, w, nil).Target("east"); revision != "" || rendering != "" {
		t.Errorf("the member's target is revision %s, rendering %s", revision, rendering)
	}
}

// Each member is updated alone and becomes Healthy alone, so there are at least two decisions for each.
func TestTheStateOfARolloutIsWrittenForEachWaveAndNotForEachMember(t *testing.T) {
	for _, size := range []int{4, 40} {
		writes := 0
		w := rendered("u", object, 1)
		w.ResourceVersion = ""
		r, c := host(t, func() error { writes++; return nil }, w)
		if err := c.Get(t.Context(), web.NamespacedName, w); err != nil {
			t.Fatal(err)
		}
		one := intstr.FromInt32(1)
		plan, err := rollout.Compile(rollout.Strategy{MaxUnavailable: &one, Waves: []rollout.Wave{
			{Name: "canary", Clusters: &v1alpha1.ClusterSelection{Names: []string{"m0", "m1"}}, Soak: time.Minute}, {Name: "last"}}})
		if err != nil {
			t.Fatal(err)
		}
		in, clock := rollout.Input{Revision: "r2"}, now.Truncate(time.Second)
		for i := range size {
			in.Members = append(in.Members, rollout.Member{Member: selection.Member{Name: fmt.Sprint("m", i)}, Target: "r1", Revision: "r1", Newest: "r2",
				State: v1alpha1.StateHealthy, Since: clock, ProgressFrom: clock})
		}
		decisions := 0
		for ; w.Status.Rollout.State != v1alpha1.RolloutComplete; decisions++ {
			if decisions > 10*size+100 {
				t.Fatalf("%d members: the rollout does not end: %+v", size, w.Status.Rollout)
			}
			state := rolloutstate.Of(w.Status.Rollout)
			d := plan.Decide(in, state, clock)
			if _, err := r.writer(w).writeRollout(t.Context(), rolloutstate.StatusOf(&d)); err != nil {
				t.Fatal(err)
			}
			clock = clock.Add(10 * time.Second)
			for i := range in.Members {
				switch m := &in.Members[i]; {
				case d.Targets[i].Rendering != m.Target:
					m.Target, m.Revision, m.State, m.Since, m.ProgressFrom = "r2", "r2", v1alpha1.StateProgressing, clock, clock
				case m.State != v1alpha1.StateHealthy:
					m.State, m.Since = v1alpha1.StateHealthy, clock
				}
			}
		}
		if decisions < 2*size || writes != 3 { // the first wave begins, the second begins, and the rollout is complete
			t.Errorf("%d members: %d decisions are written %d times", size, decisions, writes)
		}
	}
}

func TestAWrapperWithoutARolloutHasNoStateOfOne(t *testing.T) {
	r, c := inWaves(t)
	w := &v1alpha1.Federated{}
	if err := c.Get(t.Context(), web.NamespacedName, w); err != nil {
		t.Fatal(err)
	}
	w.Spec.Rollout = v1alpha1.Rollout{}
	w.Status.Rollout = v1alpha1.RolloutStatus{ID: "a", Revision: "r1", State: v1alpha1.RolloutPaused}
	if err := c.Update(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), web.NamespacedName, w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"east", "west"}, r.pusher.DesiredMembers(web)); diff != "" || w.Status.Rollout.Exists() {
		t.Errorf("rollout %+v, members with a desired state: %s", w.Status.Rollout, diff)
	}
}
