// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	"k8s.io/utils/keymutex"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/namespaces"
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
	Namespaces *namespaces.Cache
	// Native remembers which kinds the API server serves itself, without an aggregated API server. If it is nil, each pass
	// begins with an empty cache.
	Native *memberapi.NativeKinds
	// HostLabels reads the labels of a namespace on the host. If it is nil, the pass creates namespaces without the Pod
	// Security labels of the host's namespace.
	HostLabels namespaces.HostLabels
	// Seals signs and verifies the seals of Deliveries on this member. The zero value writes no seal and accepts none.
	Seals deliveries.Seals
}

// Pass is one attempt to bring one wrapper on one member to its desired state.
type Pass struct {
	member  Member
	desired *plan.Desired
	// todo is what the pass has to do besides applying a new desired state.
	todo       *plan.Work
	delivery   *delivery
	inventory  *inventory
	recorder   *recorder
	recalled   *recalled
	namespaces *namespaces.Namespaces
	resolver   *resolver
	applier    *applier
	pruner     *prune.Pruner

	// rendering has the desired objects; nil when the wrapper is to leave the member. The method render sets it.
	rendering *render.Rendering
	// trouble collects the problems with single objects; the pass goes on with the other objects.
	trouble memberapi.Troubles
}

// New makes a pass. isDesired reports whether the desired state that the pass was made for is still the present one;
// nil means that it always is.
func New(m Member, desired *plan.Desired, todo *plan.Work, isDesired func() bool) *Pass {
	if m.Native == nil {
		m.Native = memberapi.NewNativeKinds()
	}
	p := &Pass{member: m, desired: desired, todo: todo}
	p.delivery = &delivery{conn: m.Conn, desired: desired, isNew: todo.IsNew, seals: m.Seals}
	p.namespaces = namespaces.New(m.Conn, desired.Namespaces, m.HostLabels, m.Namespaces)
	p.resolver = &resolver{conn: m.Conn, desired: desired, trouble: &p.trouble}
	p.pruner = prune.New(m.Conn, desired, isDesired, p.namespaces.IsOpen, &p.trouble)
	p.inventory = &inventory{desired: desired, seals: m.Seals}
	p.recorder = &recorder{desired: desired, todo: todo, delivery: p.delivery, inventory: p.inventory, pruner: p.pruner}
	of := &objects{conn: m.Conn, wrapper: &desired.Wrapper}
	p.recalled = &recalled{summary: todo.Recalled, desired: desired, todo: todo, delivery: p.delivery, objects: of, inventory: p.inventory}
	p.applier = &applier{
		objects:    of,
		look:       &looker{conn: m.Conn, desired: desired, objects: of, namespaces: p.namespaces, trouble: &p.trouble},
		adoption:   &adoption{of},
		replicas:   &replicas{of},
		neighbours: &neighbours{conn: m.Conn, desired: desired, trouble: &p.trouble},
		refusals:   &refusals{conn: m.Conn, pruner: p.pruner, trouble: &p.trouble},
		namespaces: p.namespaces, names: m.Names, native: m.Native, note: p.recorder.note, trouble: &p.trouble,
	}
	return p
}

// Kept returns the objects that the pass left on the member although they are no longer desired, each with the reason.
func (p *Pass) Kept() []plan.Kept { return p.pruner.Kept }

// Counts has what a pass did, for metrics.
type Counts struct {
	// Objects is the number of desired objects that the step resolve has reached.
	Objects int
	// Rejected is the number of objects whose apply the API server refused, by the reason that the status gives for it.
	Rejected map[string]int
	// DeliveryWrites is the number of writes and deletions of the Delivery that the API server accepted.
	DeliveryWrites int
}

// Counts returns what the pass has done so far.
func (p *Pass) Counts() Counts {
	return Counts{Objects: len(p.inventory.items), Rejected: p.applier.refusals.rejected, DeliveryWrites: p.delivery.writes}
}

// Secrets returns the desired Secrets. Each has the resourceVersion that the apply of this pass returned; "" if the
// pass did not apply the Secret.
func (p *Pass) Secrets() []Secret {
	var all []Secret
	for _, it := range p.inventory.items {
		if deliveries.IsSecret(&it.entry) {
			all = append(all, Secret{Name: it.entry.Name, ResourceVersion: it.version})
		}
	}
	return all
}

// Secret is the name of a Secret, and its resourceVersion after a pass applied it.
type Secret struct{ Name, ResourceVersion string }

// Run makes all steps of the pass. An error concerns the member as a whole; the next pass then finds out how far this
// pass came. The outcome has all other results and problems.
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
			_ = p.recorder.record(ctx)
			return plan.Outcome{}, err
		}
	}
	if err := p.recorder.record(ctx); err != nil {
		return plan.Outcome{}, err
	}
	return p.conclude(nil), nil
}

// prepare makes all steps before the step apply. held is the reason why the pass must end here without a further write
// to the member; nil when the pass may go on.
func (p *Pass) prepare(ctx context.Context) (held *memberapi.Trouble, err error) {
	if prepared, err := p.prepareRecalled(ctx); prepared || err != nil {
		return nil, err
	}
	p.trouble = nil
	if err := p.delivery.read(ctx); err != nil {
		return nil, err
	}
	if held := p.delivery.hold(); held != nil {
		return held, nil
	}
	if unrendered := p.render(); unrendered != nil {
		return unrendered, nil
	}
	// Until the step intend has finished, p.inventory lacks some of the objects that the Delivery lists. A write of the
	// Delivery before that would drop the entries of these objects, and they would be on the member without any record.
	for _, step := range []func(context.Context) error{p.resolve, p.openNamespace, p.recorder.intend} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// prepareRecalled makes the steps before the step apply without reading the Delivery: it uses the summary of the
// Delivery that the host has in memory. If the pass needs an intent, prepareRecalled writes it by a patch. If it needs
// none, prepareRecalled applies the objects and records them.
//
// prepared is false if the pass has to read the Delivery and make these steps again.
func (p *Pass) prepareRecalled(ctx context.Context) (prepared bool, err error) {
	if !p.recalled.isUsable() || p.render() != nil {
		return false, nil
	}
	if err := p.resolve(ctx); err != nil {
		return false, err
	}
	intent := p.recalled.intentPatch()
	if intent == nil {
		return false, nil
	}
	if err := p.openNamespace(ctx); err != nil {
		return false, err
	}
	if p.inventory.anyRefused() {
		return false, nil
	}
	if p.recalled.whyIntent(p.rendering) == "" {
		return p.recalled.applyWithoutIntent(ctx)
	}
	return p.recalled.intend(ctx, intent)
}

func (p *Pass) resolve(ctx context.Context) (err error) {
	p.inventory.items, err = p.resolver.resolve(ctx, p.rendering)
	return err
}

// openNamespace creates the wrapper's namespace if it is missing, and checks that it is open to the host. If it is not,
// openNamespace refuses all items.
func (p *Pass) openNamespace(ctx context.Context) error {
	namespace := p.desired.Wrapper.Namespace
	if p.desired.Leaving() || namespace == "" || !p.inventory.anythingToApply(p.delivery.entries(), p.todo.Drifted) {
		return nil
	}
	refusal, err := p.namespaces.Open(ctx, namespace, len(p.todo.Drifted) > 0)
	if refusal != nil {
		p.inventory.refuseAll()
		p.trouble.Add(*refusal)
	}
	return err
}

func (p *Pass) apply(ctx context.Context) error { return p.applier.apply(ctx, p.inventory.items) }

func (p *Pass) remove(ctx context.Context) error {
	return p.pruner.Remove(ctx, p.inventory.leaving, p.inventory.anyMissing())
}

// render makes the desired objects. It can fail although the controller has rendered the same objects before: it may
// have to read an earlier revision from the host again, and that read can fail.
func (p *Pass) render() *memberapi.Trouble {
	if p.desired.Leaving() {
		return nil
	}
	var err error
	if p.rendering, err = p.desired.Rendering.Render(); err != nil {
		return &memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Message: plan.Quote(err.Error()), Retry: plan.RetrySoon}
	}
	return nil
}

// conclude makes the outcome of the pass. held is the reason why the pass ended early; nil when it made all its steps.
func (p *Pass) conclude(held *memberapi.Trouble) plan.Outcome {
	if len(p.trouble) > 0 {
		p.namespaces.Doubt(p.desired.Wrapper.Namespace)
	}
	out := plan.Outcome{Desired: p.desired, Kept: p.pruner.Kept, Recorded: held == nil && !saysKeep(p.rendering)}
	if p.delivery.there != nil {
		out.UID, out.Generation = p.delivery.there.UID, p.delivery.there.Generation
	}
	for id := range p.todo.Drifted {
		if held != nil || p.inventory.isMissing(id) {
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
