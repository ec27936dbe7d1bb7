// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

const (
	// maxRepairs is how many repairs of one object the manager makes without delay within repairWindow.
	maxRepairs   = 5
	repairWindow = 10 * time.Minute
	// firstApart is the first pause between contested repairs. It doubles after each repair, up to longestApart.
	firstApart   = time.Minute
	longestApart = 30 * time.Minute
)

// driftBackoff is the history of one object that drifts: how often the manager repaired it recently, and whether it
// is contested. It is pure; the zero value is an object that was never repaired.
//
// Why it is so: a repair that another client undoes at once only puts load on the member, and the object changes between
// two states. Repairs do not stop, since the other client may have been a person with kubectl. They only become rare, and the
// wrapper's status names the other client.
type driftBackoff struct {
	// repairs are the times of the last repairs, at most maxRepairs of them.
	repairs []time.Time
	// since is when the drift last ended: by a repair, or because it disappeared without one.
	since time.Time
	// undone is when the drift was first seen after since; zero while the object does not drift.
	undone time.Time
	// apart is the pause between repairs; zero while the object is not contested.
	apart time.Duration
	// message is the text about the other client and its change, as of the last drift.
	message string
}

// drifted records that the object has drifted, and returns how long its repair has to wait; zero means that it is due
// now.
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

// resolved records that the object no longer drifts although the manager did not repair it.
func (c *driftBackoff) resolved(now time.Time) {
	if !c.undone.IsZero() {
		c.since, c.undone = now, time.Time{}
	}
}

// isContested reports whether another client changes the object back after every repair.
func (c *driftBackoff) isContested() bool { return c.apart > 0 }

// endsIn is how long the object has to stay unchanged until its history is forgotten. While the object drifts, that
// is the whole time again.
func (c *driftBackoff) endsIn(now time.Time) time.Duration {
	quiet := max(repairWindow, c.apart)
	if !c.undone.IsZero() {
		return quiet
	}
	return max(0, c.since.Add(quiet).Sub(now))
}

// contestedMessage is the status message about an object that another client changes after every repair, with the remedies.
// Names from the member are cut short. Otherwise they would push the remedies off the end of a line.
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
