// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

const (
	// maxRepairs is the number of repairs of one object within repairWindow after which the manager pauses between repairs.
	maxRepairs = 5
	// repairWindow is the time over which the manager counts the repairs of one object.
	repairWindow = 10 * time.Minute
	// firstApart is the first pause between two repairs of a contested object. Each repair doubles the pause.
	firstApart = time.Minute
	// longestApart bounds the pause between two repairs of a contested object.
	longestApart = 30 * time.Minute
)

// driftBackoff is the history of one object that drifts: the times of its last repairs, and whether it is contested. An
// object is contested if another client undoes every repair. The zero value is an object that was never repaired.
//
// Why there are pauses: a repair that another client undoes at once only puts load on the member, and the object keeps
// changing between two states. Why the repairs never end: the other client may have been a person who changed the
// object by hand several times. The wrapper's status names the other client.
type driftBackoff struct {
	// repairs are the times of the last repairs, at most maxRepairs of them.
	repairs []time.Time
	// since is the time at which the drift of the object last ended: the manager repaired the object, or the drift
	// disappeared without a repair.
	since time.Time
	// undone is the time at which the object drifted again after the time in the field since; zero while the object does
	// not drift.
	undone time.Time
	// apart is the pause between repairs; zero while the object is not contested.
	apart time.Duration
	// message is the status message about the other client and what it changes. It describes the last drift.
	message string
}

// drifted records that the object has drifted. It returns the time until the manager may repair the object; zero if the
// manager may repair it now.
func (c *driftBackoff) drifted(o *v1alpha1.ObjectStatus, now time.Time) time.Duration {
	if c.undone.IsZero() {
		if c.endsIn(now) == 0 {
			*c = driftBackoff{}
		}
		c.undone, c.message = now, contestedMessage(o)
	}
	if c.apart == 0 {
		if len(c.repairs) < maxRepairs || now.Sub(c.repairs[0]) >= repairWindow {
			return 0
		}
		c.apart = firstApart
	}
	return max(0, c.since.Add(c.apart).Sub(now))
}

// repaired records a repair of the object.
func (c *driftBackoff) repaired(now time.Time) {
	c.repairs = append(c.repairs, now)
	c.repairs = c.repairs[max(0, len(c.repairs)-maxRepairs):]
	c.since, c.undone = now, time.Time{}
	c.apart = min(2*c.apart, longestApart)
}

// resolved records that the object does not drift any more although the manager did not repair it.
func (c *driftBackoff) resolved(now time.Time) {
	if !c.undone.IsZero() {
		c.since, c.undone = now, time.Time{}
	}
}

// isContested reports whether another client changes the object back after every repair.
func (c *driftBackoff) isContested() bool { return c.apart > 0 }

// endsIn returns the time until the history of the object may be forgotten. Before that, the object must be without
// drift for repairWindow, or for the pause between repairs if that is longer. While the object drifts, endsIn returns
// that whole time.
func (c *driftBackoff) endsIn(now time.Time) time.Duration {
	quiet := max(repairWindow, c.apart)
	if !c.undone.IsZero() {
		return quiet
	}
	return max(0, c.since.Add(quiet).Sub(now))
}

// contestedMessage returns the status message about an object that another client changes back after every repair, and
// the remedies. It shortens names from the member: long names would push the remedies past the limit of a status line.
func contestedMessage(o *v1alpha1.ObjectStatus) string {
	object, who := o.Kind+" "+health.Clean(o.Name, 40), health.Clean(o.Drift.Manager, 40)
	switch who {
	case "":
		who = "an unknown client"
	case v1alpha1.FieldManager:
		who = "another client with Fairlead's field manager"
	}
	const remedies = "stop that client, remove this from the wrapper, or set drift: Report; the manager repairs it less and less often"
	switch o.Drift.Kind {
	case v1alpha1.DriftGone:
		return fmt.Sprintf("%s is deleted after every repair: %s", object, remedies)
	case v1alpha1.DriftReplaced:
		return fmt.Sprintf("%s is replaced by %s after every repair: %s", object, who, remedies)
	}
	what := " it"
	if fields := o.Drift.Fields; len(fields) > 0 {
		what = " " + health.Clean(fields[0], 48)
		if len(fields) > 1 {
			what += fmt.Sprintf(" and %d more", len(fields)-1)
		}
	}
	return fmt.Sprintf("%s: %s changes%s after every repair: %s", object, who, what, remedies)
}
