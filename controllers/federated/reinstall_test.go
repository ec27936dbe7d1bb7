// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
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
	const open, unsettled = upgrade.RecordOpen, upgrade.RecordUnsettled
	for name, tc := range map[string]struct {
		state    v1alpha1.ClusterState
		reason   string // of the line
		step     string // of the manager
		recorded upgrade.RecordState
		want     rollout.Reinstall
	}{
		"the collector reports that it is ahead": {v1alpha1.StateDegraded, v1alpha1.ReasonAheadOfTarget, "", 0, rollout.ReinstallReported},
		"the manager has looked at it":           {v1alpha1.StateDegraded, v1alpha1.ReasonReinstallWaits, v1alpha1.ReasonReinstallWaits, 0, rollout.ReinstallNeeded},
		"another trouble hides that":             {v1alpha1.StateStalled, v1alpha1.ReasonDriftContested, v1alpha1.ReasonReinstallWaits, 0, rollout.ReinstallNeeded},
		"a person has deleted the CSV":           {v1alpha1.StateDegraded, v1alpha1.ReasonCSVMissing, "", 0, rollout.NoReinstall},
		"a removal was cut off":                  {v1alpha1.StateDegraded, v1alpha1.ReasonCSVMissing, v1alpha1.ReasonReinstallWaits, 0, rollout.ReinstallNeeded},
		"the manager keeps the operator":         {v1alpha1.StateDegraded, v1alpha1.ReasonReinstallRefused, v1alpha1.ReasonReinstallRefused, 0, rollout.ReinstallKept},
		"it keeps a half-removed operator":       {v1alpha1.StateDegraded, v1alpha1.ReasonReinstallRefused, v1alpha1.ReasonReinstallRefused, open, rollout.ReinstallBegun},
		"an attempt fails after the reinstall":   {v1alpha1.StateDegraded, v1alpha1.ReasonReinstallRefused, v1alpha1.ReasonReinstallRefused, unsettled, rollout.ReinstallSettling},
		"it is announced":                        {v1alpha1.StateProgressing, v1alpha1.ReasonReinstallAnnounced, v1alpha1.ReasonReinstallAnnounced, unsettled, rollout.ReinstallAnnounced},
		"it has begun":                           {v1alpha1.StateProgressing, v1alpha1.ReasonReinstalling, v1alpha1.ReasonReinstalling, open, rollout.ReinstallBegun},
		"it has begun before a restart":          {v1alpha1.StateUnknown, v1alpha1.ReasonNotHeardFrom, "", open, rollout.ReinstallBegun},
		"it has begun, and the member is lost":   {v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, "", open, rollout.ReinstallBegun},
		"it is installed again":                  {v1alpha1.StateProgressing, v1alpha1.ReasonInstalling, "", unsettled, rollout.ReinstallSettling},
		"another operator of the wrapper waits":  {v1alpha1.StateDegraded, v1alpha1.ReasonReinstallWaits, v1alpha1.ReasonReinstallWaits, unsettled, rollout.ReinstallSettling},
		"it is Healthy again":                    {v1alpha1.StateHealthy, "", "", unsettled, rollout.NoReinstall},
		"nothing is to be done":                  {v1alpha1.StateProgressing, v1alpha1.ReasonInstalling, "", 0, rollout.NoReinstall},
	} {
		t.Run(name, func(t *testing.T) {
			if is := reinstallOf(&v1alpha1.ClusterStatus{State: tc.state, Reason: tc.reason}, tc.step, tc.recorded); is != tc.want {
				t.Errorf("%d, want %d", is, tc.want)
			}
		})
	}
}
