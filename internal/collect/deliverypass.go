// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// pushTime is how long the collector delays the pass over a Delivery while the host pushes. The host is about to write
// that Delivery. If the collector wrote the status first, the host's write would fail with a conflict.
const pushTime = 2 * time.Second

// pass judges the objects of one Delivery once. For each entry of the inventory it adds at most one line to the status.
// Then it publishes the status.
type pass struct {
	delivery *v1alpha1.Delivery // as the index had it when the pass began
	memory   *memory

	before map[lineKey]*v1alpha1.ObjectStatus // the lines that the status has now
	lines  []v1alpha1.ObjectStatus            // the lines of the new status
	// evidenceBefore is the evidence that the status has now, and evidence that of the new status.
	evidenceBefore map[lineKey]*v1alpha1.Evidence
	evidence       []v1alpha1.ObjectEvidence
	// answers are the answers of the new status to the requests for evidence.
	answers []v1alpha1.EvidenceAnswer
	// progress reports whether an entry of the inventory is of a kind with progress.
	progress bool
	// complete reports whether the pass judged each object of a kind with progress in its present state.
	complete bool
	// version is the version that the first object with a version reports; "" when none does.
	version string
	// subscriptions are the versions of the Subscriptions with a target, filled entry by entry.
	subscriptions []v1alpha1.ObservedSubscription
	// again is the time until the next pass if no event comes; zero if no such pass is needed.
	again time.Duration
	// explaining is how long the pass has read explanations of unhealthy objects.
	explaining time.Duration
	// failed is the first error of a read.
	failed error
}

// lineKey identifies a line of a status.
type lineKey struct {
	schema.GroupKind
	name string
}

// observer makes the passes over Deliveries.
type observer struct {
	clock     clock.PassiveClock
	looks     *lookQueue
	cache     *objectcache.Cache
	served    *servedKinds
	drift     *driftFinder
	health    *healthReader
	answerer  *answerer
	publisher *publisher
	// now returns the present time by the member's clock.
	now func() time.Time
}

// look makes one pass over one Delivery.
func (o *observer) look(ctx context.Context, name string) error {
	p, wait := o.open(name)
	if wait > 0 {
		o.looks.AddAfter(name, wait)
	}
	if p == nil {
		return nil
	}
	for i := range p.delivery.Spec.Inventory {
		o.observe(ctx, p, &p.delivery.Spec.Inventory[i])
	}
	o.answerer.answer(ctx, p)
	if err := o.publisher.publish(ctx, p); err != nil {
		return err
	}
	if p.again > 0 {
		o.looks.AddAfter(name, p.again)
	}
	return p.failed
}

// open begins a pass. It returns nil and 0 if the Delivery is gone or has no target. If it is too early for a pass,
// open returns nil and the time until the next try.
func (o *observer) open(name string) (*pass, time.Duration) {
	known, ok := o.looks.index.Get(name)
	if !ok || known.Delivery.Spec.Target == nil {
		return nil, 0
	}
	if left := pushTime - o.clock.Since(known.Arrived); left > 0 && isPushing(known.Delivery) {
		return nil, left
	}
	if left := publishEvery - o.clock.Since(known.Memory.published); left > 0 {
		return nil, left // a pass could not write the status yet, so it must not read objects yet
	}
	p := &pass{delivery: known.Delivery, memory: known.Memory, complete: true, before: map[lineKey]*v1alpha1.ObjectStatus{}, evidenceBefore: map[lineKey]*v1alpha1.Evidence{}}
	for i := range p.delivery.Status.Objects {
		line := &p.delivery.Status.Objects[i]
		p.before[lineKey{schema.GroupKind{Group: line.Group, Kind: line.Kind}, line.Name}] = line
	}
	for i := range p.delivery.Status.Evidence {
		found := &p.delivery.Status.Evidence[i]
		p.evidenceBefore[lineKey{schema.GroupKind{Group: found.Group, Kind: found.Kind}, found.Name}] = &found.Evidence
	}
	return p, 0
}

// isPushing reports whether the host is about to write this Delivery.
func isPushing(d *v1alpha1.Delivery) bool {
	for i := range d.Spec.Inventory {
		if e := &d.Spec.Inventory[i]; e.State == v1alpha1.EntryPending && e.Resource != "" {
			return true
		}
	}
	return false
}

// observe judges the object of one entry, and adds a line if needed.
func (o *observer) observe(ctx context.Context, p *pass, e *v1alpha1.InventoryEntry) {
	ref := deliveryindex.RefOf(p.delivery, e)
	switch {
	case e.State == v1alpha1.EntryRemoving:
	case e.Resource == "":
		o.observeMissing(p, e)
	case e.State == v1alpha1.EntryPending:
		p.keepHealth(e)
		if health.HasProgress(deliveryindex.KindOf(e)) {
			p.progress, p.complete = true, false
		}
	case ref.GroupResource == deliveryindex.Secrets:
	default:
		o.observeApplied(ctx, p, e, ref)
	}
}

// observeMissing adds a line for an object whose kind the member did not serve at the push, if the member serves the
// kind now. The line makes the host push again.
func (o *observer) observeMissing(p *pass, e *v1alpha1.InventoryEntry) {
	if o.served.has(deliveryindex.KindOf(e)) {
		p.addLine(o.clock.Now(), e, health.Verdict{
			Health: v1alpha1.Waiting, Reason: v1alpha1.ReasonAPIServed, Message: "the member now serves " + e.Kind + "; the manager applies the object",
		}, nil)
	}
}

// observeApplied finds out whether an applied object has drifted and whether it is healthy.
func (o *observer) observeApplied(ctx context.Context, p *pass, e *v1alpha1.InventoryEntry, ref deliveryindex.Ref) {
	hasProgress := health.HasProgress(deliveryindex.KindOf(e))
	p.progress = p.progress || hasProgress

	seen := o.cache.See(ref)
	switch seen.State {
	case objectcache.Unread:
		p.keep(e)
		p.complete = p.complete && !hasProgress
		return
	case objectcache.Forbidden:
		p.addLine(o.clock.Now(), e, notGranted(ref.GroupResource), nil)
		return
	}
	if o.isBeingPushed(p, e, &seen, hasProgress) {
		return
	}
	drift, err := o.drift.find(ctx, p, e, ref, &seen)
	if err != nil {
		o.giveUp(p, e, ref, err)
		return
	}
	if drift != nil && isUnrecorded(e, &seen) {
		if !o.isBeingPushed(p, e, &seen, hasProgress) { // drift.find may have read a later apply
			p.complete = p.complete && !hasProgress
			p.addLine(o.clock.Now(), e, unfinished(e), drift)
		}
		return
	}
	verdict := health.Verdict{Health: v1alpha1.Healthy}
	if hasProgress && seen.Found && (drift == nil || drift.Kind == v1alpha1.DriftChanged) {
		judged, err := o.health.verdict(ctx, p, e, ref, seen)
		if err != nil {
			o.giveUp(p, e, ref, err)
			return
		}
		if judged == nil { // the object was deleted, and the watch has not reported that yet
			p.keep(e)
			return
		}
		if verdict = *judged; health.NeedsWarning(verdict) {
			p.addEvidence(e)
		}
	}
	if p.version == "" {
		p.version = verdict.Version
	}
	if verdict.Target != "" {
		p.subscriptions = append(p.subscriptions, v1alpha1.ObservedSubscription{Name: e.Name, TargetCSV: verdict.Target, InstalledCSV: verdict.Version, OfferedCSV: verdict.Offered})
	}
	p.addLine(o.clock.Now(), e, verdict, drift)
}

// giveUp keeps the present line of an object that the collector could not read. If the member refused the read, giveUp
// adds a line with reason NotGranted instead.
func (o *observer) giveUp(p *pass, e *v1alpha1.InventoryEntry, ref deliveryindex.Ref, err error) {
	var refused *refusal
	if errors.As(err, &refused) {
		p.addLine(o.clock.Now(), e, notGranted(refused.GroupResource), nil)
		return
	}
	if apierrors.IsForbidden(err) {
		p.addLine(o.clock.Now(), e, notGranted(ref.GroupResource), nil)
		return
	}
	p.keep(e)
	p.complete = false
	if p.failed == nil {
		p.failed = fmt.Errorf("observing %s: %w", ref.Path(), err)
	}
}

func notGranted(gr schema.GroupResource) health.Verdict {
	group := gr.Group
	if group == "" {
		group = `""`
	}
	// The rule and the label together have to fit into a line of the wrapper's status, so the message is short.
	return health.Verdict{
		Health: v1alpha1.Waiting,
		Reason: v1alpha1.ReasonNotGranted,
		Message: fmt.Sprintf(`the collector may not watch it; on the member, add a ClusterRole with {apiGroups: [%s], resources: [%s], verbs: [get, list, watch]} and label %s: "true"`,
			group, gr.Resource, v1alpha1.LabelAggregateToCollector),
	}
}

// addLine adds the line of an object, from its verdict and its drift. An object that is healthy and has not drifted
// gets no line, except to report a deprecation: then the verdict has a reason.
func (p *pass) addLine(now time.Time, e *v1alpha1.InventoryEntry, v health.Verdict, drift *v1alpha1.Drift) {
	if v.Health == v1alpha1.Healthy && v.Reason == "" && drift == nil {
		return
	}
	line := v1alpha1.ObjectStatus{
		Group: e.Group, Kind: e.Kind, Name: e.Name,
		Health: v.Health, Reason: v.Reason, Message: v.Message,
		SinceTime: metav1.NewTime(now).Rfc3339Copy(),
		Drift:     drift,
	}
	if v.Health == v1alpha1.Healthy && drift != nil {
		line.Reason, line.Message = v1alpha1.ReasonDrifted, driftMessage(e, drift)
	}
	if before := p.before[keyOf(e)]; before != nil && before.Health == line.Health {
		line.SinceTime = before.SinceTime
	}
	p.lines = append(p.lines, line)
}

// keep copies into the new status the line that the object has in the present status, and a Subscription's versions.
func (p *pass) keep(e *v1alpha1.InventoryEntry) {
	p.keepVersions(e)
	if before := p.before[keyOf(e)]; before != nil {
		p.lines = append(p.lines, *before)
		p.addEvidence(e)
	}
}

// keepVersions copies into the new status the versions that a Subscription has in the present status.
func (p *pass) keepVersions(e *v1alpha1.InventoryEntry) {
	if !health.HasVersion(deliveryindex.KindOf(e)) {
		return
	}
	for _, s := range p.delivery.Status.Subscriptions {
		if s.Name == e.Name {
			p.subscriptions = append(p.subscriptions, s)
		}
	}
}

// keepHealth copies into the new status the line that the object has in the present status. It leaves out the drift,
// because the host is about to apply the object again.
func (p *pass) keepHealth(e *v1alpha1.InventoryEntry) {
	p.keepVersions(e)
	before := p.before[keyOf(e)]
	if before == nil || before.Health == v1alpha1.Healthy || before.Reason == v1alpha1.ReasonAPIServed || before.Reason == v1alpha1.ReasonUnfinished {
		return
	}
	line := *before
	line.Drift = nil
	p.lines = append(p.lines, line)
	p.addEvidence(e)
}

// evidenceOf returns what is known about an object: the evidence that the collector gathered last, or else that of the present status; nil
// if there is none.
func (p *pass) evidenceOf(key lineKey) *v1alpha1.Evidence {
	if gathered, ok := p.memory.gathered[key]; ok {
		return &gathered
	}
	return p.evidenceBefore[key]
}

// addEvidence adds to the new status the evidence about an object that has a line and is not healthy.
func (p *pass) addEvidence(e *v1alpha1.InventoryEntry) {
	if found := p.evidenceOf(keyOf(e)); !evidence.IsEmpty(found) && p.hasRoom() {
		p.evidence = append(p.evidence, v1alpha1.ObjectEvidence{Group: e.Group, Kind: e.Kind, Name: e.Name, Evidence: *found})
	}
}

// rendersAnew reports whether the present status is about another rendering than the target's.
func (p *pass) rendersAnew() bool {
	return p.delivery.Status.ObservedRendering != p.delivery.Spec.Target.Rendering
}

// hasRoom reports whether the new status can have the evidence about another object.
func (p *pass) hasRoom() bool { return len(p.evidence) < evidence.MaxObjects }

// recheck makes the next pass due after this time, unless another call has made it due sooner.
func (p *pass) recheck(after time.Duration) {
	p.again = sooner(p.again, max(after, 0))
}

func keyOf(e *v1alpha1.InventoryEntry) lineKey { return lineKey{deliveryindex.KindOf(e), e.Name} }
