// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/federate/cause"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/report"
)

const (
	// logLines is the largest number of lines that a cause shows of a log.
	logLines = 3
	// maxEarlier is the largest number of members for which a cause shows evidence from before an outage.
	maxEarlier = 5
)

// causeEvidence is the evidence from one member that the host has about a cause.
type causeEvidence struct {
	// Cause is the number that the text output shows for the cause. The first cause has number 1.
	Cause int `json:"cause"`
	// Cluster is the member whose evidence it is, and ObservedTime is when the host's manager received it.
	Cluster      string      `json:"cluster"`
	ObservedTime metav1.Time `json:"observedTime,omitempty,omitzero"`
	// OtherMessage is true if Cluster is not a member of the cause, and its message differs from that of the cause. Its object has the same
	// reason, but its log can tell of something else.
	OtherMessage bool `json:"otherMessage,omitempty"`
	// Commands show the whole evidence.
	Commands []string `json:"commands"`
	// FromBefore is true if the manager cannot reach the member now, so the evidence is from before the outage.
	FromBefore bool `json:"fromBefore,omitempty"`
	// Earlier has this evidence for each member of the cause, at most maxEarlier. EarlierOmitted is the number of further members that have some.
	Earlier        []earlier `json:"earlier,omitempty"`
	EarlierOmitted int       `json:"earlierOmitted,omitempty"`
	// Pod and Container name the failing container. Log has the last lines of its log. The three fields are absent if there is no log,
	// or if the message of the cause has these lines.
	Pod       string   `json:"pod,omitempty"`
	Container string   `json:"container,omitempty"`
	Log       []string `json:"log,omitempty"`
	// Events are the newest events about the object of the cause and about what it owns, the newest first.
	Events []v1alpha1.ObservedEvent `json:"events,omitempty"`
	// Consequences are the other objects in trouble on this member that the cause may explain.
	Consequences []consequence `json:"consequences,omitempty"`
	// Faults are the other objects in trouble on members of the cause that the cause does not explain.
	Faults []fault `json:"faults,omitempty"`

	// isOfMember is true if Cluster is a member of the cause.
	isOfMember bool
}

// earlier is what the host's manager received about a member before it lost the connection.
type earlier struct {
	// Cluster is the member. SampleCluster is the member whose evidence it is, if that is another one that failed in the same way.
	Cluster       string      `json:"cluster"`
	SampleCluster string      `json:"sampleCluster,omitempty"`
	ObservedTime  metav1.Time `json:"observedTime,omitempty,omitzero"`
	// Object is the kind and the name of the object in trouble, for example "Deployment web".
	Object string `json:"object"`
	Reason string `json:"reason"`
	// Others are the other objects of the member that were in trouble then, sorted by reason and object.
	Others []consequence `json:"others,omitempty"`
	// Command shows the whole evidence.
	Command string `json:"command"`
}

// readEvidence adds the evidence that the MemberReports have about the causes. If hostctl cannot read the MemberReports, the description
// tells why.
func (d *description) readEvidence(ctx context.Context, host client.Client, o *Options, w v1alpha1.Wrapper) {
	if !slices.ContainsFunc(d.Causes, func(c cause.Cause) bool { return len(c.Members) > 0 }) {
		return
	}
	reports, err := evidence.Reports(ctx, host, w)
	if err != nil {
		d.EvidenceError = err.Error()
		return
	}
	chosen := ""
	if len(o.Clusters) > 0 {
		chosen = " --cluster " + strings.Join(o.Clusters, ",")
	}
	for i := range d.Causes {
		e := o.fromBefore(&d.Causes[i], w, reports)
		if e == nil {
			e = o.present(&d.Causes[i], w, reports, chosen)
		}
		if e != nil {
			e.Cause = i + 1
			d.Evidence = append(d.Evidence, *e)
		}
	}
}

// present returns the evidence about a cause from one of its members; nil if the reports have none. The parameter chosen is the flag
// --cluster for the commands that show more.
func (o *Options) present(c *cause.Cause, w v1alpha1.Wrapper, reports []v1alpha1.MemberReport, chosen string) *causeEvidence {
	e := &causeEvidence{Cluster: c.Sample, Commands: []string{}}
	if r := reportOf(c, w, reports); r != nil {
		e.Cluster, e.ObservedTime, e.Events = r.Status.Cluster, r.Status.ObservedTime, newestEvents(r)
		e.isOfMember = has(c, e.Cluster)
		e.OtherMessage = !e.isOfMember && !hasMessageOf(r, c)
		if len(r.Status.Events) > 0 {
			e.Commands = append(e.Commands, o.Command("events")+chosen)
		}
		if container, log := logOf(r); container != nil {
			e.Commands = append(e.Commands, o.Command("logs")+chosen)
			if lines := endOf(log); !hasAll(c.Message, lines) {
				e.Pod, e.Container, e.Log = container.Pod, container.Name, lines
			}
		}
	}
	e.Consequences = consequencesOf(c, e.Cluster, w, reports)
	e.Faults = o.faultsOf(c, w, reports, chosen)
	if len(e.Commands) == 0 && len(e.Consequences) == 0 && len(e.Faults) == 0 {
		return nil
	}
	return e
}

// fromBefore returns old evidence about a cause with the state Unreachable: the manager received it before it lost the connection.
// fromBefore returns nil for another state, or if no member of the cause has a report.
func (o *Options) fromBefore(c *cause.Cause, w v1alpha1.Wrapper, reports []v1alpha1.MemberReport) *causeEvidence {
	if c.State != v1alpha1.StateUnreachable {
		return nil
	}
	e := &causeEvidence{FromBefore: true}
	for i := range c.Members {
		name := c.Members[i].Name
		r := lastReport(name, w, reports)
		switch {
		case r == nil:
			continue
		case len(e.Earlier) == maxEarlier:
			e.EarlierOmitted++
			continue
		}
		is := earlier{Cluster: name, ObservedTime: r.Status.ObservedTime, Object: evidence.ObjectOf(r), Reason: r.Status.Reason,
			Command: o.Command(verbFor(r)) + " --cluster " + name}
		if r.Status.Cluster != name {
			is.SampleCluster = r.Status.Cluster
		}
		is.Others = othersThan(is.Object, name, w, reports)
		if len(e.Earlier) == 0 {
			e.Cluster, e.ObservedTime = r.Status.Cluster, r.Status.ObservedTime
		}
		e.Earlier, e.Commands = append(e.Earlier, is), append(e.Commands, is.Command)
	}
	if len(e.Earlier) == 0 {
		return nil
	}
	return e
}

// verbFor returns the command of hostctl that shows the evidence of a report: logs for one with containers, and events for any other.
func verbFor(r *v1alpha1.MemberReport) string {
	if len(r.Status.Containers) > 0 {
		return "logs"
	}
	return "events"
}

// lastReport returns a report about a member, if possible one with the evidence of this member; nil if there is none.
func lastReport(name string, w v1alpha1.Wrapper, reports []v1alpha1.MemberReport) (found *v1alpha1.MemberReport) {
	for i := range reports {
		r := &reports[i]
		switch {
		case !evidence.IsAbout(r, w, []string{name}):
		case r.Status.Cluster == name:
			return r
		case found == nil:
			found = r
		}
	}
	return found
}

// reportOf returns the report about a cause: it is about the same object, and about a member of the cause. If there are several,
// reportOf prefers one with the reason of the cause, and of these one with the evidence of a member of the cause. If the cause names no
// object, the report must have this reason. reportOf returns nil if there is no such report.
func reportOf(c *cause.Cause, w v1alpha1.Wrapper, reports []v1alpha1.MemberReport) *v1alpha1.MemberReport {
	if len(c.Members) == 0 {
		return nil
	}
	names := make([]string, len(c.Members))
	for i := range c.Members {
		names[i] = c.Members[i].Name
	}
	var found *v1alpha1.MemberReport
	best := 0
	for i := range reports {
		r := &reports[i]
		isOfReason := r.Status.Reason == c.Reason
		if c.Object != "" && c.Object != evidence.ObjectOf(r) || c.Object == "" && !isOfReason || !evidence.IsAbout(r, w, names) {
			continue
		}
		fit := 1
		if isOfReason {
			fit += 2
		}
		if has(c, r.Status.Cluster) {
			fit++
		}
		if fit > best {
			found, best = r, fit
		}
	}
	return found
}

// has reports whether a member has a cause.
func has(c *cause.Cause, member string) bool {
	return slices.ContainsFunc(c.Members, func(m cause.Member) bool { return m.Name == member })
}

// hasMessageOf reports whether the message of a report is that of a cause, but for what every cluster chooses by itself. A report can have
// members of several causes: its key does not count the words of a log, and the causes do.
func hasMessageOf(r *v1alpha1.MemberReport, c *cause.Cause) bool {
	inLine := evidence.ObjectOf(r)
	if r.Status.Message != "" {
		inLine += ": " + r.Status.Message
	}
	inLine = health.Clean(inLine, report.MaxMessage)
	return cause.Normalize(r.Status.Cluster, inLine) == cause.Normalize(c.Sample, c.Message)
}

// logOf returns the first container of a report that has a log, and this log; nil if there is none.
func logOf(r *v1alpha1.MemberReport) (*v1alpha1.ObservedContainer, string) {
	for i := range r.Status.Containers {
		c := &r.Status.Containers[i]
		if c.Log != "" {
			return c, c.Log
		}
		if c.PreviousLog != "" {
			return c, c.PreviousLog
		}
	}
	return nil, ""
}

// endOf returns the last lines of a log. It leaves out blank lines.
func endOf(log string) []string {
	lines := slices.DeleteFunc(strings.Split(log, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	return lines[max(0, len(lines)-logLines):]
}

// hasAll reports whether a message has each of these lines.
func hasAll(message string, lines []string) bool {
	return !slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(message, health.Clean(line, screen.MaxText)) })
}

// evidenceOf returns the evidence about a cause; nil if there is none.
func (d *description) evidenceOf(c *cause.Cause) *causeEvidence {
	for i := range d.Evidence {
		if &d.Causes[d.Evidence[i].Cause-1] == c {
			return &d.Evidence[i]
		}
	}
	return nil
}

// log writes the last lines of the log of a failing container. The parameter under is the
// member to whose description the lines belong; "" if they belong to a cause.
func (e *causeEvidence) log(p *screen.Page, now time.Time, under string) {
	if e == nil || len(e.Log) == 0 {
		return
	}
	text := "the end of the log of " + e.Cluster + "/" + e.Pod + "/" + e.Container
	switch {
	case e.OtherMessage:
		text = "from " + e.Cluster + ", which fails with another message: " + text
	case under != "" && under != e.Cluster || !e.isOfMember:
		text = "from " + e.Cluster + ", which fails in the same way: " + text
	}
	if !e.ObservedTime.IsZero() {
		text += " (received " + screen.Age(now, e.ObservedTime) + " ago)"
	}
	p.Add("", "   ", 3, text+":")
	for _, line := range e.Log {
		p.AddVerbatim(5, line)
	}
}

// commands writes the commands that show the whole evidence. The parameter under is as for log.
func (e *causeEvidence) commands(p *screen.Page, now time.Time, under string) {
	switch {
	case e == nil || len(e.Commands) == 0:
	case e.FromBefore:
		e.earlier(p, now, under)
	default:
		p.Add(screen.Bold, "   more: ", 3, "`"+strings.Join(e.Commands, "`; `")+"`")
	}
}

// earlier writes what the manager received from members that it cannot reach now. If the parameter under is not "", it writes only what
// this member has.
func (e *causeEvidence) earlier(p *screen.Page, now time.Time, under string) {
	for i := range e.Earlier {
		is := &e.Earlier[i]
		if under != "" && under != is.Cluster {
			continue
		}
		var about []string
		if !is.ObservedTime.IsZero() {
			about = append(about, screen.Age(now, is.ObservedTime)+" ago")
		}
		if is.SampleCluster != "" {
			about = append(about, "from "+is.SampleCluster)
		}
		head := "   last evidence of " + is.Cluster + " before the outage"
		if len(about) > 0 {
			head += " (" + strings.Join(about, ", ") + ")"
		}
		text := inOneLine(p, []consequence{{is.Object, is.Reason}})
		if len(is.Others) > 0 {
			text += "; also in trouble then: " + inOneLine(p, is.Others)
		}
		p.Add(screen.Bold, head+": ", 3, text+"; more: `"+is.Command+"`")
	}
	if under == "" && e.EarlierOmitted > 0 {
		p.Add("", "   ", 3, "last evidence of "+messages.Count(e.EarlierOmitted, "more member")+" before the outage: `hostctl describe` with --cluster shows it")
	}
}
