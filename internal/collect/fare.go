// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// readEvery is how often one object is read at most.
const readEvery = 2 * time.Second

// The event that says why an object is not well is written after the status that says that it is not,
// or without any: provisioners speak in events only. It wakes nobody, so it is looked for soon at first,
// then each time the object has been unwell for twice as long.
const (
	unwellSoon = 5 * time.Second
	unwellLate = 5 * time.Minute
)

// memory is what a Collector remembers of a Delivery between passes. Losing it costs reads, no truth.
type memory struct {
	// published is when the status was written last, reread when the Delivery was read since a write came too late.
	published, reread time.Time
	judged            map[lineKey]*judgement
}

func newMemory() *memory { return &memory{judged: map[lineKey]*judgement{}} }

// judgement is a verdict and what it was based on.
type judgement struct {
	verdict health.Verdict
	// unwell is since when every verdict was that it is not well; zero: it is.
	unwell          time.Time
	resourceVersion string
	surroundings    int
	at              time.Time
}

// stale says whether there is reason to judge again.
func (j *judgement) stale(r *record, surroundings int, now time.Time) bool {
	return newer(r.resourceVersion, j.resourceVersion) || j.surroundings != surroundings ||
		j.verdict.Recheck > 0 && now.Sub(j.at) >= j.verdict.Recheck
}

// fare says how an object fares: as it was judged last, or, where something changed, by reading it. It
// is nil where the object was never judged and is not to be read yet.
func (c *Collector) fare(ctx context.Context, p *pass, e *v1alpha1.InventoryEntry, ref objectRef, s sight) (*health.Verdict, error) {
	now := c.clock.Now()
	surroundings := c.surroundings(ref)
	key := keyOf(e)
	last := p.memory.judged[key]
	if last != nil && !last.stale(&s.record, surroundings, now) {
		p.recheck(last.verdict.Recheck - now.Sub(last.at))
		return &last.verdict, nil
	}
	if last != nil {
		if left := readEvery - now.Sub(last.at); left > 0 {
			// Too early to read it again. What is known is of an older state, perhaps of an older rendering.
			p.complete = p.complete && !newer(s.record.resourceVersion, last.resourceVersion)
			p.recheck(left)
			return &last.verdict, nil
		}
	}
	obj, err := c.clients.read(ctx, s.gvr, ref.namespace, ref.name)
	if apierrors.IsNotFound(err) {
		// Its deletion is on its way here; drift is not for this pass to find.
		p.complete = false
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	verdict, err := c.judge(ctx, obj, ref)
	if err != nil {
		return nil, err
	}
	unwell := unwellSince(last, verdict, now)
	if !unwell.IsZero() {
		verdict.Recheck = sooner(verdict.Recheck, unwellWait(now.Sub(unwell)))
	}
	p.memory.judged[key] = &judgement{
		verdict: verdict, unwell: unwell, resourceVersion: obj.GetResourceVersion(), surroundings: surroundings, at: now,
	}
	p.recheck(verdict.Recheck)
	return &verdict, nil
}

// unwellSince is since when an object is not well, given what was known before; zero where it is well.
func unwellSince(last *judgement, verdict health.Verdict, now time.Time) time.Time {
	switch {
	case !health.NeedsWarning(verdict):
		return time.Time{}
	case last != nil && !last.unwell.IsZero():
		return last.unwell
	}
	return now
}

// unwellWait is how long to leave an object alone that was not well for a while.
func unwellWait(lasted time.Duration) time.Duration {
	return min(max(lasted, unwellSoon), unwellLate)
}

// sooner is the shorter of two waits, of which zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// judge reads what stands around an object and asks the rules. The newest warning is read only where
// something is wrong with it. What an object says of times, the member's own programs have written, and the collector may
// run elsewhere: it is judged by the member's clock.
func (c *Collector) judge(ctx context.Context, obj *unstructured.Unstructured, ref objectRef) (health.Verdict, error) {
	now := c.clients.there.now()
	around, err := c.readAround(ctx, obj, ref)
	if err != nil {
		return health.Verdict{}, err
	}
	verdict := health.Judge(obj, around, now)
	if !health.NeedsWarning(verdict) {
		return verdict, nil
	}
	if around.Warning, err = c.newestWarning(ctx, obj); err != nil {
		return health.Verdict{}, err
	}
	if around.Warning == nil {
		return verdict, nil
	}
	return health.Judge(obj, around, now), nil
}
