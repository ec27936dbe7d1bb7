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

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// pushTime is how long a Delivery that is being pushed is left alone: the host is about to write it, and
// a status written in between costs it a conflict.
const pushTime = 2 * time.Second

// pass is one look at one Delivery: each entry of its inventory becomes a line or none, and what they
// come to is published.
type pass struct {
	delivery *v1alpha1.Delivery // as it was known when the pass began
	memory   *memory

	before map[lineKey]*v1alpha1.ObjectStatus // what the status says now
	lines  []v1alpha1.ObjectStatus            // filled entry by entry
	// progress: some entry's kind has progress; complete: every such entry was judged as it is now.
	progress, complete bool
	version            string
	// again is when time alone calls for another look; zero: never.
	again time.Duration
	// failed is the first thing that could not be read.
	failed error
}

// lineKey is what tells one line of a status from another.
type lineKey struct {
	schema.GroupKind
	name string
}

// look looks at one Delivery.
func (c *Collector) look(ctx context.Context, name string) error {
	p, wait := c.open(name)
	if wait > 0 {
		c.deliveries.AddAfter(name, wait)
	}
	if p == nil {
		return nil
	}
	for i := range p.delivery.Spec.Inventory {
		c.observe(ctx, p, &p.delivery.Spec.Inventory[i])
	}
	if err := c.publish(ctx, p); err != nil {
		return err
	}
	if p.again > 0 {
		c.deliveries.AddAfter(name, p.again)
	}
	return p.failed
}

// open begins a pass, unless there is nothing to judge or not yet.
func (c *Collector) open(name string) (*pass, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.book.pages[name]
	if known == nil || known.delivery.Spec.Target == nil {
		return nil, 0
	}
	if left := pushTime - c.clock.Since(known.arrived); left > 0 && isPushing(known.delivery) {
		return nil, left
	}
	if left := publishEvery - c.clock.Since(known.memory.published); left > 0 {
		return nil, left // what cannot be written yet need not be read yet
	}
	p := &pass{delivery: known.delivery, memory: known.memory, complete: true, before: map[lineKey]*v1alpha1.ObjectStatus{}}
	for i := range p.delivery.Status.Objects {
		o := &p.delivery.Status.Objects[i]
		p.before[lineKey{schema.GroupKind{Group: o.Group, Kind: o.Kind}, o.Name}] = o
	}
	return p, 0
}

// isPushing says whether the host is about to record something.
func isPushing(d *v1alpha1.Delivery) bool {
	for i := range d.Spec.Inventory {
		if e := &d.Spec.Inventory[i]; e.State == v1alpha1.EntryPending && e.Resource != "" {
			return true
		}
	}
	return false
}

// observe looks at one entry.
func (c *Collector) observe(ctx context.Context, p *pass, e *v1alpha1.InventoryEntry) {
	ref := refOf(p.delivery, e)
	switch {
	case e.State == v1alpha1.EntryRemoving:
	case e.Resource == "":
		c.observeMissing(p, e)
	case e.State == v1alpha1.EntryPending:
		p.keepHealth(e)
		if health.HasProgress(kindOf(e)) {
			p.progress, p.complete = true, false
		}
	case ref.GroupResource == secrets:
	default:
		c.observeApplied(ctx, p, e, ref)
	}
}

// observeMissing tells of an entry whose kind was not served when it was to be pushed, and is now.
func (c *Collector) observeMissing(p *pass, e *v1alpha1.InventoryEntry) {
	c.mu.Lock()
	served := c.served[kindOf(e)]
	c.mu.Unlock()
	if served {
		p.say(c.clock.Now(), e, health.Verdict{
			Health: v1alpha1.Waiting, Reason: v1alpha1.ReasonAPIServed, Message: "the cluster serves " + e.Kind + " now",
		}, nil)
	}
}

// observeApplied judges an object that was applied: is it as it was left, and does it fare well?
func (c *Collector) observeApplied(ctx context.Context, p *pass, e *v1alpha1.InventoryEntry, ref objectRef) {
	hasProgress := health.HasProgress(kindOf(e))
	p.progress = p.progress || hasProgress

	seen := c.see(ref)
	switch seen.state {
	case kindUnread:
		p.keep(e)
		p.complete = p.complete && !hasProgress
		return
	case kindForbidden:
		p.say(c.clock.Now(), e, notGranted(ref.GroupResource), nil)
		return
	}
	drift, err := c.drifted(ctx, p, e, ref, &seen)
	if err != nil {
		c.giveUp(p, e, ref, err)
		return
	}
	verdict := health.Verdict{Health: v1alpha1.Healthy}
	if hasProgress && seen.found && (drift == nil || drift.Kind == v1alpha1.DriftChanged) {
		judged, err := c.fare(ctx, p, e, ref, seen)
		if err != nil {
			c.giveUp(p, e, ref, err)
			return
		}
		if judged == nil { // read a moment ago; it is too early to read it again
			p.keep(e)
			return
		}
		verdict = *judged
	}
	if p.version == "" {
		p.version = verdict.Version
	}
	p.say(c.clock.Now(), e, verdict, drift)
}

// giveUp leaves a line as it was where an object could not be read, and says so where it must not be.
func (c *Collector) giveUp(p *pass, e *v1alpha1.InventoryEntry, ref objectRef, err error) {
	var refused *refusal
	if errors.As(err, &refused) {
		p.say(c.clock.Now(), e, notGranted(refused.GroupResource), nil)
		return
	}
	if apierrors.IsForbidden(err) {
		p.say(c.clock.Now(), e, notGranted(ref.GroupResource), nil)
		return
	}
	p.keep(e)
	p.complete = false
	if p.failed == nil {
		p.failed = fmt.Errorf("looking at %s: %w", ref.path(), err)
	}
}

// refusal is the member's refusal to let the collector read what stands around an object.
type refusal struct {
	schema.GroupResource
	cause error
}

// Error implements error.
func (r *refusal) Error() string { return r.cause.Error() }

// Unwrap leads to the member's own words.
func (r *refusal) Unwrap() error { return r.cause }

func notGranted(gr schema.GroupResource) health.Verdict {
	group := gr.Group
	if group == "" {
		group = `""`
	}
	// Rule and label together have to fit into a line of the wrapper's status.
	return health.Verdict{
		Health: v1alpha1.Waiting,
		Reason: v1alpha1.ReasonNotGranted,
		Message: fmt.Sprintf(`the collector may not watch it; add a ClusterRole there with {apiGroups: [%s], resources: [%s], verbs: [get, list, watch]} and label %s: "true"`,
			group, gr.Resource, v1alpha1.LabelAggregateToCollector),
	}
}

// say makes a line of a verdict and a drift, and none of an object that is well and as it was left.
func (p *pass) say(now time.Time, e *v1alpha1.InventoryEntry, v health.Verdict, drift *v1alpha1.Drift) {
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

// keep leaves a line as it was.
func (p *pass) keep(e *v1alpha1.InventoryEntry) {
	if before := p.before[keyOf(e)]; before != nil {
		p.lines = append(p.lines, *before)
	}
}

// keepHealth leaves a line as it was, but for a drift: what is about to be applied is not judged by what
// was applied before.
func (p *pass) keepHealth(e *v1alpha1.InventoryEntry) {
	before := p.before[keyOf(e)]
	if before == nil || before.Health == v1alpha1.Healthy || before.Reason == v1alpha1.ReasonAPIServed {
		return
	}
	line := *before
	line.Drift = nil
	p.lines = append(p.lines, line)
}

// recheck asks for another look after a while, or sooner.
func (p *pass) recheck(after time.Duration) {
	p.again = sooner(p.again, max(after, 0))
}

func keyOf(e *v1alpha1.InventoryEntry) lineKey { return lineKey{kindOf(e), e.Name} }
