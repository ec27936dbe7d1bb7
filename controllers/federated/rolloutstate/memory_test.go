// SPDX-License-Identifier: Apache-2.0

package rolloutstate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push"
)

var (
	now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	web = push.Key{Kind: v1alpha1.KindFederated, NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
)

// Each step passes the state of one member to Memory.Observe at the given minute.
func TestWhenAMembersStateAndDeadlineBegan(t *testing.T) {
	type step struct {
		minute              int
		target              string
		state               v1alpha1.ClusterState
		since, progressFrom int // in minutes after the first step
		heldUp              bool
	}
	for name, steps := range map[string][]step{
		"the deadline begins when the target changes": {
			{minute: 0, target: "d1", state: v1alpha1.StateHealthy, since: 0, progressFrom: 0}, {minute: 5, target: "d2", state: v1alpha1.StatePushing, since: 5, progressFrom: 5}, {minute: 6, target: "d2", state: v1alpha1.StateProgressing, since: 6, progressFrom: 5},
		},
		"the deadline begins when the member is no longer Healthy": {
			{minute: 0, target: "d1", state: v1alpha1.StateHealthy, since: 0, progressFrom: 0}, {minute: 8, target: "d1", state: v1alpha1.StateHealthy, since: 0, progressFrom: 8}, {minute: 19, target: "d1", state: v1alpha1.StateDegraded, since: 19, progressFrom: 19},
		},
		"a soak begins again with a new target, even if every reconcile saw the member Healthy": {
			{minute: 0, target: "d1", state: v1alpha1.StateHealthy, since: 0, progressFrom: 0}, {minute: 5, target: "d2", state: v1alpha1.StateHealthy, since: 5, progressFrom: 5},
		},
		"the deadline stands still while the member waits": {
			{minute: 0, target: "d1", state: v1alpha1.StatePushing, since: 0, progressFrom: 0}, {minute: 2, target: "d1", state: v1alpha1.StateWaiting, since: 2, progressFrom: 0}, {minute: 7, target: "d1", state: v1alpha1.StateProgressing, since: 7, progressFrom: 5},
		},
		"the deadline stands still while the member is unreachable": {
			{minute: 0, target: "d1", state: v1alpha1.StatePushing, since: 0, progressFrom: 0}, {minute: 2, target: "d1", state: v1alpha1.StateUnreachable, since: 2, progressFrom: 0}, {minute: 7, target: "d1", state: v1alpha1.StatePushing, since: 7, progressFrom: 5},
		},
		"the deadline stands still while a reinstall is announced": {
			{minute: 0, target: "d1", state: v1alpha1.StatePushing}, {minute: 1, target: "d1", state: v1alpha1.StateProgressing, since: 1, heldUp: true},
			{minute: 3, target: "d1", state: v1alpha1.StateProgressing, since: 1, progressFrom: 2, heldUp: true},
			{minute: 4, target: "d1", state: v1alpha1.StateProgressing, since: 1, progressFrom: 3},
			{minute: 9, target: "d1", state: v1alpha1.StateProgressing, since: 1, progressFrom: 3},
		},
		"suspended time counts once for a member that is Held meanwhile": {
			{minute: 0, target: "d1", state: v1alpha1.StatePushing}, {minute: 2, target: "d1", state: v1alpha1.StateHeld, since: 2, heldUp: true},
			{minute: 7, target: "d1", state: v1alpha1.StatePushing, since: 7, progressFrom: 5},
		},
		"the time in which a lost member was suspended does not count": {
			{minute: 0, target: "d1", state: v1alpha1.StatePushing}, {minute: 2, target: "d1", state: v1alpha1.StateUnreachable, since: 2},
			{minute: 3, target: "d1", state: v1alpha1.StateUnreachable, since: 2, progressFrom: 1, heldUp: true},
			{minute: 9, target: "d1", state: v1alpha1.StateUnreachable, since: 8, progressFrom: 7},
		},
		"what the manager reads again after it was cut off is not new": {
			{minute: 0, target: "d1", state: v1alpha1.StatePushing}, {minute: 1, target: "", state: v1alpha1.StateUnknown, since: 1},
			{minute: 4, target: "d1", state: v1alpha1.StatePushing, since: 4, progressFrom: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var memory Memory
			minute := func(n int) time.Time { return now.Add(time.Duration(n) * time.Minute) }
			for _, s := range steps {
				got := memory.Observe(web, "east", Observation{Target: s.target, State: s.state, Since: minute(s.minute), IsHeldUp: s.heldUp}, minute(s.minute))
				if diff := cmp.Diff([]time.Time{minute(s.since), minute(s.progressFrom)}, []time.Time{got.Since, got.ProgressFrom}); diff != "" {
					t.Errorf("at minute %d (-want +got):\n%s", s.minute, diff)
				}
			}
		})
	}
}

// Each step passes the state of one member to Memory.Observe. The first time is that of the member's line, in seconds after now. A
// retry in the same second as the state must not count as an earlier one, so times alone cannot tell which was first.
func TestWhetherAStateBeganBeforeTheLastRetry(t *testing.T) {
	type step struct {
		target   string
		state    v1alpha1.ClusterState
		line     int
		retry    time.Time
		isBefore bool
	}
	stalled, first, second := v1alpha1.StateStalled, now, now.Add(time.Second)
	for name, steps := range map[string][]step{
		"a retry in the second in which the member became Stalled": {
			{"d1", v1alpha1.StatePushing, 0, time.Time{}, false}, {"d1", stalled, 0, time.Time{}, false}, {"d1", stalled, 0, first, true},
		},
		"the member becomes Stalled again in the second of the retry": {
			{"d1", stalled, 0, time.Time{}, false}, {"d1", v1alpha1.StatePushing, 0, first, false}, {"d1", stalled, 0, first, false},
		},
		"a second retry": {
			{"d1", v1alpha1.StatePushing, 0, first, false}, {"d1", stalled, 0, first, false}, {"d1", stalled, 0, second, true},
		},
		"another target": {
			{"d1", stalled, 0, time.Time{}, false}, {"d2", stalled, 0, first, false},
		},
		"a manager that has just started, and a line that is as old as the retry": {
			{"", v1alpha1.StateUnknown, 1, second, false}, {"d1", stalled, 1, second, true},
		},
		"a manager that has just started, and a line that is newer than the retry": {
			{"", v1alpha1.StateUnknown, 1, first, false}, {"d1", stalled, 1, first, false},
		},
		"a manager that has read the member before its first decision": {
			{"d1", stalled, 0, first, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var memory Memory
			for i, s := range steps {
				got := memory.Observe(web, "east", Observation{Target: s.target, State: s.state,
					LineSince: now.Add(time.Duration(s.line) * time.Second), Retried: s.retry}, now.Add(time.Duration(i)*time.Millisecond))
				if s.state == stalled && got.BeforeRetry != s.isBefore {
					t.Errorf("step %d: the state began before the retry: %t", i+1, got.BeforeRetry)
				}
			}
		})
	}
}

func TestTheDeadlineOfASuspendedMemberBeginsAfterARestart(t *testing.T) {
	var memory Memory
	hourAgo := now.Add(-time.Hour)
	if got := memory.Observe(web, "east", Observation{Target: "d1", State: v1alpha1.StatePushing, Since: hourAgo, IsHeldUp: true}, now); !got.ProgressFrom.Equal(now) {
		t.Errorf("it began %s, although the manager does not know since when pushes are suspended", got.ProgressFrom)
	}
}

func TestATargetIsProvenWhenARolloutIsCompleteWithIt(t *testing.T) {
	var memory Memory
	for i, s := range []struct {
		target   string
		complete bool
		want     bool
	}{
		{"d1", true, true}, {"d1", false, true}, {"d2", false, false}, {"d2", false, false}, {"d2", true, true}, {"d2", false, true},
		{"d3", true, false}, // the rollout was Complete with the target before
		{"d3", true, true},
	} {
		if got := memory.Observe(web, "east", Observation{Target: s.target, IsProven: s.complete}, now); got.Proven != s.want {
			t.Errorf("step %d: the target %s is proven: %t, want %t", i, s.target, got.Proven, s.want)
		}
	}
	memory.Observe(web, "east", Observation{State: v1alpha1.StateUnknown}, now)
	if !memory.Observe(web, "east", Observation{Target: "d3"}, now).Proven {
		t.Error("a target that the manager reads again counts as another one")
	}
	memory.Forget(web)
	memory.Observe(web, "east", Observation{State: v1alpha1.StateUnknown, IsProven: true}, now)
	if !memory.Observe(web, "east", Observation{Target: "d3"}, now).Proven {
		t.Error("an edit before a restarted manager has read the member makes its target unproven")
	}
	memory.Forget(web)
	if memory.Observe(web, "east", Observation{Target: "d3"}, now).Proven {
		t.Error("after a restart the target is proven in an unfinished rollout, which may have changed it")
	}
}
