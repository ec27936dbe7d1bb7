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
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// pushTime is how long the collector leaves a Delivery alone while the host pushes. The host is about to write that
// Delivery, and a status that is written meanwhile would make the host's write conflict.
const pushTime = 2 * time.Second

// pass judges one Delivery once. For each entry of the inventory it adds at most one line to the status, and then it
// publishes the status.
type pass struct {
	delivery *v1alpha1.Delivery // as the index had it when the pass began
	memory   *memory

	before map[lineKey]*v1alpha1.ObjectStatus // what the status says now
	lines  []v1alpha1.ObjectStatus            // filled entry by entry
	// progress reports whether the kind of some entry has progress. complete reports whether each such entry was
	// judged in its present state.
	progress, complete bool
	version            string
	// again is how long to wait until the next pass if no event comes; zero means that none is needed.
	again time.Duration
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
	publisher *publisher
	// now returns the time of the member's clock.
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
	if err := o.publisher.publish(ctx, p); err != nil {
		return err
	}
	if p.again > 0 {
		o.looks.AddAfter(name, p.again)
	}
	return p.failed
}

// open begins a pass. If there is nothing to judge, or if it is too early, the pass is nil. Then the wait, if not 0, is
// the time until the next try.
func (o *observer) open(name string) (*pass, time.Duration) {
	known, ok := o.looks.index.Get(name)
	if !ok || known.Delivery.Spec.Target == nil {
		return nil, 0
	}
	if left := pushTime - o.clock.Since(known.Arrived); left > 0 && isPushing(known.Delivery) {
		return nil, left
	}
	if left := publishEvery - o.clock.Since(known.Memory.published); left > 0 {
		return nil, left // too early to write, so too early to read
	}
	p := &pass{delivery: known.Delivery, memory: known.Memory, complete: true, before: map[lineKey]*v1alpha1.ObjectStatus{}}
	for i := range p.delivery.Status.Objects {
		line := &p.delivery.Status.Objects[i]
		p.before[lineKey{schema.GroupKind{Group: line.Group, Kind: line.Kind}, line.Name}] = line
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

// observe judges one entry.
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

// observeMissing judges an entry whose kind the member did not serve at the push. It writes a line if the member serves
// the kind now.
func (o *observer) observeMissing(p *pass, e *v1alpha1.InventoryEntry) {
	if o.served.has(deliveryindex.KindOf(e)) {
		p.addLine(o.clock.Now(), e, health.Verdict{
			Health: v1alpha1.Waiting, Reason: v1alpha1.ReasonAPIServed, Message: "the cluster serves " + e.Kind + " now",
		}, nil)
	}
}

// observeApplied judges an applied object: has it drifted, and is it healthy?
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
		if !o.isBeingPushed(p, e, &seen, hasProgress) { // the read may have brought a later apply
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
		if judged == nil { // deleted, and the watch has not reported that yet
			p.keep(e)
			return
		}
		verdict = *judged
	}
	if p.version == "" {
		p.version = verdict.Version
	}
	p.addLine(o.clock.Now(), e, verdict, drift)
}

// giveUp keeps the line of an object that could not be read. If the member refused the read, the line reports that.
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
	// Rule and label together have to fit into a line of the wrapper's status.
	return health.Verdict{
		Health: v1alpha1.Waiting,
		Reason: v1alpha1.ReasonNotGranted,
		Message: fmt.Sprintf(`the collector may not watch it; on the member, add a ClusterRole with {apiGroups: [%s], resources: [%s], verbs: [get, list, watch]} and label %s: "true"`,
			group, gr.Resource, v1alpha1.LabelAggregateToCollector),
	}
}

// addLine makes a line from a verdict and a drift. It makes none for an object that is healthy and has not drifted.
func (p *pass) addLine(now time.Time, e *v1alpha1.InventoryEntry, v health.Verdict, drift *v1alpha1.Drift) {
	if v.Health == v1alpha1.Healthy && drift == nil {
		return
	}
	line := v1alpha1.ObjectStatus{
		Group: e.Group, Kind: e.Kind, Name: e.Name,
		Health: v.Health, Reason: v.Reason, Message: v.Message,
		SinceTime: metav1.NewTime(now).Rfc3339Copy(),
		Drift:     drift,
	}
	if v.Health == v1alpha1.Healthy {
		line.Reason, line.Message = v1alpha1.ReasonDrifted, driftMessage(e, drift)
	}
	if before := p.before[keyOf(e)]; before != nil && before.Health == line.Health {
		line.SinceTime = before.SinceTime
	}
	p.lines = append(p.lines, line)
}

// keep leaves a line unchanged.
func (p *pass) keep(e *v1alpha1.InventoryEntry) {
	if before := p.before[keyOf(e)]; before != nil {
		p.lines = append(p.lines, *before)
	}
}

// keepHealth leaves a line unchanged, but without its drift: the host is about to apply the object again.
func (p *pass) keepHealth(e *v1alpha1.InventoryEntry) {
	before := p.before[keyOf(e)]
	if before == nil || before.Health == v1alpha1.Healthy || before.Reason == v1alpha1.ReasonAPIServed || before.Reason == v1alpha1.ReasonUnfinished {
		return
	}
	line := *before
	line.Drift = nil
	p.lines = append(p.lines, line)
}

// recheck makes the next pass due after a while, or sooner.
func (p *pass) recheck(after time.Duration) {
	p.again = sooner(p.again, max(after, 0))
}

func keyOf(e *v1alpha1.InventoryEntry) lineKey { return lineKey{deliveryindex.KindOf(e), e.Name} }
