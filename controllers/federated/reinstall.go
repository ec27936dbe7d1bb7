// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/observed"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// reinstallOf returns how far the reinstall of an operator is on a member whose line has this reason. A CSV that is missing may be
// a reinstall that was cut off, or may have been deleted by a person. In the first case the manager finishes without a turn.
func reinstallOf(reason string) rollout.Reinstall {
	switch reason {
	case v1alpha1.ReasonAheadOfTarget, v1alpha1.ReasonCSVMissing, v1alpha1.ReasonReinstallWaits:
		return rollout.ReinstallNeeded
	case v1alpha1.ReasonReinstallRefused:
		return rollout.ReinstallKept
	case v1alpha1.ReasonReinstallAnnounced:
		return rollout.ReinstallAnnounced
	case v1alpha1.ReasonReinstalling:
		return rollout.ReinstallBegun
	}
	return rollout.NoReinstall
}

// reinstalls reports whether operators of the wrapper may be reinstalled.
func (p *reconciliation) reinstalls() bool {
	return p.reinstallsOperators && p.wrapper.WrapperSpec().Upgrade.Reinstalls()
}

// takeTurnsUnpaced decides on which member of a wrapper without waves an operator may be reinstalled: on one after the other.
func (p *reconciliation) takeTurnsUnpaced() {
	if !p.reinstalls() {
		return
	}
	spec := p.wrapper.WrapperSpec()
	observer := p.observer(p.key, p.wrapper, p.members)
	members := make([]rollout.Member, 0, len(p.decision.Status.Clusters))
	for _, name := range p.decision.Status.Clusters {
		desired := p.desired[name]
		if desired == nil {
			continue
		}
		line := observer.LineOfTarget(name, desired.Digest(), observed.Assignment{Revision: p.revision, Desired: desired}, nil, p.now)
		members = append(members, rollout.Member{Member: selection.Member{Name: name}, State: line.State, Reinstall: reinstallOf(line.Reason)})
	}
	p.setTurns(members, rollout.TurnsOfUnpaced(members, spec.Suspend == v1alpha1.SuspendRollout || spec.Suspend == v1alpha1.SuspendAll))
}

// setTurns tells the desired state of each member whether a reinstall may begin there.
func (p *reconciliation) setTurns(members []rollout.Member, targets []rollout.Target) {
	for i := range members {
		m, target := &members[i], &targets[i]
		desired := p.desired[m.Name]
		if desired == nil || m.Reinstall == rollout.NoReinstall {
			continue
		}
		own := *desired // members share a Desired
		own.MayReinstall, own.ReinstallWaits = target.MayReinstall, turnWords(target.ReinstallWaits)
		p.desired[m.Name] = &own
	}
}

// turnWords explains to a person why no reinstall may begin on a member.
func turnWords(reason rollout.Reason) string {
	switch reason {
	case "":
		return ""
	case rollout.WaitsForSuspend:
		return "spec.suspend holds it (" + string(reason) + ")"
	case rollout.WaitsAfterFailure:
		return "the rollout has failed (" + string(reason) + "); `hostctl rollout retry` goes on"
	case rollout.WaitsForApproval:
		return "the wave needs an approval (" + string(reason) + ")"
	}
	return "other members come first (" + string(reason) + ")"
}
