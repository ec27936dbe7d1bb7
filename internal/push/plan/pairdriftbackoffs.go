// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// driftBackoffs has the drift backoff of each object of one pair that the manager repaired recently.
type driftBackoffs map[ObjectID]*driftBackoff

// drifted records that an object has drifted. It returns the time until the manager may repair the object; zero if it
// may repair the object now.
func (b driftBackoffs) drifted(id ObjectID, o *v1alpha1.ObjectStatus, now time.Time) time.Duration {
	if b[id] == nil {
		return 0
	}
	return b[id].drifted(o, now)
}

// repaired records a repair of an object. It returns the time until the object's drift backoff can be forgotten.
func (b driftBackoffs) repaired(id ObjectID, now time.Time) time.Duration {
	backoff := b[id]
	if backoff == nil {
		backoff = &driftBackoff{}
		b[id] = backoff
	}
	backoff.repaired(now)
	return backoff.endsIn(now)
}

// settle forgets the drift backoffs of objects that have been without drift for long enough. It returns the time until
// the next backoff can be forgotten; zero when there is none.
func (b driftBackoffs) settle(drifts []v1alpha1.ObjectStatus, now time.Time) (wake time.Duration) {
	if len(b) == 0 {
		return 0
	}
	drifting := make(map[ObjectID]bool)
	for _, o := range drifts {
		drifting[ObjectID{Group: o.Group, Kind: o.Kind, Name: o.Name}] = !deliveries.IsUnfinished(&o)
	}
	for id, c := range b {
		if !drifting[id] {
			c.resolved(now)
		}
		switch left := c.endsIn(now); {
		case left == 0:
			delete(b, id)
		case c.undone.IsZero():
			wake = sooner(wake, left)
		}
	}
	return wake
}

// contested returns the status message about the objects that another client changes back after every repair; "" when
// there are none.
func (b driftBackoffs) contested() string {
	var first ObjectID
	n := 0
	for id, c := range b {
		if !c.isContested() {
			continue
		}
		if n++; n == 1 || id.Compare(first) < 0 {
			first = id
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return b[first].message
	}
	return fmt.Sprintf("%d objects, one of them %s", n, b[first].message)
}

// sooner returns the shorter of two waiting times. A zero means that there is nothing to wait for.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
