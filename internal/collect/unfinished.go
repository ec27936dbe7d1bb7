// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// unfinishedAfter is how long the manager may take from an apply to its record in the Delivery. After that time the
// collector reports the push as unfinished: the manager has died, or the member refuses the record.
const unfinishedAfter = 30 * time.Second

// isUnrecorded reports whether our manager wrote the object last, with a rendering that the Delivery does not record.
func isUnrecorded(e *v1alpha1.InventoryEntry, s *objectcache.Sighting) bool {
	r := &s.Record
	return s.Found && !r.Deleting && (e.UID == "" || r.UID == e.UID) && e.Rendering != "" && r.Rendering != e.Rendering && r.Applied != 0
}

// pushTimeLeft is how long the manager still has to record an apply, by the member's clock; 0 if the push is
// unfinished. The apply time may be in the future. If it is at most unfinishedAfter ahead, another API server of the
// member has a clock that is ahead, and the result is unfinishedAfter. If it is further ahead, the member's clock was
// set back after the apply. Then the result is 0, because the wait could last very long.
func pushTimeLeft(applied int64, now time.Time) time.Duration {
	if time.Unix(applied, 0).After(now.Add(unfinishedAfter)) {
		return 0
	}
	return min(unfinishedAfter, max(0, time.Unix(applied, 0).Add(unfinishedAfter).Sub(now)))
}

// isBeingPushed reports whether the manager has applied the object and may still record the apply. Before the record
// exists, the Delivery's entry describes an earlier state. So the pass judges neither drift nor health, and keeps the
// line of the object.
func (o *observer) isBeingPushed(p *pass, e *v1alpha1.InventoryEntry, s *objectcache.Sighting, hasProgress bool) bool {
	if !isUnrecorded(e, s) {
		return false
	}
	left := pushTimeLeft(s.Record.Applied, o.now())
	if left == 0 {
		return false
	}
	p.keep(e)
	p.complete = p.complete && !hasProgress
	p.recheck(left)
	return true
}

// unfinished is the verdict on an object whose apply the manager did not record. The line also has a drift: a manager
// of an earlier version ignores the reason, and the drift makes it apply the object again.
func unfinished(e *v1alpha1.InventoryEntry) health.Verdict {
	return health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonUnfinished,
		Message: fmt.Sprintf("the manager applied %s %s and did not record that; it will apply the object again", e.Kind, e.Name)}
}
