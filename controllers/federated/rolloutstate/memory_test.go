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
	}
	for name, steps := range map[string][]step{
		"the deadline begins when the target changes": {
			{0, "d1", v1alpha1.StateHealthy, 0, 0}, {5, "d2", v1alpha1.StatePushing, 5, 5}, {6, "d2", v1alpha1.StateProgressing, 6, 5},
		},
		"the deadline begins when the member is no longer Healthy": {
			{0, "d1", v1alpha1.StateHealthy, 0, 0}, {8, "d1", v1alpha1.StateHealthy, 0, 8}, {19, "d1", v1alpha1.StateDegraded, 19, 19},
		},
		"a soak begins again with a new target, even if every reconcile saw the member Healthy": {
			{0, "d1", v1alpha1.StateHealthy, 0, 0}, {5, "d2", v1alpha1.StateHealthy, 5, 5},
		},
		"the deadline stands still while the member waits": {
			{0, "d1", v1alpha1.StatePushing, 0, 0}, {2, "d1", v1alpha1.StateWaiting, 2, 0}, {7, "d1", v1alpha1.StateProgressing, 7, 5},
		},
		"the deadline stands still while the member is unreachable": {
			{0, "d1", v1alpha1.StatePushing, 0, 0}, {2, "d1", v1alpha1.StateUnreachable, 2, 0}, {7, "d1", v1alpha1.StatePushing, 7, 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var memory Memory
			minute := func(n int) time.Time { return now.Add(time.Duration(n) * time.Minute) }
			for _, s := range steps {
				got := memory.Observe(web, "east", Observation{Target: s.target, Rollout: "a", State: s.state, Since: minute(s.minute)}, minute(s.minute))
				if diff := cmp.Diff([]time.Time{minute(s.since), minute(s.progressFrom)}, []time.Time{got.Since, got.ProgressFrom}); diff != "" {
					t.Errorf("at minute %d (-want +got):\n%s", s.minute, diff)
				}
			}
		})
	}
}

func TestInWhichRolloutATargetLastChanged(t *testing.T) {
	var memory Memory
	for _, s := range []struct{ target, rollout, want string }{{"d1", "a", "a"}, {"d1", "b", "a"}, {"d2", "b", "b"}, {"d2", "c", "b"}} {
		if got := memory.Observe(web, "east", Observation{Target: s.target, Rollout: s.rollout}, now); got.Rollout != s.want {
			t.Errorf("the target %s in rollout %s counts as changed in rollout %s, want %s", s.target, s.rollout, got.Rollout, s.want)
		}
	}
	memory.Forget(web)
	if got := memory.Observe(web, "east", Observation{Target: "d2", Rollout: "c"}, now); got.Rollout != "c" {
		t.Errorf("after a restart the target counts as changed in rollout %s, but may have changed in the present one", got.Rollout)
	}
}
