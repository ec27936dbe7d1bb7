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

// Member has what all passes on one member share: the connection, the caches and the locks.
type Member struct {
	Conn *member.Conn
	// Names locks object names, so that two passes that run at the same time do not create the same object. It is nil if
	// passes never run at the same time.
	Names keymutex.KeyMutex
	// Namespaces remembers which namespaces a pass has recently found open to the host; nil remembers none.
	Namespaces *NamespaceCache
	// Native remembers which kinds the API server serves itself, without an aggregated API server. If it is nil, each pass
	// begins with an empty cache.
	Native *NativeKinds
	// HostLabels reads the labels of a namespace on the host. If it is nil, the pass creates namespaces without the Pod
	// Security labels of the host's namespace.
	HostLabels HostLabels
	// Seals signs and verifies the seals of Deliveries on this member. The zero value writes no seal and accepts none.
	Seals deliveries.Seals
}

// Pass is one attempt to bring one wrapper on one member to its desired state.
type Pass struct {
	member  Member
	desired *plan.Desired
	// drifted are the objects to apply again although the Delivery lists them as Applied: they were changed or deleted on
	// the member, or the manager cannot rule that out.
	drifted map[plan.ObjectID]v1alpha1.DriftKind
	// gone has, for each object that the collector has reported as deleted, the object's last uid, as the Delivery
	// recorded it.
	gone map[plan.ObjectID]types.UID
	// todo is what the pass has to do besides applying a new desired state.
	todo *plan.Work
	// recalled is the summary of the Delivery that the host has in memory; nil when the pass has to read the Delivery.
	recalled *deliveries.Summary

	delivery   *delivery
	namespaces *namespaces
	resolver   *resolver
	applier    *applier
	pruner     *prune.Pruner

	// rendering has the desired objects; nil when the wrapper is to leave the member. The method render sets it.
	rendering *render.Rendering
	// items are the desired objects in install order. The method resolve sets them.
	items []*item
	// leaving are the inventory entries whose objects the pass removes, in reverse install order. The method intend sets
	// them.
	leaving []*prune.Removal
	// trouble collects the problems with single objects; the pass goes on with the other objects.
	trouble memberapi.Troubles
}

// New makes a pass. isDesired reports whether the desired state that the pass was made for is still the present one;
// nil means that it always is.
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

// Kept returns the objects that the pass left on the member although they are no longer desired, each with the reason.
func (p *Pass) Kept() []plan.Kept { return p.pruner.Kept }

// Counts has what a pass did, for metrics.
type Counts struct {
	// Objects is the number of desired objects that the pass got to.
	Objects int
	// Rejected is the number of objects whose apply the API server refused, by the reason that the status gives for it.
	Rejected map[string]int
	// DeliveryWrites is the number of writes and deletions of the Delivery that the API server accepted.
	DeliveryWrites int
}

// Counts returns what the pass has done so far.
func (p *Pass) Counts() Counts {
	return Counts{Objects: len(p.items), Rejected: p.applier.rejected, DeliveryWrites: p.delivery.writes}
}

// Secrets returns the desired Secrets. Each has the resourceVersion that the apply of this pass returned; "" if the
// pass did not apply the Secret.
func (p *Pass) Secrets() []Secret {
	var all []Secret
	for _, it := range p.items {
		if deliveries.IsSecret(&it.entry) {
			all = append(all, Secret{Name: it.entry.Name, ResourceVersion: it.version})
		}
	}
	return all
}

// Secret is the name of a Secret, and its resourceVersion after a pass applied it.
type Secret struct{ Name, ResourceVersion string }

// Run makes all steps of the pass. An error concerns the member as a whole; the next pass then finds out how far this
// one came. The outcome has all other results and problems.
func (p *Pass) Run(ctx context.Context) (plan.Outcome, error) {
	out, err := p.run(ctx)
	if lacks := memberapi.MissingField(err); lacks != "" {
		return p.conclude(outdated(p.member.Conn.Name(), lacks)), nil
	}
	return out, err
}

// outdated is the trouble with a member whose CRD of Deliveries lacks a field that the Delivery of this push needs.
func outdated(name, field string) *memberapi.Trouble {
	t := memberapi.Stalled(v1alpha1.ReasonMemberOutdated, "the member's CRD of Deliveries is older than the host's and lacks field %s, which the Delivery for "+
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
			// The pass failed, but it may have applied some objects, so record them. If this write fails too, the Delivery still
			// has the intent, and the next pass reads the objects to find out what was applied.
			_ = p.record(ctx)
			return plan.Outcome{}, err
		}
	}
	if err := p.record(ctx); err != nil {
		return plan.Outcome{}, err
	}
	return p.conclude(nil), nil
}

// prepare makes all steps before apply. held is why the pass must end here without a further write to the member; nil
// when the pass may go on.
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
	// Until intend has finished, p.items and p.leaving lack some of the objects that the Delivery lists. A write of the
	// Delivery before that would drop the entries of these objects, and they would be on the member without any record.
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

// render makes the desired objects. It can fail although the controller has rendered the same objects before: it may
// have to read an earlier revision from the host again, and that read can fail.
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

// conclude makes the outcome of the pass. held is why the pass ended early; nil when it made all its steps.
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

// hold returns why the pass must write nothing to the member: the wrapper or the member is suspended, or a person has
// to decide whether the host may overwrite the member's Delivery. It returns nil when the pass may write.
func (p *Pass) hold() *memberapi.Trouble {
	if p.desired.Suspended {
		return &memberapi.Trouble{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonSuspended,
			Message: "the manager writes nothing to the member: spec.suspend of the wrapper is All, or spec.suspend of the MemberCluster is Pushes"}
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
			"the member has generation %d of this wrapper, but the host has only %d: `%s` shows the ways out; was the host restored from a backup?",
			there.Generation, want.Generation, recoverCommand(want))
	case there.UID != want.UID && !p.delivery.isSealed():
		return overtaken(p.delivery.there, v1alpha1.ReasonWrapperReplaced,
			"the member has a Delivery of this name that this host has not sealed: `%s` shows the ways out; that Delivery names wrapper uid %s",
			recoverCommand(want), there.UID)
	case there.UID != want.UID && (p.delivery.there.Spec.Target == nil || p.delivery.there.Spec.Target.Rendering != p.desired.Digest()):
		return overtaken(p.delivery.there, v1alpha1.ReasonWrapperReplaced,
			"the member has other objects of an earlier wrapper of this name: `%s` shows the ways out; that wrapper had uid %s",
			recoverCommand(want), there.UID)
	}
	return nil
}

// overtaken is the trouble with a Delivery that the host must not overwrite on its own. A person has to decide whether
// the host's or the member's version counts.
func overtaken(there *v1alpha1.Delivery, reason, format string, args ...any) *memberapi.Trouble {
	return &memberapi.Trouble{State: v1alpha1.StateHeld, Reason: reason, Message: fmt.Sprintf(format, args...),
		Overtaken: &v1alpha1.DeliveryVersion{UID: there.UID, Generation: there.Generation}}
}

// recoverCommand is the command that shows a person the ways out for a wrapper that is held on a member.
func recoverCommand(w *v1alpha1.WrapperIdentity) string {
	if w.Kind == v1alpha1.KindClusterFederated {
		return "hostctl recover cfed/" + w.Name
	}
	return "hostctl recover " + w.Name + " -n " + w.Namespace
}
