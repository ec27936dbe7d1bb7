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

func TestATargetIsSettledWhenARolloutIsCompleteWithIt(t *testing.T) {
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
		if got := memory.Observe(web, "east", Observation{Target: s.target, Settled: s.complete}, now); got.Settled != s.want {
			t.Errorf("step %d: the target %s is settled: %t, want %t", i, s.target, got.Settled, s.want)
		}
	}
	memory.Forget(web)
	if memory.Observe(web, "east", Observation{Target: "d3"}, now).Settled {
		t.Error("after a restart the target is settled in an unfinished rollout, which may have changed it")
	}
}
