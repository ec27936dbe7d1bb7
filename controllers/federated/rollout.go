// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	plan, err := p.rolloutPlan()
	if err != nil {
		p.invalid, p.desired, p.refusals = err.Error(), nil, nil
		return nil
	}
	now := p.now.Truncate(time.Second) // the status stores whole seconds
	state := rolloutstate.Of(p.wrapper.WrapperStatus().Rollout)
	in := rollout.Input{
		Revision:     p.revision,
		Removing:     len(p.decision.Status.Leaving),
		Approvals:    p.rolloutApprovals(ctx, &state),
		Suspended:    spec.Suspend.HoldsWaves(),
		AllSuspended: spec.Suspend == v1alpha1.SuspendAll,
	}
	observer := p.observer(p.key, p.wrapper, p.members)
	old := earlierRevisions{store: p.old, wrapper: p.wrapper, present: p.revision}
	reader := rolloutReader{observer: observer, old: old, memory: &p.rollouts, revision: p.revision, desired: p.desired,
		reinstalls: p.reinstalls(), now: now}
	if in.Members, err = reader.members(ctx, p.decision.Status.Clusters, &state, plan.MayRollBack()); err != nil {
		return err
	}
	decision := plan.Decide(in, state, now)
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

// rolloutPlan compiles spec.rollout. Several steps of a reconcile need the plan, so it stays until the end of the reconcile.
func (p *reconciliation) rolloutPlan() (*rollout.Plan, error) {
	if p.plan != nil {
		return p.plan, nil
	}
	plan, err := rollout.Compile(rollout.StrategyOf(&p.wrapper.WrapperSpec().Rollout))
	p.plan = plan
	return plan, err
}

// rolloutApprovals returns the Approvals (Wave, Skip and Retry) of the present rollout. For an Approval of another
// rollout, or of a wave that the plan does not have, it records an event, once. It records none for an Approval that is older
// than the present wave: such an Approval may have counted for an earlier rollout. Without a valid plan no Approval counts.
func (p *reconciliation) rolloutApprovals(ctx context.Context, state *rollout.State) rollout.Approvals {
	if p.counted != nil {
		return *p.counted
	}
	plan, err := p.rolloutPlan()
	if err != nil {
		return rollout.Approvals{} // rollOut reports the error
	}
	waves := plan.WaveNames()
	counted, outdated := rolloutstate.Approvals(p.approvals, state, waves)
	isPresent := sync.OnceValue(func() bool { return p.arePresentWaves(ctx, waves) })
	for _, a := range outdated {
		if state.ID == "" || p.rollouts.IsKnownOutdated(p.key, a.Name) {
			continue
		}
		isNew := a.CreationTimestamp.After(state.Since)
		hasUnknownWave := a.Spec.Rollout == state.ID && a.Spec.Revision == state.Revision
		if isNew && hasUnknownWave && !isPresent() {
			continue // the reconcile of the present waves judges the Approval
		}
		p.rollouts.NoteOutdated(p.key, a.Name)
		if isNew {
			wrapperevents.Record(p.events, p.wrapper, wrapperevents.Outdated(a, state, waves))
		}
	}
	p.counted = &counted
	return counted
}

// arePresentWaves reports whether the waves are those of the wrapper at the API server. The watches of wrappers and of Approvals are
// not synchronized: the cache can have an Approval of a wave before it has the spec with that wave. Only an Approval of an unknown wave
// needs this request. If it fails, arePresentWaves returns false, and the next reconcile tries again.
func (p *reconciliation) arePresentWaves(ctx context.Context, waves []string) bool {
	present := p.newWrapper()
	if err := p.live.Get(ctx, p.key.NamespacedName, present.(client.Object)); err != nil { //nolint:forcetypeassert // both wrappers are client.Objects
		if !apierrors.IsNotFound(err) {
			ctrl.LoggerFrom(ctx).Info("reading the waves of the wrapper failed, so an Approval of an unknown wave is not judged yet", "error", err.Error())
		}
		return false
	}
	plan, err := rollout.Compile(rollout.StrategyOf(&present.WrapperSpec().Rollout))
	return err == nil && slices.Equal(plan.WaveNames(), waves)
}
