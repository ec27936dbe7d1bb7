// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/internal/push"
	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// renderers keeps the renderer of each wrapper's present generation, so that a change on a member costs no rendering. A
// renderer reads the spec in the cache's own copy, which never changes. It must not read a reconcile's copy: the client
// decodes the API server's answers into that.
type renderers struct {
	mu    sync.Mutex
	byKey map[push.Key]*renderer
}

type renderer struct {
	uid        types.UID
	generation int64
	renderer   *render.Renderer
	err        error
}

// of is the renderer of a wrapper's present generation. cached is the wrapper in the cache, which may be of another generation,
// or nil. Admission has checked the spec; of checks it again, because a webhook can be bypassed.
func (r *renderers) of(key push.Key, w, cached v1alpha1.Wrapper) (*render.Renderer, error) {
	r.mu.Lock()
	known := r.byKey[key]
	r.mu.Unlock()
	if known != nil && known.uid == w.GetUID() && known.generation == w.GetGeneration() {
		return known.renderer, known.err
	}
	// Without the lock: reading a large spec takes a while, and the other wrappers do not wait for it.
	known = &renderer{uid: w.GetUID(), generation: w.GetGeneration()}
	known.err = overrides.Validate(w.WrapperSpec(), w.GetNamespace(), w.WrapperKind()).ToAggregate()
	if known.err == nil {
		known.renderer, known.err = render.New(specOf(w, cached), w.GetNamespace())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey == nil {
		r.byKey = make(map[push.Key]*renderer)
	}
	r.byKey[key] = known
	return known.renderer, known.err
}

// specOf is a copy of the wrapper's spec that never changes.
func specOf(w, cached v1alpha1.Wrapper) *v1alpha1.WrapperSpec {
	if cached != nil && cached.GetUID() == w.GetUID() && cached.GetGeneration() == w.GetGeneration() {
		return cached.WrapperSpec()
	}
	return w.WrapperSpec().DeepCopy()
}

// follow has the renderer read a newer copy in the cache, so that the earlier copy can be freed.
func (r *renderers) follow(cached v1alpha1.Wrapper) {
	r.mu.Lock()
	known := r.byKey[keyOf(cached)]
	r.mu.Unlock()
	if known != nil && known.renderer != nil && known.uid == cached.GetUID() && known.generation == cached.GetGeneration() {
		known.renderer.Follow(cached.WrapperSpec())
	}
}

func (r *renderers) forget(key push.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byKey, key)
}

// render makes the desired state of each placed member. A member whose override fails keeps what it has, and the status
// gives the reason. The other members go on.
func (p *reconciliation) render(ctx context.Context) error {
	if p.invalid != "" {
		return nil
	}
	renderer, err := p.renderers.of(p.key, p.wrapper, p.cached)
	if err != nil {
		p.invalid = err.Error()
		return nil
	}
	p.desired = make(map[string]*push.Desired, len(p.decision.Status.Clusters))
	p.refusals = make(map[string]report.Refusal)
	round, shared := renderer.NewRound(), make(map[push.Desired]*push.Desired, 1)
	for _, name := range p.decision.Status.Clusters {
		if err := ctx.Err(); err != nil {
			return err
		}
		mc := p.members[name]
		rendering, err := round.Variant(selection.Member{Name: name, Labels: mc.Labels})
		if err != nil {
			p.refusals[name] = refusal(err)
			continue
		}
		desired := p.desiredOn(mc)
		desired.Rendering = rendering
		if shared[*desired] == nil {
			shared[*desired] = desired
		}
		p.desired[name] = shared[*desired]
	}
	round.Done()
	return nil
}

// refusal returns the reason why a member gets no new desired state.
func refusal(err error) report.Refusal {
	if errors.Is(err, overrides.ErrTooCostly) {
		return report.Refusal{Reason: v1alpha1.ReasonOverrideTooCostly, Message: err.Error()}
	}
	return report.Refusal{Reason: v1alpha1.ReasonOverrideInvalid, Message: err.Error()}
}

// desiredOn is the desired state of one member without its rendering.
func (p *reconciliation) desiredOn(mc *v1alpha1.MemberCluster) *push.Desired {
	spec := p.wrapper.WrapperSpec()
	return &push.Desired{
		Wrapper:         v1alpha1.Identity(p.wrapper),
		Revision:        p.revision,
		Drift:           spec.Drift,
		OnConflict:      spec.OnConflict,
		OnDelete:        spec.OnDelete,
		Namespaces:      mc.Spec.NamespacePolicy,
		Overwrites:      p.overwrites[mc.Name],
		IsPaced:         spec.Rollout.IsPaced(),
		SharesNamespace: spec.Upgrade.SharedNamespace == v1alpha1.SharedNamespaceAllow,
		Suspended:       spec.Suspend == v1alpha1.SuspendAll || mc.Spec.Suspend == v1alpha1.SuspendPushes,
	}
}

// enqueue gives the pusher the desired state of each member. It does not wait for pushes.
func (p *reconciliation) enqueue(context.Context) error {
	if p.invalid != "" {
		return nil
	}
	keep := make(map[string]bool, len(p.desired))
	for name, desired := range p.desired {
		keep[name] = true
		p.pusher.SetDesired(name, desired)
	}
	for _, name := range p.decision.Status.Leaving {
		keep[name] = true
		p.pusher.SetDesired(name, p.desiredOn(p.members[name]))
	}
	for _, name := range p.pusher.DesiredMembers(p.key) {
		if !keep[name] {
			p.pusher.RemoveDesired(p.key, name)
		}
	}
	unrendered := slices.Collect(maps.Keys(p.refusals))
	for name := range p.waits {
		if p.desired[name] == nil {
			unrendered = append(unrendered, name)
		}
	}
	p.orphans.MarkDecided(p.key, p.wrapper.GetUID(), unrendered...)
	return nil
}
