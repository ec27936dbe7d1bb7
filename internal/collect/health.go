// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// readEvery is the shortest time between two reads of one object.
const readEvery = 2 * time.Second

// The waits for a warning event. The event that explains an unhealthy object can come after its status, or without any
// change of it: provisioners write events only. The collector does not watch events. So it reads the object and its
// events again, at intervals that grow with the time that the object has been unhealthy.
const (
	unhealthyFirst = 5 * time.Second
	unhealthyMost  = 5 * time.Minute
)

// memory is what the collector keeps in memory about a Delivery between passes. Only the worker of the Delivery uses
// it. If it is lost, the collector only reads more.
type memory struct {
	// published is when the collector last wrote the status. reread is when it last read the Delivery after a write
	// conflict.
	published, reread time.Time
	judged            map[lineKey]*judgement
}

func newMemory() *memory { return &memory{judged: map[lineKey]*judgement{}} }

// judgement is a verdict and the state that it was made from.
type judgement struct {
	verdict health.Verdict
	// unhealthy is the time from which every verdict was unhealthy; zero while the object is healthy.
	unhealthy       time.Time
	resourceVersion string
	related         int // see related.changes
	at              time.Time
}

// stale reports whether the object has to be judged again.
func (j *judgement) stale(r *objectcache.Record, related int, now time.Time) bool {
	return deliveryindex.Newer(r.ResourceVersion, j.resourceVersion) || j.related != related ||
		j.verdict.Recheck > 0 && now.Sub(j.at) >= j.verdict.Recheck
}

// healthReader reads objects whose kind has progress, and judges their health.
type healthReader struct {
	client  *memberclient.Client
	clock   clock.PassiveClock
	related *related
}

// verdict returns the health of an object. It returns the last judgement while it still holds, and otherwise the result
// of a new read. It returns nil if the object was deleted and the watch has not reported that yet.
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
			// It is too early to read the object again. The last verdict is for an older state, perhaps of an older
			// rendering.
			p.complete = p.complete && !deliveryindex.Newer(s.Record.ResourceVersion, last.resourceVersion)
			p.recheck(left)
			return &last.verdict, nil
		}
	}
	obj, err := h.client.Read(ctx, s.GVR, ref.Namespace, ref.Name)
	if apierrors.IsNotFound(err) {
		// The watch event of its deletion has not arrived yet; the next pass finds the drift.
		p.complete = false
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	verdict, err := h.judge(ctx, obj, ref)
	if err != nil {
		return nil, err
	}
	unhealthy := unhealthySince(last, verdict, now)
	if !unhealthy.IsZero() {
		verdict.Recheck = sooner(verdict.Recheck, unhealthyWait(now.Sub(unhealthy)))
	}
	p.memory.judged[key] = &judgement{
		verdict: verdict, unhealthy: unhealthy, resourceVersion: obj.GetResourceVersion(), related: related, at: now,
	}
	p.recheck(verdict.Recheck)
	return &verdict, nil
}

// unhealthySince returns the time from which an object has been unhealthy, zero if it is healthy.
func unhealthySince(last *judgement, verdict health.Verdict, now time.Time) time.Time {
	switch {
	case !health.NeedsWarning(verdict):
		return time.Time{}
	case last != nil && !last.unhealthy.IsZero():
		return last.unhealthy
	}
	return now
}

// unhealthyWait returns how long to wait before the next read of an object that has been unhealthy for this long.
func unhealthyWait(lasted time.Duration) time.Duration {
	return min(max(lasted, unhealthyFirst), unhealthyMost)
}

// sooner returns the shorter of two waits. Zero counts as no wait.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// judge reads the objects related to an object and applies the rules of its kind. It reads the newest warning only for
// an unhealthy object. Programs on the member write the times in an object, and the collector may run elsewhere. So
// judge uses the member's clock.
func (h *healthReader) judge(ctx context.Context, obj *unstructured.Unstructured, ref deliveryindex.Ref) (health.Verdict, error) {
	now := h.client.Now()
	related, err := h.related.read(ctx, obj, ref)
	if err != nil {
		return health.Verdict{}, err
	}
	verdict := health.Judge(obj, related, now)
	if !health.NeedsWarning(verdict) {
		return verdict, nil
	}
	if related.Warning, err = h.related.newestWarning(ctx, obj); err != nil {
		return health.Verdict{}, err
	}
	if related.Warning == nil {
		return verdict, nil
	}
	return health.Judge(obj, related, now), nil
}
