// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// An Approval of a wave was given for the members that the wave had then. So edited waves need new ones.
func TestEditedWavesBeginWithTheFirstThatIsNotDoneAndWithoutApprovals(t *testing.T) {
	t.Parallel()
	plan := compiled(t, Strategy{Waves: []Wave{{Name: "new", Clusters: named("c")}, {Name: "canary", Clusters: named("a")}}})
	state := underWay(State{Wave: "canary", Begun: true, Plan: "before"})
	d := plan.Decide(Input{Revision: "r2", Members: []Member{
		at("a", "r2", v1alpha1.StateHealthy, 60), at("b", "r1", v1alpha1.StateHealthy, 60), at("c", "r1", v1alpha1.StateHealthy, 60),
	}}, state, epoch)
	if d.State.Wave != "new" || d.State.ID == state.ID || d.Targets[2].Rendering != "r2" || d.Targets[1].Rendering != "r1" {
		t.Errorf("got %+v, %+v", d.State, d.Targets)
	}
	manual := compiled(t, Strategy{Waves: []Wave{{Name: "canary", Clusters: named("a")}, {Name: "last", Manual: true}}})
	state = underWay(State{Wave: "last", Plan: "before"})
	d = manual.Decide(Input{Revision: "r2", Approvals: Approvals{Waves: []string{"last"}}, Members: []Member{
		at("a", "r2", v1alpha1.StateHealthy, 60), at("b", "r1", v1alpha1.StateHealthy, 60),
	}}, state, epoch)
	if d.State.Wave != "last" || d.State.Begun || d.Targets[1].Reason != WaitsForApproval {
		t.Errorf("with the approval of the former waves: %+v, %+v", d.State, d.Targets)
	}
	failed := underWay(State{Phase: Paused, Wave: "canary", Begun: true, Plan: "before", Failure: &Failure{Revision: "r2", Member: "a", At: epoch.Add(-time.Minute)}})
	d = manual.Decide(Input{Revision: "r2", Approvals: Approvals{Waves: []string{"last"}, Retry: epoch}, Members: []Member{
		at("a", "r2", v1alpha1.StateHealthy, 60), at("b", "r1", v1alpha1.StateHealthy, 60),
	}}, failed, epoch)
	if d.State.ID == failed.ID || d.State.Wave != "last" || d.State.Begun || !d.State.Retried.Equal(epoch) {
		t.Errorf("after a retry with edited waves: %+v", d.State)
	}
}

func TestEachRolloutHasAnIdentityOfItsOwn(t *testing.T) {
	t.Parallel()
	first := newID("", epoch)
	if second := newID(first, epoch); second == first {
		t.Errorf("two rollouts within a second have the identity %q", first)
	}
	if later := newID(first, epoch.Add(-time.Hour)); later <= first {
		t.Errorf("a clock that was set back gave %q after %q", later, first)
	}
}
