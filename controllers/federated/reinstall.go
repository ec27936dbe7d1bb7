// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/observed"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// reinstallOf returns how far the reinstall of an operator is on a member with this line. step is the reason of the manager's present
// step there, and recorded what the Delivery says.
//
// Only the manager's own step counts as ReinstallNeeded. A CSV that is missing, for example, may be a reinstall that was cut off, and
// then the manager says so; or a person may have deleted it, and the member must not hold the turn.
func reinstallOf(line *v1alpha1.ClusterStatus, step string, recorded upgrade.RecordState) rollout.Reinstall {
	switch {
	case step == v1alpha1.ReasonReinstallAnnounced:
		return rollout.ReinstallAnnounced
	case step == v1alpha1.ReasonReinstalling:
		return rollout.ReinstallBegun
	case recorded == upgrade.RecordOpen: // also if the last attempt was refused: something is removed
		return rollout.ReinstallBegun
	case recorded == upgrade.RecordUnsettled && line.State != v1alpha1.StateHealthy:
		return rollout.ReinstallSettling
	case step == v1alpha1.ReasonReinstallRefused:
		return rollout.ReinstallKept
	case step == v1alpha1.ReasonReinstallWaits:
		return rollout.ReinstallNeeded
	case line.Reason == v1alpha1.ReasonAheadOfTarget:
		return rollout.ReinstallReported
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
	observer, before := p.observer(p.key, p.wrapper, p.members), report.LinesByName(p.wrapper.WrapperStatus())
	members := make([]rollout.Member, 0, len(p.decision.Status.Clusters))
	for _, name := range p.decision.Status.Clusters {
		desired := p.desired[name]
		if desired == nil {
			continue
		}
		line := observer.LineOfTarget(name, desired.Digest(), observed.Assignment{Revision: p.revision, Desired: desired}, before[name], p.now)
		step, recorded := observer.Reinstall(name)
		members = append(members, rollout.Member{Member: selection.Member{Name: name}, State: line.State, Reinstall: reinstallOf(&line, step, recorded)})
	}
	p.setTurns(members, rollout.TurnsOfUnpaced(members, spec.Suspend.HoldsWaves()))
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
	case rollout.WaitsForHealth:
		return "an operator that was reinstalled on another member is not Healthy (" + string(reason) + "); mend it there, or skip that member"
	case rollout.WaitsForApproval:
		return "the wave needs an approval (" + string(reason) + ")"
	}
	return "other members come first (" + string(reason) + ")"
}
