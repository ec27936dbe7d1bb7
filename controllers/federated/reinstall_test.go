// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/internal/push"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// Members with the same rendering share one desired state, but not their turn.
func TestATurnIsThatOfOneMember(t *testing.T) {
	shared := &push.Desired{Reinstalls: true}
	p := &reconciliation{desired: map[string]*push.Desired{"east": shared, "west": shared, "north": shared}}
	p.setTurns([]rollout.Member{
		{Member: selection.Member{Name: "east"}, Reinstall: rollout.ReinstallNeeded}, {Member: selection.Member{Name: "west"}, Reinstall: rollout.ReinstallNeeded},
		{Member: selection.Member{Name: "north"}}, {Member: selection.Member{Name: "gone"}, Reinstall: rollout.ReinstallNeeded},
	}, []rollout.Target{{MayReinstall: true}, {ReinstallWaits: rollout.WaitsAfterFailure}, {}, {MayReinstall: true}})
	if d := p.desired["east"]; !d.MayReinstall || d.ReinstallWaits != "" {
		t.Errorf("east: %+v", d)
	}
	if d := p.desired["west"]; d.MayReinstall || d.ReinstallWaits != "the rollout has failed (RolloutStopped); `hostctl rollout retry` goes on" {
		t.Errorf("west: %+v", d)
	}
	if shared.MayReinstall || p.desired["north"] != shared || p.desired["gone"] != nil {
		t.Error("a turn changes the desired state of another member")
	}
}

func TestHowFarAReinstallIs(t *testing.T) {
	for reason, want := range map[string]rollout.Reinstall{
		v1alpha1.ReasonAheadOfTarget: rollout.ReinstallNeeded, v1alpha1.ReasonCSVMissing: rollout.ReinstallNeeded, v1alpha1.ReasonReinstallWaits: rollout.ReinstallNeeded,
		v1alpha1.ReasonReinstallRefused: rollout.ReinstallKept, v1alpha1.ReasonReinstallAnnounced: rollout.ReinstallAnnounced,
		v1alpha1.ReasonReinstalling: rollout.ReinstallBegun, "": rollout.NoReinstall, v1alpha1.ReasonInstalling: rollout.NoReinstall,
	} {
		if is := reinstallOf(reason); is != want {
			t.Errorf("%q: %d, want %d", reason, is, want)
		}
	}
}
