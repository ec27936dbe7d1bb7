// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/observed"
	"github.com/fairlead-dev/fairlead/controllers/federated/rolloutstate"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/internal/oldrevisions"
	"github.com/fairlead-dev/fairlead/internal/push"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// rolloutReader makes the input of package rollout about the members of one wrapper.
type rolloutReader struct {
	observer observed.Reader
	old      earlierRevisions
	memory   *rolloutstate.Memory
	// revision is the newest revision, and desired has its desired state for each member on which it can be rendered.
	revision string
	desired  map[string]*push.Desired
	// reinstalls is true if operators of the wrapper may be reinstalled.
	reinstalls bool
	now        time.Time
}

// members returns the placed members as the input of package rollout: for each member the target that the manager set
// last, and the state of the member with that target.
func (r *rolloutReader) members(ctx context.Context, placed []string, state *rollout.State, mayRollBack bool) ([]rollout.Member, error) {
	before := report.LinesByName(r.observer.Wrapper.WrapperStatus())
	members := make([]rollout.Member, 0, len(placed))
	for _, name := range placed {
		m := r.member(name, before[name], state)
		if mayRollBack || m.Target == "" || state.Phase == rollout.RollingBack || state.Phase == rollout.RolledBack {
			var err error
			if m.Good, err = r.old.good(ctx, &m, state.LastGood); err != nil {
				return nil, err
			}
		}
		members = append(members, m)
	}
	return members, nil
}

// member returns one member as the input of package rollout, except the field Good. was is the member's line in the
// status; nil if it has none.
func (r *rolloutReader) member(name string, was *v1alpha1.ClusterStatus, state *rollout.State) rollout.Member {
	m := rollout.Member{Member: selection.Member{Name: name, Labels: r.observer.Members[name].Labels}}
	newest := r.desired[name]
	if newest != nil {
		m.Newest = newest.Rendering.Digest()
	}
	m.Revision, m.Target = r.observer.Target(name)
	if was != nil && was.Revision != m.Revision {
		was = nil // the line describes another revision
	}
	line := r.observer.LineOfTarget(name, m.Target, observed.Assignment{Revision: r.revision, Desired: newest}, was, r.now)
	m.State, m.Reason, m.Message = line.State, line.Reason, line.Message
	step, recorded := r.observer.Reinstall(name)
	if r.reinstalls {
		m.Reinstall = reinstallOf(&line, step, recorded)
	}
	m.HeldUp = report.IsBeforeReinstall(&line, step) ||
		arePushesSuspended(r.observer.Wrapper.WrapperSpec(), r.observer.Members[name])
	past := r.memory.Observe(r.observer.Key, name, rolloutstate.Observation{Target: m.Target, State: line.State, IsProven: isProven(&m, state),
		Since: latest(line.LastTransitionTime.Time, state.Since), LineSince: line.LastTransitionTime.Time, Retried: state.Retried, IsHeldUp: m.HeldUp}, r.now)
	m.Since, m.ProgressFrom, m.Proven, m.BeforeRetry = past.Since, past.ProgressFrom, past.Proven, past.BeforeRetry
	return m
}

// isProven reports whether no rollout that is under way has set the target of a member: there is none, or the member has the last good
// revision, and the rollout brings another one.
func isProven(m *rollout.Member, state *rollout.State) bool {
	return state.ID == "" || state.Phase == rollout.Complete || m.Revision != "" && m.Revision == state.LastGood && state.Revision != state.LastGood
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// earlierRevisions renders earlier revisions of one wrapper.
type earlierRevisions struct {
	store   *oldrevisions.Store
	wrapper v1alpha1.Wrapper
	// present is the revision of the present spec.
	present string
}

// rendering returns the rendering of a member that keeps an earlier revision or goes back to one. was is the member's
// desired state until now; nil if it has none. rendering returns nil for a member that has no earlier revision. The error
// wraps oldrevisions.ErrLost if the manager cannot make the earlier rendering again.
func (e earlierRevisions) rendering(ctx context.Context, m selection.Member, target rollout.Target, was *push.Desired) (*oldrevisions.Rendering, error) {
	if target.Rendering == "" {
		return nil, nil //nolint:nilnil // a member without a target has no rendering
	}
	id := oldrevisions.IDOf(e.wrapper, target.Revision)
	if was != nil {
		if known, ok := was.Rendering.(*oldrevisions.Rendering); ok && known.Is(id, m, target.Rendering) {
			return known, nil
		}
	}
	return e.store.Rendering(ctx, id, m, target.Rendering)
}

// good returns the digest of the last good revision, rendered for a member. It returns "" if no revision is known to be
// good, or if the manager cannot render that revision.
func (e earlierRevisions) good(ctx context.Context, m *rollout.Member, lastGood string) (string, error) {
	switch lastGood {
	case "":
		return "", nil
	case e.present:
		return m.Newest, nil
	case m.Revision:
		return m.Target, nil // the member has that revision now
	}
	digest, err := e.store.Digest(ctx, oldrevisions.IDOf(e.wrapper, lastGood), m.Member)
	if errors.Is(err, oldrevisions.ErrLost) {
		return "", nil
	}
	return digest, err
}
