// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/federate/cause"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// maxConsequences is the largest number of objects with one reason that a cause names on a terminal.
const maxConsequences = 3

// consequence is an object in trouble that a cause may explain. The line of a member in the status has only the cause.
type consequence struct {
	// Object is the kind and the name of the object, for example "Deployment web".
	Object string `json:"object"`
	Reason string `json:"reason"`
}

// consequencesOf returns the other objects in trouble on a member whose reason the cause is known to lead to, sorted by reason and object.
func consequencesOf(c *cause.Cause, member string, w v1alpha1.Wrapper, reports []v1alpha1.MemberReport) []consequence {
	if member == "" || !cause.ConcernsOthers(c.Reason) { // without a member, the cause concerns the wrapper
		return nil
	}
	return slices.DeleteFunc(othersThan(c.Object, member, w, reports), func(one consequence) bool { return !cause.MayFollow(one.Reason, c.Reason) })
}

// othersThan returns the objects other than the given one that reports about a member have, sorted by reason and object.
func othersThan(object, member string, w v1alpha1.Wrapper, reports []v1alpha1.MemberReport) []consequence {
	var found []consequence
	for i := range reports {
		r := &reports[i]
		one := consequence{evidence.ObjectOf(r), r.Status.Reason}
		if one.Object != object && evidence.IsAbout(r, w, []string{member}) && !slices.Contains(found, one) {
			found = append(found, one)
		}
	}
	slices.SortStableFunc(found, func(a, b consequence) int { return strings.Compare(a.Reason, b.Reason) }) // the reports are sorted by object
	return found
}

// consequences writes the consequences of a cause on one line, which has each reason once.
func (e *causeEvidence) consequences(p *screen.Page) {
	if e == nil || len(e.Consequences) == 0 {
		return
	}
	p.Add("", "   ", 3, "may explain on "+e.Cluster+": "+inOneLine(p, e.Consequences))
}

// inOneLine returns a text with each reason once, and the objects that have it. The objects are sorted by reason.
func inOneLine(p *screen.Page, objects []consequence) string {
	var reasons []string
	for rest := objects; len(rest) > 0; {
		var names []string
		reason := rest[0].Reason
		for len(rest) > 0 && rest[0].Reason == reason {
			names, rest = append(names, rest[0].Object), rest[1:]
		}
		most := len(names)
		if p.Width > 0 {
			most = min(most, maxConsequences)
		}
		reasons = append(reasons, reason+" ("+messages.Few(names, most)+")")
	}
	return strings.Join(reasons, "; ")
}
