// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/federate/cause"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// printLogs writes the lines of the logs to standard output. To standard error it writes the heading of each report, and why a log is
// missing.
func (o *Options) printLogs(w v1alpha1.Wrapper, reports []v1alpha1.MemberReport) error {
	for i := range reports {
		r := &reports[i]
		o.tellHeading(w, r)
		for j := range r.Status.Containers {
			c := &r.Status.Containers[j]
			where := placeOf(r, c)
			log, missing := c.Log, "it has no log"
			if o.Previous {
				log, missing = c.PreviousLog, "it has no log of an earlier run; the log without --previous has the last run"
			}
			if log == "" {
				o.tell("%s: %s: %s", where, stateOf(c), missing)
				continue
			}
			if err := o.write(where, lastLines(log, o.Tail)); err != nil {
				return err
			}
		}
	}
	return nil
}

// placeOf returns MEMBER/POD/CONTAINER. Each printed line of a log begins with this text.
func placeOf(r *v1alpha1.MemberReport, c *v1alpha1.ObservedContainer) string {
	return r.Status.Cluster + "/" + c.Pod + "/" + c.Name
}

// write writes lines of a log to standard output.
func (o *Options) write(where string, lines []string) error {
	var text strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&text, "[%s] %s\n", where, line)
	}
	_, err := io.WriteString(o.Out, text.String())
	return err
}

// tell writes a line to standard error.
func (o *Options) tell(format string, args ...any) {
	screen.Tell(o.ErrOut, "", "", fmt.Sprintf(format, args...))
}

// tellHeading writes the line about a report to standard error: the member that sent the evidence, the other members that show the same
// failure, the object, the reason and the age.
func (o *Options) tellHeading(w v1alpha1.Wrapper, r *v1alpha1.MemberReport) {
	s := &r.Status
	isAsked := r.Spec.Request != ""
	text := fmt.Sprintf("%s: %s", sameAs(r), evidence.ObjectOf(r))
	if s.Reason != "" && !isAsked {
		text += ": " + s.Reason
	}
	if !s.ObservedTime.IsZero() {
		text += fmt.Sprintf(", received %s ago", screen.Age(o.Now(), s.ObservedTime))
	}
	switch {
	case isAsked && s.Message != "":
		text += "; " + s.Message
	case isAsked && len(s.Containers) == 0:
		text += "; it has no container"
	case len(s.Containers) == 0:
		text += "; it has no failing container"
	}
	for _, l := range evidence.UnreachableIn(r, w, o.Clusters) {
		text += fmt.Sprintf("; %s is Unreachable%s", l.Name, o.since(l))
		if l.Name == s.Cluster {
			text += ", so this is what the manager received before"
		}
	}
	first, rest, _ := strings.Cut(s.Cluster+text, " ")
	screen.Tell(o.ErrOut, screen.Bold, first+" ", rest)
}

// sameAs returns the words about the other members of a report; "" if there are none.
func sameAs(r *v1alpha1.MemberReport) string {
	names, more := evidence.Others(r)
	shown := min(len(names), evidence.MaxNames)
	others := strings.Join(names[:shown], ", ")
	if over := len(names) + more - shown; over > 0 {
		others += fmt.Sprintf(" and %d more", over)
	}
	verb := "show"
	if len(names)+more == 1 {
		verb = "shows"
	}
	switch {
	case !evidence.IsCurrent(r) && others == "":
		return " (has recovered)"
	case !evidence.IsCurrent(r):
		return fmt.Sprintf(" (has recovered; %s still %s it)", others, verb)
	case others == "":
		return ""
	}
	return fmt.Sprintf(" (and %s %s the same)", others, verb)
}

// stateOf returns the state of a container in words.
func stateOf(c *v1alpha1.ObservedContainer) string {
	text := c.State
	if c.Reason != "" {
		text += ", " + c.Reason
	}
	if c.Restarts > 0 {
		text += fmt.Sprintf(", started again %d times", c.Restarts)
	}
	return text
}

// noReport returns the line about a member that --cluster names and that no report is about.
func (o *Options) noReport(w v1alpha1.Wrapper, name string) string {
	l := evidence.LineOf(w, name)
	switch {
	case l == nil:
		return name + ": no report about a failing object; the status of the wrapper has no line of this member"
	case l.Reason != "" && l.Reason != string(l.State):
		return fmt.Sprintf("%s: no report about a failing object; it is %s, %s%s", name, l.State, l.Reason, o.since(l))
	}
	return fmt.Sprintf("%s: no report about a failing object; it is %s%s", name, l.State, o.since(l))
}

// whyNone returns why there is no log: the wrapper is well, or its members are unreachable, or what is wrong is no failing container.
func (o *Options) whyNone(w v1alpha1.Wrapper) string {
	status := w.WrapperStatus()
	if len(o.Clusters) > 0 {
		status.Clusters = slices.DeleteFunc(status.Clusters, func(l v1alpha1.ClusterStatus) bool { return !slices.Contains(o.Clusters, l.Name) })
	}
	title, look := render.TitleOf(w), fmt.Sprintf("`%s` shows the causes, and `%s` the events", o.Command("describe"), o.Command("events"))
	var reasons []string
	unreached := 0
	causes := cause.Of(w)
	for i := range causes {
		c := &causes[i]
		if c.State == v1alpha1.StateUnreachable {
			unreached += len(c.Members)
		}
		name := c.Reason
		if name == "" {
			name = string(c.State)
		}
		if len(c.Members) > 0 {
			name += " on " + messages.Count(len(c.Members), "member")
		}
		reasons = append(reasons, name)
	}
	switch {
	case status.ObservedGeneration == 0:
		return title + " has no logs: the host's manager has not acted on this wrapper yet"
	case len(causes) == 0 && len(o.Clusters) == 0 && status.ClustersOmitted > 0:
		return fmt.Sprintf("%s has no logs: no member with a line in the status fails; %s", title, look)
	case len(causes) == 0:
		return fmt.Sprintf("%s has no logs: it is well%s. A member sends logs only of containers that fail; to ask for other logs, give --object KIND/NAME", title, where(o.Clusters))
	case unreached > 0:
		return fmt.Sprintf("%s has no logs%s: %s. The manager has received no log of a failing container, and receives none from a member that it cannot reach; %s",
			title, where(o.Clusters), messages.Few(reasons, evidence.MaxNames), look)
	}
	return fmt.Sprintf("%s has no logs%s: %s. The members have sent no log of a failing container; %s", title, where(o.Clusters), messages.Few(reasons, evidence.MaxNames), look)
}

func where(clusters []string) string {
	if len(clusters) == 0 {
		return ""
	}
	return " on " + messages.Few(clusters, evidence.MaxNames)
}

func (o *Options) since(l *v1alpha1.ClusterStatus) string {
	return screen.Since(o.Now(), l.LastTransitionTime)
}
