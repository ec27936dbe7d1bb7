// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/keymutex"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/push/prune"
)

// Member holds the values that all passes of one member share.
type Member struct {
	Conn *member.Conn
	// Names locks object names, so that two passes do not create an object of the same name at once. It is nil if
	// only one pass runs.
	Names keymutex.KeyMutex
	// Namespaces caches namespaces that were found open recently; nil caches none.
	Namespaces *NamespaceCache
	// Native caches which kinds the member's API server serves by itself; nil caches none.
	Native *NativeKinds
	// HostLabels reads the labels of a namespace of the host; nil where the manager cannot read them.
	HostLabels HostLabels
	// Seals are the keys that seal Deliveries on this member; the zero value seals none and trusts none.
	Seals deliveries.Seals
}

// Pass is one attempt to bring a pair to its desired state.
type Pass struct {
	member  Member
	desired *plan.Desired
	// drifted are the objects to apply again although the Delivery lists them as applied.
	drifted map[plan.ObjectID]v1alpha1.DriftKind
	// gone are the uids of the objects that the collector has reported as gone.
	gone map[plan.ObjectID]types.UID
	// todo is the work of the pass, and recalled the summary of the Delivery, nil when the pass has to read the Delivery.
	todo     *plan.Work
	recalled *deliveries.Summary

	delivery   *delivery
	namespaces *namespaces
	resolver   *resolver
	applier    *applier
	pruner     *prune.Pruner

	// rendering is the desired rendering, nil when the member is to be left. Set by render.
	rendering *render.Rendering
	// items are the desired objects in install order. Set by resolve.
	items []*item
	// leaving are the entries to remove, in reverse install order. Set by intend.
	leaving []*prune.Removal
	// trouble collects the problems with single objects; the others go on.
	trouble memberapi.Troubles
}

// New makes a pass. isDesired reports whether the desired state of the pass is still the present one; nil counts as
// always true.
func New(m Member, desired *plan.Desired, todo *plan.Work, isDesired func() bool) *Pass {
	p := &Pass{member: m, desired: desired, drifted: todo.Drifted, gone: todo.Gone, todo: todo, recalled: todo.Recalled}
	p.delivery = &delivery{conn: m.Conn, desired: desired, isNew: todo.IsNew, seals: m.Seals}
	p.namespaces = &namespaces{conn: m.Conn, policy: desired.Namespaces, hostLabels: m.HostLabels}
	p.resolver = &resolver{conn: m.Conn, desired: desired, trouble: &p.trouble}
	p.pruner = prune.New(m.Conn, desired, isDesired, p.namespaces.isOpen, &p.trouble)
	of := &objects{conn: m.Conn, wrapper: &desired.Wrapper}
	if m.Native == nil {
		m.Native = NewNativeKinds()
	}
	p.applier = &applier{
		conn: m.Conn, desired: desired, objects: of, namespaces: p.namespaces, pruner: p.pruner, names: m.Names, native: m.Native, note: p.note, trouble: &p.trouble,
		look: &looker{conn: m.Conn, desired: desired, objects: of, namespaces: p.namespaces, trouble: &p.trouble},
	}
	return p
}

// Kept are the objects that stay on the member after their removal from the wrapper, or after the wrapper left, each
// with the reason.
func (p *Pass) Kept() []plan.Kept { return p.pruner.Kept }

// Secrets are the desired Secrets, each with the resourceVersion in the answer to an apply; "" if there was none.
func (p *Pass) Secrets() []Secret {
	var all []Secret
	for _, it := range p.items {
		if deliveries.IsSecret(&it.entry) {
			all = append(all, Secret{Name: it.entry.Name, ResourceVersion: it.version})
		}
	}
	return all
}

// Secret is a Secret as a pass left it.
type Secret struct{ Name, ResourceVersion string }

// Run takes the pair through all steps. An error concerns the member as a whole. After it the result of the last
// request is unknown, and the next pass finds it out. Everything else is in the outcome.
func (p *Pass) Run(ctx context.Context) (plan.Outcome, error) {
	out, err := p.run(ctx)
	if lacks := memberapi.MissingField(err); lacks != "" {
		return p.conclude(outdated(p.member.Conn.Name(), lacks)), nil
	}
	return out, err
}

// outdated is the trouble with a member whose CRD of Deliveries lacks a field.
func outdated(name, field string) *memberapi.Trouble {
	t := memberapi.Stalled(v1alpha1.ReasonMemberOutdated, "the member's CRD of Deliveries is older than the host's and lacks %s, which the record of "+
		"this push needs: run `hostctl join %s --cluster-kubeconfig FILE`", field, name)
	return &t
}

func (p *Pass) run(ctx context.Context) (plan.Outcome, error) {
	held, err := p.prepare(ctx)
	if err != nil {
		return plan.Outcome{}, err
	}
	if held != nil {
		return p.conclude(held), nil
	}
	for _, step := range []func(context.Context) error{p.apply, p.remove} {
		if err := step(ctx); err != nil {
			// The Delivery also records the progress of a pass that failed. If that write fails too, the entries are
			// still Pending and the next pass looks.
			_ = p.record(ctx)
			return plan.Outcome{}, err
		}
	}
	if err := p.record(ctx); err != nil {
		return plan.Outcome{}, err
	}
	return p.conclude(nil), nil
}

// prepare makes all steps before apply. held is the reason why the pass must write nothing; nil when it may write.
func (p *Pass) prepare(ctx context.Context) (held *memberapi.Trouble, err error) {
	if prepared, err := p.prepareRecalled(ctx); prepared || err != nil {
		return nil, err
	}
	p.trouble = nil
	if err := p.delivery.read(ctx); err != nil {
		return nil, err
	}
	if held := p.hold(); held != nil {
		return held, nil
	}
	if unrendered := p.render(); unrendered != nil {
		return unrendered, nil
	}
	// Until intend has finished, the pass does not know everything the Delivery lists, and must not write it. An
	// object that it left out would be on the member without any record.
	for _, step := range []func(context.Context) error{p.resolve, p.openNamespace, p.intend} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (p *Pass) resolve(ctx context.Context) (err error) {
	p.items, err = p.resolver.resolve(ctx, p.rendering)
	return err
}

func (p *Pass) apply(ctx context.Context) error { return p.applier.apply(ctx, p.items) }

func (p *Pass) remove(ctx context.Context) error {
	return p.pruner.Remove(ctx, p.leaving, slices.ContainsFunc(p.items, (*item).isMissing))
}

// render makes the desired objects. The controller rendered them once already, without an error. But render may have to read an
// earlier revision from the host again, and that can fail for a time.
func (p *Pass) render() *memberapi.Trouble {
	if p.desired.Leaving() {
		return nil
	}
	var err error
	if p.rendering, err = p.desired.Rendering.Render(); err != nil {
		return &memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Message: err.Error(), Retry: plan.RetrySoon}
	}
	return nil
}

// conclude makes the outcome of the pass.
func (p *Pass) conclude(held *memberapi.Trouble) plan.Outcome {
	if len(p.trouble) > 0 {
		p.member.Namespaces.doubt(namespaceKey{p.desired.Namespaces, p.desired.Wrapper.Namespace})
	}
	out := plan.Outcome{Desired: p.desired, Kept: p.pruner.Kept, Recorded: held == nil && !p.saysKeep()}
	if p.delivery.there != nil {
		out.UID, out.Generation = p.delivery.there.UID, p.delivery.there.Generation
	}
	for id := range p.drifted {
		if held != nil || slices.ContainsFunc(p.items, func(it *item) bool { return it.id() == id && it.isMissing() }) {
			out.Unrepaired = append(out.Unrepaired, id)
		}
	}
	all := p.trouble
	if held != nil {
		all = []memberapi.Trouble{*held}
	}
	if len(all) == 0 {
		out.Done = true
		return out
	}
	worst := memberapi.Worst(all)
	out.Overtaken = worst.Overtaken
	out.State, out.Reason, out.Message, out.Retry = worst.State, worst.Reason, worst.Message, worst.Retry
	if p.pruner.Waits != "" {
		out.Message = p.pruner.Waits + "; " + out.Message
	}
	if p.pruner.Freed {
		out.Retry = plan.RetrySoon
	}
	for _, t := range all {
		if t.Retry > 0 && (out.Retry == 0 || t.Retry < out.Retry) {
			out.Retry = t.Retry
		}
	}
	return out
}

// hold returns the reason why the pass must write nothing at all; nil when it may write.
func (p *Pass) hold() *memberapi.Trouble {
	if p.desired.Suspended {
		return &memberapi.Trouble{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonSuspended,
			Message: "changes wait: spec.suspend of the wrapper is All, or spec.suspend of the MemberCluster is Pushes"}
	}
	if p.delivery.there == nil {
		return nil
	}
	if p.desired.MayOverwrite(p.delivery.there) {
		return nil
	}
	there, want := &p.delivery.there.Spec.Wrapper, &p.desired.Wrapper
	switch {
	case there.UID == want.UID && there.Generation > want.Generation:
		return overtaken(p.delivery.there, v1alpha1.ReasonHostBehindMember,
			"the member holds generation %d and the host only knows %d: `%s` shows the ways out; was the host restored from a backup?",
			there.Generation, want.Generation, recoverCommand(want))
	case there.UID != want.UID && !p.delivery.isSealed():
		return overtaken(p.delivery.there, v1alpha1.ReasonWrapperReplaced,
			"the member holds a Delivery of this name that this host has not sealed: `%s` shows the ways out; it says it is of uid %s",
			recoverCommand(want), there.UID)
	case there.UID != want.UID && (p.delivery.there.Spec.Target == nil || p.delivery.there.Spec.Target.Rendering != p.desired.Digest()):
		return overtaken(p.delivery.there, v1alpha1.ReasonWrapperReplaced,
			"the member holds other objects for an earlier wrapper of this name: `%s` shows the ways out; that one had uid %s",
			recoverCommand(want), there.UID)
	}
	return nil
}

// overtaken holds the pair until a person decides whether the host's or the member's version counts.
func overtaken(there *v1alpha1.Delivery, reason, format string, args ...any) *memberapi.Trouble {
	return &memberapi.Trouble{State: v1alpha1.StateHeld, Reason: reason, Message: fmt.Sprintf(format, args...),
		Overtaken: &v1alpha1.DeliveryVersion{UID: there.UID, Generation: there.Generation}}
}

// recoverCommand is the command with which a person decides about a held wrapper.
func recoverCommand(w *v1alpha1.WrapperIdentity) string {
	if w.Kind == v1alpha1.KindClusterFederated {
		return "hostctl recover cfed/" + w.Name
	}
	return "hostctl recover " + w.Name + " -n " + w.Namespace
}
