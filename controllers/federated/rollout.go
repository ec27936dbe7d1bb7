// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/rolloutstate"
	"github.com/fairlead-dev/fairlead/controllers/federated/wrapperevents"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/internal/oldrevisions"
)

// rollOut sets, for each member, the revision that the member should have now in the rollout. The step before it,
// render, has rendered the newest revision for all members. rollOut writes a new state of the rollout before any step
// acts on that state, so a restarted manager neither repeats nor skips a step.
func (p *reconciliation) rollOut(ctx context.Context) error {
	spec := p.wrapper.WrapperSpec()
	if p.invalid != "" {
		return nil
	}
	if !spec.Rollout.IsPaced() {
		p.rollouts.Forget(p.key)
		p.takeTurnsUnpaced()
		return nil
	}
	plan, err := rollout.Compile(rollout.StrategyOf(&spec.Rollout))
	if err != nil {
		p.invalid, p.desired, p.refusals = err.Error(), nil, nil
		return nil
	}
	now := p.now.Truncate(time.Second) // the status stores whole seconds
	state := rolloutstate.Of(p.wrapper.WrapperStatus().Rollout)
	in := rollout.Input{
		Revision:  p.revision,
		Removing:  len(p.decision.Status.Leaving),
		Approvals: p.rolloutApprovals(&state),
		Suspended: spec.Suspend == v1alpha1.SuspendRollout || spec.Suspend == v1alpha1.SuspendAll,
	}
	observer := p.observer(p.key, p.wrapper, p.members)
	old := earlierRevisions{store: p.old, wrapper: p.wrapper, present: p.revision}
	reader := rolloutReader{observer: observer, old: old, memory: &p.rollouts, revision: p.revision, desired: p.desired,
		reinstalls: p.reinstalls(), now: now}
	if in.Members, err = reader.members(ctx, p.decision.Status.Clusters, &state, plan.MayRollBack()); err != nil {
		return err
	}
	decision := plan.Decide(in, state, now)
	rolloutstate.TidyNewFailure(&state, &decision)
	next := rolloutstate.StatusOf(&decision)
	before, err := p.writer(p.wrapper).writeRollout(ctx, next)
	if err != nil {
		return err
	}
	if before != nil {
		wrapperevents.Record(p.events, p.wrapper, wrapperevents.Rollout(before, &next, messages.ApproveCommand(p.key.Kind, p.key.Namespace, p.key.Name))...)
	}
	p.rollout, p.rolloutAgain = next, decision.Again
	if empty := plan.EmptyWaves(in.Members); len(empty) > 0 {
		p.decision.Message += fmt.Sprintf("; wave %s of spec.rollout has no placed cluster", strings.Join(empty, ", "))
	}
	if err := p.setTargets(ctx, old, in.Members, decision.Targets); err != nil {
		return err
	}
	p.setTurns(in.Members, decision.Targets)
	return nil
}

// setTargets chooses the desired state of each member for the rollout. A member that waits gets its earlier revision
// instead of the newest one, and setTargets records why it waits.
func (p *reconciliation) setTargets(ctx context.Context, old earlierRevisions, members []rollout.Member, targets []rollout.Target) error {
	p.waits = make(map[string]report.Wait)
	approve := messages.ApproveCommand(p.key.Kind, p.key.Namespace, p.key.Name)
	for i := range members {
		m, target := &members[i], targets[i]
		if m.Newest != "" && target.Rendering == m.Newest && target.Reason != rollout.WaitsNoRendering {
			continue
		}
		reason := string(target.Reason)
		rendering, err := old.rendering(ctx, m.Member, target, p.pusher.DesiredState(p.key, m.Name))
		switch {
		case errors.Is(err, oldrevisions.ErrLost):
			reason = v1alpha1.ReasonRenderingLost
		case err != nil:
			return err
		}
		if rendering == nil {
			delete(p.desired, m.Name)
		} else {
			desired := p.desiredOn(m.Name, target.Revision)
			desired.Rendering = rendering
			p.desired[m.Name] = desired
		}
		p.waits[m.Name] = report.WaitOf(reason, &p.rollout, approve, target.Rendering == "")
	}
	return nil
}

// rolloutApprovals returns the Approvals (Wave, Skip and Retry) of the present rollout. For an Approval of another
// rollout, or of a wave that spec.rollout does not have, it records an event, once. It records none for an Approval that is older
// than the present wave: such an Approval may have counted for an earlier rollout.
func (p *reconciliation) rolloutApprovals(state *rollout.State) rollout.Approvals {
	strategy := rollout.StrategyOf(&p.wrapper.WrapperSpec().Rollout)
	waves := strategy.WaveNames()
	counted, outdated := rolloutstate.Approvals(p.approvals, state, waves)
	for _, a := range outdated {
		if state.ID == "" || !p.rollouts.IsNewlyOutdated(p.key, a.Name) || !a.CreationTimestamp.After(state.Since) {
			continue
		}
		wrapperevents.Record(p.events, p.wrapper, wrapperevents.Outdated(a, state, waves))
	}
	return counted
}
