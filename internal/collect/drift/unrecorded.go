// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// UnfinishedAfter is how long the manager may take from an apply to its record in the Delivery. After that time the
// collector reports the push as unfinished: the manager has died, or the member refuses the record.
const UnfinishedAfter = 30 * time.Second

// IsUnrecorded reports whether the last writer of the object is our manager, with a rendering that the Delivery does
// not record.
func IsUnrecorded(e *v1alpha1.InventoryEntry, s *objectcache.Sighting) bool {
	r := &s.Record
	return s.Found && !r.Deleting && (e.UID == "" || r.UID == e.UID) && e.Rendering != "" && r.Rendering != e.Rendering && r.Applied != 0
}

// PushTimeLeft is how long the manager still has to record an apply, by the member's clock; 0 if the push is
// unfinished. The apply time may be in the future. If it is at most UnfinishedAfter ahead, another API server of the
// member has a clock that is ahead, and the result is UnfinishedAfter. If it is further ahead, the member's clock was
// set back after the apply. Then the result is 0, because the wait could last very long.
func PushTimeLeft(applied int64, now time.Time) time.Duration {
	if time.Unix(applied, 0).After(now.Add(UnfinishedAfter)) {
		return 0
	}
	return min(UnfinishedAfter, max(0, time.Unix(applied, 0).Add(UnfinishedAfter).Sub(now)))
}
