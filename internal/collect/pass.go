// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/drift"
)

// pass judges the objects of one Delivery once. For each entry of the inventory it adds at most one line to the status.
// Then it publishes the status.
type pass struct {
	delivery *v1alpha1.Delivery // as the index had it when the pass began
	memory   *memory

	before map[lineKey]*v1alpha1.ObjectStatus // the lines that the status has now
	lines  []v1alpha1.ObjectStatus            // the lines of the new status
	// evidenceBefore is the evidence in the present status. evidence is the evidence for the new status.
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

func keyOf(e *v1alpha1.InventoryEntry) lineKey { return lineKey{deliveryindex.KindOf(e), e.Name} }

// evidenceKeyOf returns the key of the line that evidence is about.
func evidenceKeyOf(e *v1alpha1.ObjectEvidence) lineKey {
	return lineKey{schema.GroupKind{Group: e.Group, Kind: e.Kind}, e.Name}
}

// newPass begins a pass over a Delivery.
func newPass(d *v1alpha1.Delivery, m *memory) *pass {
	p := &pass{delivery: d, memory: m, complete: true, before: map[lineKey]*v1alpha1.ObjectStatus{}, evidenceBefore: map[lineKey]*v1alpha1.Evidence{}}
	for i := range d.Status.Objects {
		line := &d.Status.Objects[i]
		p.before[lineKey{schema.GroupKind{Group: line.Group, Kind: line.Kind}, line.Name}] = line
	}
	for i := range d.Status.Evidence {
		found := &d.Status.Evidence[i]
		p.evidenceBefore[evidenceKeyOf(found)] = &found.Evidence
	}
	return p
}

// addLine adds the line of an object, from its verdict and its drift. An object that is healthy and has not drifted
// gets no line, except to report a deprecation: then the verdict has a reason.
func (p *pass) addLine(now time.Time, e *v1alpha1.InventoryEntry, v health.Verdict, drifted *v1alpha1.Drift) {
	if v.Health == v1alpha1.Healthy && v.Reason == "" && drifted == nil {
		return
	}
	line := v1alpha1.ObjectStatus{
		Group: e.Group, Kind: e.Kind, Name: e.Name,
		Health: v.Health, Reason: v.Reason, Message: v.Message,
		SinceTime: metav1.NewTime(now).Rfc3339Copy(),
		Drift:     drifted,
	}
	if v.Health == v1alpha1.Healthy && drifted != nil {
		line.Reason, line.Message = v1alpha1.ReasonDrifted, drift.Message(e, drifted)
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

// rendersAnew reports whether the present status is about another rendering than the one in spec.target of the Delivery.
func (p *pass) rendersAnew() bool {
	return p.delivery.Status.ObservedRendering != p.delivery.Spec.Target.Rendering
}

// hasRoom reports whether the new status can have the evidence about another object.
func (p *pass) hasRoom() bool { return len(p.evidence) < evidence.MaxObjects }

// recheck makes the next pass due after this time, unless another call has made it due sooner.
func (p *pass) recheck(after time.Duration) {
	p.again = sooner(p.again, max(after, 0))
}

// status makes the new status from the lines, without the evidence. It is empty if no object has progress and there are no lines.
func (p *pass) status() v1alpha1.DeliveryStatus {
	before := &p.delivery.Status
	status := v1alpha1.DeliveryStatus{Objects: p.lines, Subscriptions: p.subscriptions}
	if !p.progress && len(p.lines) == 0 {
		return status
	}
	status.ObservedRendering, status.Version = before.ObservedRendering, p.version
	if p.complete {
		status.ObservedRendering = p.delivery.Spec.Target.Rendering
	}
	if status.Version == "" && p.listsVersioned() {
		status.Version = before.Version // the last installed version stays until another is installed
	}
	return status
}

// listsVersioned reports whether the inventory lists an object of a kind whose verdict has a version, such as a
// Subscription.
func (p *pass) listsVersioned() bool {
	for i := range p.delivery.Spec.Inventory {
		if health.HasVersion(deliveryindex.KindOf(&p.delivery.Spec.Inventory[i])) {
			return true
		}
	}
	return false
}

// boundedEvidence returns the evidence for the new status, cut to the limits of package evidence. It returns nil until noEvidenceUntil,
// because the member does not store evidence.
func (p *pass) boundedEvidence(now time.Time) []v1alpha1.ObjectEvidence {
	if now.Before(p.memory.noEvidenceUntil) {
		return nil
	}
	return evidence.Bound(p.evidence)
}

// boundedAnswers returns the answers for the new status, cut to the limits of package evidence. It returns nil until noEvidenceUntil,
// because the member does not store evidence.
func (p *pass) boundedAnswers(now time.Time) []v1alpha1.EvidenceAnswer {
	if now.Before(p.memory.noEvidenceUntil) {
		return nil
	}
	return evidence.BoundAnswers(p.answers)
}

// boundGathered limits the memory of gathered evidence while the collector cannot write it. It drops the evidence about objects that the
// Delivery no longer lists. The argument bounded is the evidence for the new status, cut to its limits. It replaces the gathered evidence
// about the same objects.
func (p *pass) boundGathered(bounded []v1alpha1.ObjectEvidence) {
	if len(p.memory.gathered) == 0 {
		return
	}
	listed := map[lineKey]bool{}
	for i := range p.delivery.Spec.Inventory {
		listed[keyOf(&p.delivery.Spec.Inventory[i])] = true
	}
	maps.DeleteFunc(p.memory.gathered, func(key lineKey, _ v1alpha1.Evidence) bool { return !listed[key] })
	for i := range bounded {
		key := evidenceKeyOf(&bounded[i])
		if found, ok := p.memory.gathered[key]; ok && !evidence.IsEmpty(&found) {
			p.memory.gathered[key] = bounded[i].Evidence
		}
	}
}
