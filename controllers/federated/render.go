// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/push"
	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// renderers keeps the renderer of each wrapper's present generation, so that a reconcile after a change on a member
// needs no new renderer. A renderer refers to the spec of the copy in the cache, which never changes. It must not refer
// to the copy that a reconcile works on, because the client overwrites that copy with the API server's responses.
type renderers struct {
	mu    sync.Mutex
	byKey map[push.Key]*renderer
}

type renderer struct {
	uid        types.UID
	generation int64
	versions   string // the result of versionsOf for the versions that the manager has taken
	renderer   *render.Renderer
	err        error
}

// of returns the renderer for a wrapper's present generation and for the versions that the manager has taken for its
// Subscriptions. cached is the copy in the cache; it may be of another generation, or nil. The method validates the
// spec again, because a wrapper can bypass the webhook that validates it.
func (r *renderers) of(key push.Key, w, cached v1alpha1.Wrapper, taken *v1alpha1.UpgradeStatus) (*render.Renderer, error) {
	r.mu.Lock()
	known := r.byKey[key]
	r.mu.Unlock()
	versions := versionsOf(taken)
	if known != nil && known.uid == w.GetUID() && known.generation == w.GetGeneration() && known.versions == versions {
		return known.renderer, known.err
	}
	// The lock is not held here: rendering a large spec takes a while, and reconciles of other wrappers must not wait
	// for it.
	known = &renderer{uid: w.GetUID(), generation: w.GetGeneration(), versions: versions}
	known.err = overrides.Validate(w.WrapperSpec(), w.GetNamespace(), w.WrapperKind()).ToAggregate()
	if known.err == nil {
		known.renderer, known.err = render.New(upgrade.Resolve(specOf(w, cached), taken), w.GetNamespace())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey == nil {
		r.byKey = make(map[push.Key]*renderer)
	}
	r.byKey[key] = known
	return known.renderer, known.err
}

// versionsOf returns the versions as one text, which can be compared; "" for a wrapper without `approve: Latest`.
func versionsOf(taken *v1alpha1.UpgradeStatus) string {
	var text strings.Builder
	for i := range taken.Subscriptions {
		s := &taken.Subscriptions[i]
		text.WriteString(s.Name + "=" + s.CSV + "\n")
	}
	return text.String()
}

// specOf returns the wrapper's spec in a copy that never changes: the cache's copy if that has the same generation, and
// a new copy if it has not.
func specOf(w, cached v1alpha1.Wrapper) *v1alpha1.WrapperSpec {
	if cached != nil && cached.GetUID() == w.GetUID() && cached.GetGeneration() == w.GetGeneration() {
		return cached.WrapperSpec()
	}
	return w.WrapperSpec().DeepCopy()
}

// follow makes the renderer refer to a newer copy in the cache, so that the earlier copy can be freed.
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

// render renders the objects for each placed member and makes the member's desired state from them. If an override
// fails for a member, that member keeps its present objects, and the status gives the reason. The other members are
// served.
func (p *reconciliation) render(ctx context.Context) error {
	if p.invalid != "" {
		return nil
	}
	renderer, err := p.renderers.of(p.key, p.wrapper, p.cached, &p.upgrade)
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
		desired := p.desiredOn(name, p.revision)
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

// desiredOn returns the desired state of the wrapper on the member with this name, without the rendering.
func (p *reconciliation) desiredOn(name, revision string) *push.Desired {
	spec, mc := p.wrapper.WrapperSpec(), p.members[name]
	return &push.Desired{
		Wrapper:         v1alpha1.Identity(p.wrapper),
		Revision:        revision,
		Drift:           spec.Drift,
		OnConflict:      spec.OnConflict,
		OnDelete:        spec.OnDelete,
		Namespaces:      mc.Spec.NamespacePolicy,
		Overwrites:      p.overwrites[name],
		IsPaced:         spec.Rollout.IsPaced(),
		Reinstalls:      p.reinstalls(),
		SharesNamespace: spec.Upgrade.SharedNamespace == v1alpha1.SharedNamespaceAllow,
		Suspended:       arePushesSuspended(spec, mc),
	}
}

// arePushesSuspended reports whether the manager pushes nothing of a wrapper to a member.
func arePushesSuspended(spec *v1alpha1.WrapperSpec, mc *v1alpha1.MemberCluster) bool {
	return spec.Suspend == v1alpha1.SuspendAll || mc.Spec.Suspend == v1alpha1.SuspendPushes
}

// enqueue gives the pusher the desired state of each member, and removes the desired states of all other members. It
// does not wait for pushes.
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
		p.pusher.SetDesired(name, p.desiredOn(name, p.revision))
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
