// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/explain"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// readEvery is the shortest time between two reads of one object.
const readEvery = 2 * time.Second

// explainEvery is the shortest time between two reads of what explains an object's state: its pods, events and logs. It is also the time
// for which an object must be unhealthy before the first of these reads. So a workload that starts normally causes none of them.
const explainEvery = 5 * time.Second

// explainAtMost limits the time for reading explanations in one pass. After this time the pass begins no further explanation, and the other
// unhealthy objects wait for the next pass. Otherwise all verdicts of the pass would be late, because a pass publishes only at its end.
const explainAtMost = 5 * time.Second

// The collector reads an unhealthy object and its events again after a wait, because it does not watch events. The event
// that explains the problem may come later than the object's status, and some programs, such as provisioners, write only
// events. The wait is a quarter of the time for which the object has been unhealthy, within these limits.
const (
	// unhealthyFirst is the shortest wait.
	unhealthyFirst = 5 * time.Second
	// unhealthyMost is the longest wait.
	unhealthyMost = 5 * time.Minute
)

// memory has the data that the collector keeps about a Delivery between passes. Only the worker that makes the pass uses it. If this memory
// is lost, the collector only makes more reads.
type memory struct {
	// published is the time at which the collector last wrote the status.
	published time.Time
	// reread is the time at which the collector last read the Delivery after a write conflict.
	reread time.Time
	// judged has the last verdict on each object of a kind with progress.
	judged map[lineKey]*judgement
	// gathered has the evidence that the status does not have yet. If the evidence about an object in the status is out of date, gathered
	// has an empty Evidence for the object.
	gathered map[lineKey]v1alpha1.Evidence
	// asked has the requests for evidence in the Delivery, with the last answers; nil if there are none.
	asked map[askedKey]*asked
	// holdsEvidence is true if gathered has evidence. Passes over other Deliveries read it.
	holdsEvidence atomic.Bool
	// noEvidenceUntil is a time before which the collector writes no evidence into this Delivery, because the member did not store it.
	noEvidenceUntil time.Time
	// omitsEvidence is true from the first refusal of evidence until the member stores some.
	omitsEvidence bool
}

func newMemory() *memory {
	return &memory{judged: map[lineKey]*judgement{}, gathered: map[lineKey]v1alpha1.Evidence{}}
}

// judgement is a verdict, and the state of the object from which it was made.
type judgement struct {
	verdict health.Verdict
	// unhealthy is the time at which the object became unhealthy; zero while it is healthy.
	unhealthy time.Time
	// recovered is the time since which the object has been healthy after a crash (health.AfterCrash); zero if the status has no crash
	// of it, and if it is not healthy.
	recovered time.Time
	// generation and resourceVersion are those of the object when the verdict was made.
	generation      int64
	resourceVersion string
	related         int // the result of related.changes when the verdict was made
	at              time.Time
	explained       explained
}

// explained has the result of the last read of an object's explanation.
type explained struct {
	// at is the time of that read. Before the first read, it is the time at which the collector found the object unhealthy. If the
	// collector has just started, it is an earlier time, so that the first read is due at once. It is zero while the object is healthy.
	at    time.Time
	cause *health.Explanation
	// refused is true if the member does not allow the collector to read pods.
	refused bool
}

// stale reports whether the collector has to judge the object again: the object or a related object has changed, or the
// verdict has expired.
func (j *judgement) stale(r *objectcache.Record, related int, now time.Time) bool {
	return deliveryindex.Newer(r.ResourceVersion, j.resourceVersion) || j.related != related ||
		j.verdict.Recheck > 0 && now.Sub(j.at) >= j.verdict.Recheck
}

// healthReader reads objects whose kind has progress, and judges their health.
type healthReader struct {
	client  *memberclient.Client
	clock   clock.PassiveClock
	related *related
	explain *explain.Reader
}

// verdict returns the health of an object. If the last judgement is not stale, or is younger than readEvery, verdict
// returns the result of that judgement. Otherwise it reads the object and judges it. It returns nil if the object was
// deleted and the watch has not reported the deletion yet.
func (h *healthReader) verdict(
	ctx context.Context, p *pass, e *v1alpha1.InventoryEntry, ref deliveryindex.Ref, s objectcache.Sighting,
) (*health.Verdict, error) {
	now := h.clock.Now()
	related := h.related.changes(ref)
	key := keyOf(e)
	last := p.memory.judged[key]
	if last != nil && !last.stale(&s.Record, related, now) {
		p.recheck(last.verdict.Recheck - now.Sub(last.at))
		return &last.verdict, nil
	}
	if last != nil {
		if left := readEvery - now.Sub(last.at); left > 0 {
			// It is too early to read the object again. The last verdict may be that of an older state or an older
			// rendering.
			p.complete = p.complete && !deliveryindex.Newer(s.Record.ResourceVersion, last.resourceVersion)
			p.recheck(left)
			return &last.verdict, nil
		}
	}
	obj, err := h.client.Read(ctx, s.GVR, ref.Namespace, ref.Name)
	if apierrors.IsNotFound(err) {
		// The watch event of the object's deletion has not arrived yet; the next pass finds the drift.
		p.complete = false
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := explainedBefore(last, p.before[key], obj.GetGeneration(), now)
	explained := known
	gathered, hasGathered := p.memory.gathered[key]
	isNew := last == nil && p.rendersAnew() || last != nil && last.generation != obj.GetGeneration()
	if isNew {
		p.memory.gathered[key] = v1alpha1.Evidence{} // that of an earlier generation says nothing about this one
	}
	verdict, err := h.judge(ctx, p, obj, ref, key, &explained, now)
	if err != nil {
		// The status keeps the object's line, so the gathered evidence about the object stays too.
		if delete(p.memory.gathered, key); hasGathered {
			p.memory.gathered[key] = gathered
		}
		return nil, err
	}
	var recovered time.Time
	if !isNew {
		verdict, recovered = afterCrash(obj, verdict, last, p.before[key], now)
		if !recovered.IsZero() && health.NeedsWarning(verdict) {
			explained.cause, explained.refused = known.cause, known.refused // judge dropped them; the next crash may have no other explanation
		}
	}
	unhealthy := unhealthySince(last, p.before[key], verdict, obj.GetGeneration(), now)
	if !unhealthy.IsZero() {
		verdict.Recheck = sooner(verdict.Recheck, unhealthyWait(unhealthy, explained.at, now))
	}
	p.memory.judged[key] = &judgement{
		verdict: verdict, unhealthy: unhealthy, recovered: recovered, generation: obj.GetGeneration(), resourceVersion: obj.GetResourceVersion(),
		related: related, at: now, explained: explained,
	}
	p.recheck(verdict.Recheck)
	return &verdict, nil
}

// afterCrash returns the verdict on an object that may have become healthy after a crash, and the time for judgement.recovered. line is
// the object's line in the present status. A collector that has just started does not know how long the object has been healthy, so the
// time begins anew.
func afterCrash(
	obj *unstructured.Unstructured, verdict health.Verdict, last *judgement, line *v1alpha1.ObjectStatus, now time.Time,
) (health.Verdict, time.Time) {
	if verdict.Health != v1alpha1.Healthy || !isUnhealthy(line) {
		return verdict, time.Time{}
	}
	recovered := now
	if last != nil && !last.recovered.IsZero() {
		recovered = last.recovered
	}
	return health.AfterCrash(obj, verdict, line, now.Sub(recovered)), recovered
}

// unhealthySince returns when an object of this generation became unhealthy; zero if it is healthy. line is the object's line in the
// present status. If last is nil, the collector has just started, and only the line has the time.
func unhealthySince(last *judgement, line *v1alpha1.ObjectStatus, verdict health.Verdict, generation int64, now time.Time) time.Time {
	switch {
	case !health.NeedsWarning(verdict):
		return time.Time{}
	case last != nil && !last.unhealthy.IsZero() && last.generation == generation:
		return last.unhealthy
	case last == nil && isUnhealthy(line) && line.SinceTime.Time.Before(now):
		return line.SinceTime.Time
	}
	return now
}

func isUnhealthy(line *v1alpha1.ObjectStatus) bool {
	return line != nil && (line.Health == v1alpha1.Progressing || line.Health == v1alpha1.Degraded)
}

// unhealthyWait returns the time until the next read of an object that has been unhealthy since a time. In the first minute the wait is at
// most 15 s, so the collector soon reads a change that shows only in a pod or an event. explainedAt is explained.at of the object. Until the first
// read of the explanation, the wait ends when that read is due, also after a change of the object.
func unhealthyWait(since, explainedAt, now time.Time) time.Duration {
	wait := min(max(now.Sub(since)/4, unhealthyFirst), unhealthyMost)
	isExplained := explainedAt.After(since)
	if left := explainEvery - now.Sub(explainedAt); left > 0 && !isExplained {
		wait = min(wait, max(left, readEvery))
	}
	return wait
}

// explainedBefore returns the explanation of an object from its last judgement, before the collector judges the object again. After a
// change of the generation it returns no explanation. line is the object's line in the present status. If last is nil, the collector has
// just started, and only the line tells whether the object was unhealthy before.
func explainedBefore(last *judgement, line *v1alpha1.ObjectStatus, generation int64, now time.Time) explained {
	switch {
	case last != nil && !last.unhealthy.IsZero() && last.generation == generation:
		return last.explained
	case last == nil && isUnhealthy(line):
		return explained{at: now.Add(-explainEvery)}
	}
	return explained{at: now}
}

// sooner returns the shorter of two waits. Zero means that there is no wait: if one argument is zero, sooner returns
// the other.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// judge reads the objects on which the health of obj depends, and applies the rules of its kind. It reads the newest warning event and
// the explanation only for an unhealthy object. It compares times by the member's clock, because programs on the member write the
// times in an object, and the collector's own clock may differ. It updates the argument explained. The times in explained and
// the argument now are by the collector's clock.
func (h *healthReader) judge(
	ctx context.Context, p *pass, obj *unstructured.Unstructured, ref deliveryindex.Ref, key lineKey, explained *explained, now time.Time,
) (health.Verdict, error) {
	related, err := h.related.read(ctx, obj, ref)
	if err != nil {
		return health.Verdict{}, err
	}
	verdict := health.Judge(obj, related, h.client.Now())
	if !health.NeedsWarning(verdict) {
		explained.forget()
		delete(p.memory.gathered, key)
		return verdict, nil
	}
	if related.Warning, err = h.explain.Warning(ctx, obj.GetNamespace(), obj.GetUID()); err != nil {
		return health.Verdict{}, err
	}
	isBusy := false
	if now.Sub(explained.at) >= explainEvery && p.explaining < explainAtMost {
		isBusy = h.readExplanation(ctx, p, obj, &related, key, explained)
	}
	related.Explanation, related.PodsRefused = explained.cause, explained.refused
	verdict = health.Judge(obj, related, h.client.Now())
	if isBusy && explained.cause == nil && !explained.refused { // with a cause, the next look is soon enough
		verdict.Recheck = sooner(verdict.Recheck, explainEvery)
	}
	return verdict, nil
}

// maxWithEvidence is the largest number of a member's Deliveries that may have evidence. It bounds the memory of the collector. A Delivery
// also counts while its status does not have the evidence yet, because the member may accept no writes for a long time.
const maxWithEvidence = 256

// mayGather reports whether the Delivery of a pass has evidence already or may have some.
func (h *healthReader) mayGather(p *pass) bool {
	return len(p.delivery.Status.Evidence) > 0 || p.memory.holdsEvidence.Load() ||
		h.related.looks.index.WithEvidence(func(m *memory) bool { return m.holdsEvidence.Load() }) < maxWithEvidence
}

// forget drops the explanation of an object, because the object is healthy now.
func (x *explained) forget() { *x = explained{} }

// readExplanation reads what explains the state of an unhealthy object, and gathers the evidence. This only explains a verdict, so an
// error must not hold the verdict back. An error tells nothing about the pods, so the last cause and the last evidence stay.
// readExplanation returns true if too many explanations are being read, so that the next judgement tries again.
func (h *healthReader) readExplanation(
	ctx context.Context, p *pass, obj *unstructured.Unstructured, related *health.Related, key lineKey, last *explained,
) (isBusy bool) {
	began := h.clock.Now()
	found, err := h.explain.Explain(ctx, obj, related, explain.Known{
		Line: p.before[key], Evidence: p.evidenceOf(key), WantsEvidence: p.hasRoom() && !began.Before(p.memory.noEvidenceUntil) && h.mayGather(p),
	})
	p.explaining += h.clock.Since(began)
	if found.Evidence != nil {
		p.memory.gathered[key] = *found.Evidence
		p.memory.holdsEvidence.Store(true)
	}
	switch {
	case errors.Is(err, explain.ErrBusy):
		return true
	case err == nil:
		*last = explained{at: began, cause: found.Cause}
	case apierrors.IsForbidden(err):
		*last = explained{at: began, refused: true}
	default:
		last.at = began
		klog.FromContext(ctx).V(1).Info("The pods of an unhealthy object could not be read; the collector tries again",
			"kind", obj.GetKind(), "namespace", obj.GetNamespace(), "name", obj.GetName(), "error", err.Error())
	}
	return false
}
