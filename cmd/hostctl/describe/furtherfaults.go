// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/request"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/federate/cause"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/report"
)

const (
	// maxFaults is the largest number of further faults that the text output of a cause shows in full. It names the others in one line.
	maxFaults = 3
	// maxFaultMembers is the largest number of members that a further fault names on a terminal.
	maxFaultMembers = 3
)

// fault is another object in trouble on members of a cause, which the cause does not explain. The line of a member in the status has only
// the worst object, so without the faults the person on call would find the next one only after the first is mended. A wrapper has at most
// ten MemberReports, so a cause has at most ten faults.
type fault struct {
	// Object is the kind and the name of the object, for example "Deployment web".
	Object string `json:"object"`
	Reason string `json:"reason"`
	// Message is the message of the member that Cluster names. ObservedTime is when the host's manager received it.
	Message      string      `json:"message,omitempty"`
	Cluster      string      `json:"cluster"`
	ObservedTime metav1.Time `json:"observedTime,omitempty,omitzero"`
	// Clusters are the members of the cause that have the fault.
	Clusters []string `json:"clusters"`
	// MayCause is true if the reason is known to lead to the reason of the cause.
	MayCause bool `json:"mayCause,omitempty"`
	// Consequences are the other objects in trouble on the first of these members that the fault may explain and the cause does not.
	Consequences []consequence `json:"consequences,omitempty"`
	// Next is the next step for a person, and Documentation the section that has the reason, as for a cause.
	Next          string `json:"next,omitempty"`
	Documentation string `json:"documentation,omitempty"`
	// Command shows the whole evidence.
	Command string `json:"command"`
}

// faultsOf returns the further faults of the members of a cause. Those that may have led to the cause come first, then those that are no mere
// consequence of something else, then those of more members. The parameter chosen is as for present.
func (o *Options) faultsOf(c *cause.Cause, w v1alpha1.Wrapper, reports []v1alpha1.MemberReport, chosen string) []fault {
	var faults []fault
	for i := range reports {
		r := &reports[i]
		object, reason := evidence.ObjectOf(r), r.Status.Reason
		if object == c.Object || c.Object == "" && (reason == c.Reason || isReplaced(r)) {
			continue // the report is about the cause itself
		}
		var on []string
		for j := range c.Members {
			if name := c.Members[j].Name; evidence.IsAbout(r, w, []string{name}) && !isExplained(r, c, name, w, reports) {
				on = append(on, name)
			}
		}
		if len(on) == 0 {
			continue
		}
		// Members whose messages differ have several reports about one object.
		if same := slices.IndexFunc(faults, func(f fault) bool { return f.Object == object && f.Reason == reason }); same >= 0 {
			faults[same].Clusters = slices.Compact(slices.Sorted(slices.Values(append(faults[same].Clusters, on...))))
			continue
		}
		flags := strings.TrimSpace(chosen + " " + objectFlag(w, &r.Status.Object))
		f := fault{Object: object, Reason: reason, Message: health.Clean(r.Status.Message, report.MaxMessage), Cluster: r.Status.Cluster,
			ObservedTime: r.Status.ObservedTime, Clusters: on, MayCause: explains(reason, c.Reason),
			Command: strings.TrimSpace(o.Command(verbFor(r)) + " " + flags)}
		f.Next, f.Documentation = cause.StepOf(reason, messages.Argument(o.Kind, o.Namespace, o.Name), flags)
		f.Consequences = slices.DeleteFunc(consequencesOf(&cause.Cause{Object: object, Reason: reason}, on[0], w, reports), func(one consequence) bool {
			return one.Object == c.Object || explains(c.Reason, one.Reason)
		})
		faults = append(faults, f)
	}
	slices.SortStableFunc(faults, func(a, b fault) int { // the reports are sorted by object
		return cmp.Or(compareBools(b.MayCause, a.MayCause), compareBools(cause.IsConsequence(a.Reason), cause.IsConsequence(b.Reason)),
			cmp.Compare(len(b.Clusters), len(a.Clusters)))
	})
	return faults
}

// isReplaced reports whether a report has the reason of a Subscription in whose place the line of a member shows a reason of the manager:
// that tells what the manager waits for, and has no object.
func isReplaced(r *v1alpha1.MemberReport) bool {
	switch r.Status.Reason {
	case v1alpha1.ReasonAheadOfTarget, v1alpha1.ReasonCSVMissing, v1alpha1.ReasonInstallPlanPending:
		return r.Status.Object.Kind == "Subscription"
	}
	return false
}

// objectFlag returns the flag --object for an object of the wrapper. It returns "" for an object that the wrapper does not have: the member chose
// its name, and people copy the commands into a shell.
func objectFlag(w v1alpha1.Wrapper, is *v1alpha1.ReportedObject) string {
	for _, kind := range []string{is.Kind, is.Kind + "." + is.Group} { // the second is for a wrapper with two kinds of this name
		text := kind + "/" + is.Name
		if found, err := request.Object(w, text); err == nil && found == *is {
			return "--object " + text
		}
	}
	return ""
}

// isExplained reports whether the cause, or a report about another object of the member, may explain the failure that a report is about.
func isExplained(r *v1alpha1.MemberReport, c *cause.Cause, member string, w v1alpha1.Wrapper, reports []v1alpha1.MemberReport) bool {
	return explains(c.Reason, r.Status.Reason) || slices.ContainsFunc(reports, func(other v1alpha1.MemberReport) bool {
		return evidence.ObjectOf(&other) != evidence.ObjectOf(r) && explains(other.Status.Reason, r.Status.Reason) && evidence.IsAbout(&other, w, []string{member})
	})
}

// explains reports whether an object with the first reason may bring another object of the member into the state with the second one.
func explains(reason, other string) bool {
	return cause.ConcernsOthers(reason) && cause.MayFollow(other, reason)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// faults writes the further faults of a cause: the first of them in full, the others on one line. The parameter under is as for log; if it
// is not "", faults writes only those that this member has.
func (e *causeEvidence) faults(p *screen.Page, now time.Time, under string) {
	if e == nil {
		return
	}
	written := 0
	var more []consequence
	for i := range e.Faults {
		f := &e.Faults[i]
		switch {
		case under != "" && !slices.Contains(f.Clusters, under):
		case written == maxFaults:
			more = append(more, consequence{f.Object, f.Reason})
		default:
			f.write(p, now, under)
			written++
		}
	}
	if len(more) > 0 {
		slices.SortStableFunc(more, func(a, b consequence) int { return strings.Compare(a.Reason, b.Reason) })
		p.Add(screen.Bold, "   also in trouble: ", 3, inOneLine(p, more))
	}
}

func (f *fault) write(p *screen.Page, now time.Time, under string) {
	head, from := "   also", ""
	if under == "" {
		most := len(f.Clusters)
		if p.Width > 0 {
			most = min(most, maxFaultMembers)
		}
		head += " on " + messages.Few(f.Clusters, most)
	}
	if f.MayCause {
		head += ", perhaps the cause"
	}
	text := f.Object + ": " + f.Reason
	if f.Message != "" {
		text += ": " + f.Message
	}
	if under != "" && f.Cluster != under || !slices.Contains(f.Clusters, f.Cluster) {
		from = " from " + f.Cluster
	}
	switch {
	case !f.ObservedTime.IsZero():
		text += " (received " + screen.Age(now, f.ObservedTime) + " ago" + from + ")"
	case from != "":
		text += " (" + strings.TrimSpace(from) + ")"
	}
	p.Add(screen.Bold, head+": ", 3, text)
	if len(f.Consequences) > 0 {
		p.Add("", "     ", 5, "may explain on "+f.Clusters[0]+": "+inOneLine(p, f.Consequences))
	}
	writeNext(p, 5, f.Next, f.Documentation)
	p.Add(screen.Bold, "     more: ", 5, "`"+f.Command+"`")
}
