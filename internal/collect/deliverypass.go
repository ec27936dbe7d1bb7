// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/drift"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// pushTime is how long the collector delays the pass over a Delivery while the host pushes. The host is about to write
// that Delivery. If the collector wrote the status first, the host's write would fail with a conflict.
const pushTime = 2 * time.Second

// observer makes the passes over Deliveries.
type observer struct {
	clock     clock.PassiveClock
	looks     *lookQueue
	cache     *objectcache.Cache
	served    *servedKinds
	drift     *drift.Finder
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

// open begins a pass. It returns nil and 0 if the Delivery is gone, or has no spec.target because its wrapper leaves
// the member. If it is too early for a pass, open returns nil and the time until the next try.
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
	return newPass(known.Delivery, known.Memory), 0
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
	drifted, err := o.drift.Find(ctx, p.before[keyOf(e)], e, ref, &seen)
	if err != nil {
		o.giveUp(p, e, ref, err)
		return
	}
	if drifted != nil && drift.IsUnrecorded(e, &seen) {
		if !o.isBeingPushed(p, e, &seen, hasProgress) { // Find may have read a later apply
			p.complete = p.complete && !hasProgress
			p.addLine(o.clock.Now(), e, unfinished(e), drifted)
		}
		return
	}
	verdict := health.Verdict{Health: v1alpha1.Healthy}
	if hasProgress && seen.Found && (drifted == nil || drifted.Kind == v1alpha1.DriftChanged) {
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
	p.addLine(o.clock.Now(), e, verdict, drifted)
}

// isBeingPushed reports whether the manager has applied the object and still has time to record the apply. Before the
// record exists, the Delivery's entry describes an earlier state. So the pass judges neither drift nor health, and
// keeps the line of the object.
func (o *observer) isBeingPushed(p *pass, e *v1alpha1.InventoryEntry, s *objectcache.Sighting, hasProgress bool) bool {
	if !drift.IsUnrecorded(e, s) {
		return false
	}
	left := drift.PushTimeLeft(s.Record.Applied, o.now())
	if left == 0 {
		return false
	}
	p.keep(e)
	p.complete = p.complete && !hasProgress
	p.recheck(left)
	return true
}

// unfinished is the verdict on an object whose apply the manager did not record. The line also has a drift, for
// managers of an earlier version. They ignore the reason, but they apply a drifted object again.
func unfinished(e *v1alpha1.InventoryEntry) health.Verdict {
	return health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonUnfinished,
		Message: fmt.Sprintf("the manager applied %s %s and did not record that; it will apply the object again", e.Kind, e.Name)}
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
	// The message is short, so that the RBAC rule and the label in it fit into a line of the wrapper's status.
	return health.Verdict{
		Health: v1alpha1.Waiting,
		Reason: v1alpha1.ReasonNotGranted,
		Message: fmt.Sprintf(`the collector cannot watch it; on the member, add a ClusterRole with {apiGroups: [%s], resources: [%s], verbs: [get, list, watch]} and label %s: "true"`,
			group, gr.Resource, v1alpha1.LabelAggregateToCollector),
	}
}
