// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/internal/oldrevisions"
	"github.com/fairlead-dev/fairlead/internal/push"
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
		p.rollouts.forget(p.key)
		return nil
	}
	plan, err := rollout.Compile(rollout.StrategyOf(&spec.Rollout))
	if err != nil {
		p.invalid, p.desired, p.refusals = err.Error(), nil, nil
		return nil
	}
	now := p.now.Truncate(time.Second) // the status stores whole seconds
	state := stateOf(p.wrapper.WrapperStatus().Rollout)
	in := rollout.Input{
		Revision:  p.revision,
		Removing:  len(p.decision.Status.Leaving),
		Approvals: p.rolloutApprovals(&state),
		Suspended: spec.Suspend == v1alpha1.SuspendRollout || spec.Suspend == v1alpha1.SuspendAll,
	}
	if in.Members, err = p.rolloutMembers(ctx, &state, plan.MayRollBack(), now); err != nil {
		return err
	}
	decision := plan.Decide(in, state, now)
	next := rolloutStatusOf(&decision)
	if err := p.writeRollout(ctx, next); err != nil {
		return err
	}
	p.rollout, p.rolloutAgain = next, decision.Again
	if empty := plan.EmptyWaves(in.Members); len(empty) > 0 {
		p.decision.Message += fmt.Sprintf("; wave %s of spec.rollout has no placed cluster", strings.Join(empty, ", "))
	}
	return p.setTargets(ctx, in.Members, &decision)
}

// setTargets chooses the desired state of each member for the rollout. A member that waits gets its earlier revision
// instead of the newest one, and setTargets records why it waits.
func (p *reconciliation) setTargets(ctx context.Context, members []rollout.Member, decision *rollout.Decision) error {
	p.waits = make(map[string]report.Wait)
	approve := messages.ApproveCommand(p.key.Kind, p.key.Namespace, p.key.Name)
	for i := range members {
		m, target := &members[i], decision.Targets[i]
		if m.Newest != "" && target.Rendering == m.Newest && target.Reason != rollout.WaitsNoRendering {
			continue
		}
		reason := string(target.Reason)
		desired, err := p.earlier(ctx, m, target)
		switch {
		case errors.Is(err, oldrevisions.ErrLost):
			reason = v1alpha1.ReasonRenderingLost
		case err != nil:
			return err
		}
		if desired == nil {
			delete(p.desired, m.Name)
		} else {
			p.desired[m.Name] = desired
		}
		p.waits[m.Name] = report.WaitOf(reason, &p.rollout, approve, target.Rendering == "")
	}
	return nil
}

// earlier returns the desired state of a member that keeps an earlier revision or goes back to one. It returns nil for
// a member that has no earlier revision. The error wraps oldrevisions.ErrLost if the manager cannot make the earlier
// rendering again.
func (p *reconciliation) earlier(ctx context.Context, m *rollout.Member, target rollout.Target) (*push.Desired, error) {
	if target.Rendering == "" {
		return nil, nil //nolint:nilnil // a member without a target has no desired state
	}
	desired := p.desiredOn(p.members[m.Name])
	desired.Revision = target.Revision
	id := oldrevisions.IDOf(p.wrapper, target.Revision)
	if was := p.pusher.DesiredState(p.key, m.Name); was != nil {
		if known, ok := was.Rendering.(*oldrevisions.Rendering); ok && known.Is(id, m.Member, target.Rendering) {
			desired.Rendering = known
			return desired, nil
		}
	}
	rendering, err := p.old.Rendering(ctx, id, m.Member, target.Rendering)
	if err != nil {
		return nil, err
	}
	desired.Rendering = rendering
	return desired, nil
}

// writeRollout writes the state of a rollout if the state has changed, and records events of the change. It ignores the
// fields that stateOnly leaves out, such as SoakUntil: publish writes those with the rest of the status.
func (p *reconciliation) writeRollout(ctx context.Context, next v1alpha1.RolloutStatus) error {
	status := p.wrapper.WrapperStatus()
	before := status.Rollout
	if equality.Semantic.DeepEqual(stateOnly(before), stateOnly(next)) {
		return nil
	}
	base := p.object().DeepCopyObject().(client.Object) //nolint:forcetypeassert // the copy of a client.Object is a client.Object
	status.Rollout = next
	if err := p.client.Status().Patch(ctx, p.object(), client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing status.rollout of %s: %w", p.key, err)
	}
	p.writes.noteWritten(p.wrapper)
	p.recordRollout(&before, &next)
	return nil
}

// rolloutApprovals returns the Approvals (Wave, Skip and Retry) of the present rollout. For an Approval of another
// rollout it calls recordOutdated, which may record an event.
func (p *reconciliation) rolloutApprovals(state *rollout.State) rollout.Approvals {
	var counted rollout.Approvals
	for i := range p.approvals {
		a := &p.approvals[i]
		switch a.Spec.Allow {
		case v1alpha1.AllowWave, v1alpha1.AllowSkip, v1alpha1.AllowRetry:
		default:
			continue
		}
		switch {
		case a.DeletionTimestamp != nil:
			continue
		case a.Spec.Rollout != state.ID || a.Spec.Revision != state.Revision:
			p.recordOutdated(a, state)
			continue
		}
		switch a.Spec.Allow {
		case v1alpha1.AllowWave:
			counted.Waves = append(counted.Waves, a.Spec.Wave)
		case v1alpha1.AllowSkip:
			counted.Skip = append(counted.Skip, a.Spec.Clusters...)
		case v1alpha1.AllowRetry:
			if a.CreationTimestamp.After(counted.Retry) {
				counted.Retry = a.CreationTimestamp.Time
			}
		}
	}
	return counted
}
