// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/federate/cause"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// text returns the description for a person. If allMembers is true, it names the healthy members.
func (d *description) text(now time.Time, to screen.Screen, allMembers bool) string {
	p := &screen.Page{Screen: to}
	d.header(p, now)
	for _, n := range d.Notes {
		mark, color := "• ", ""
		if n.NeedsPerson {
			mark, color = "✗ ", screen.Red
		}
		p.Add(color, mark, 2, n.Message)
	}
	if d.Clusters != nil {
		d.members(p, now)
	} else {
		d.causes(p, now)
		d.healthy(p, allMembers)
	}
	if d.EvidenceError != "" {
		p.WriteString("\n")
		p.Add("", "evidence: ", 3, d.EvidenceError)
	}
	d.events(p, now)
	return p.String()
}

// header writes the title and the state, and below them the revision and the counts.
func (d *description) header(p *screen.Page, now time.Time) {
	summary := d.Summary
	if !d.Since.IsZero() {
		summary += ", for " + screen.Age(now, d.Since)
	}
	color := screen.Yellow
	switch {
	case d.NeedsPerson:
		color = screen.Red
	case len(d.Causes) == 0:
		color = screen.Green
	}
	gap := p.Width - utf8.RuneCountInString(d.Wrapper) - utf8.RuneCountInString(summary)
	if gap < 2 {
		gap = 2 // the width of a pipe is 0, so a pipe gets this gap too
	}
	if p.Width > 0 && utf8.RuneCountInString(d.Wrapper)+gap+utf8.RuneCountInString(summary) > p.Width {
		p.Add(screen.Bold, d.Wrapper, 0, "")
		p.Add(color, summary, 0, "")
	} else {
		fmt.Fprintf(p, "%s%s%s\n", p.Paint(screen.Bold, d.Wrapper), strings.Repeat(" ", gap), p.Paint(color, summary))
	}
	if d.Revision == "" && d.Counts.Placed == nil {
		return
	}
	facts := []string{}
	if d.Revision != "" {
		facts = append(facts, "revision "+d.Revision)
	}
	facts = append(facts, fmt.Sprintf("placed on %d", ptr.Deref(d.Counts.Placed, 0)))
	for _, c := range []struct {
		count *int32
		word  string
	}{{d.Counts.Healthy, "healthy"}, {d.Counts.Stalled, "stalled"}, {d.Counts.Degraded, "degraded"}, {d.Counts.Held, "held"},
		{d.Counts.Unreachable, "unreachable"}, {d.Counts.Progressing, "progressing"}} {
		if ptr.Deref(c.count, 0) > 0 {
			facts = append(facts, fmt.Sprintf("%d %s", *c.count, c.word))
		}
	}
	p.Add("", "", 0, strings.Join(facts, " · "))
}

// causes writes each cause with its members, the evidence and the next step.
func (d *description) causes(p *screen.Page, now time.Time) {
	for i := range d.Causes {
		c := &d.Causes[i]
		p.WriteString("\n")
		heading(p, i+1, c)
		if c.MayFollowFrom != "" {
			p.Add("", "   ", 3, "perhaps caused by "+numberOf(d.Causes, c.MayFollowFrom))
		}
		evidence := c.Message
		if len(c.Members) > 0 {
			evidence += " (" + c.Sample + screen.Since(now, c.Members[slices.IndexFunc(c.Members, func(m cause.Member) bool { return m.Name == c.Sample })].Since) + ")"
		}
		p.Add("", "   ", 3, evidence)
		found := d.evidenceOf(c)
		found.consequences(p)
		found.events(p, now)
		found.log(p, now, "")
		writeNext(p, 3, c.Next, c.Documentation)
		found.commands(p, now, "")
		found.faults(p, now, "")
	}
}

// heading writes the first line of a cause. On a terminal it names as many members as the line has room for.
func heading(p *screen.Page, number int, c *cause.Cause) {
	head := fmt.Sprintf("%d. %s", number, nameOf(c))
	color := screen.Yellow
	if c.NeedsPerson {
		color = screen.Red
	}
	if len(c.Members) == 0 {
		p.Add(color, head, 3, "")
		return
	}
	names := make([]string, len(c.Members))
	for i := range c.Members {
		names[i] = c.Members[i].Name
	}
	tail := fmt.Sprintf(" on %s: ", messages.Count(len(names), "member"))
	if string(c.State) != nameOf(c) {
		tail = fmt.Sprintf(" on %s, %s: ", messages.Count(len(names), "member"), c.State)
	}
	list := strings.Join(names, ", ")
	if p.Width > 0 {
		list = fit(names, p.Width-utf8.RuneCountInString(head+tail))
	}
	p.WriteString(p.Paint(color, head) + tail + list + "\n")
}

// fit joins the first names, at least one, so that the text has no more characters than width. It adds the number of the other names.
func fit(names []string, width int) string {
	for most := len(names); most > 1; most-- {
		if text := messages.Few(names, most); utf8.RuneCountInString(text) <= width {
			return text
		}
	}
	return messages.Few(names, 1)
}

// members writes the line of each member that --cluster names.
func (d *description) members(p *screen.Page, now time.Time) {
	for i := range d.Clusters {
		l := &d.Clusters[i]
		color := screen.Yellow
		c := causeOf(d.Causes, l.Name)
		switch {
		case c == nil:
			color = screen.Green
		case c.NeedsPerson:
			color = screen.Red
		}
		words := string(l.State)
		if l.Reason != "" && l.Reason != words {
			words += ", " + l.Reason
		}
		p.WriteString("\n")
		p.Add(color, l.Name+": ", 3, words+screen.Since(now, l.LastTransitionTime))
		if l.Revision != "" {
			version := ""
			if l.Version != "" {
				version = " · version " + l.Version
			}
			p.Add("", "   ", 3, "revision "+l.Revision+version)
		}
		if l.Message != "" {
			p.Add("", "   ", 3, l.Message)
		}
		if c != nil {
			found := d.evidenceOf(c)
			found.consequences(p)
			found.events(p, now)
			found.log(p, now, l.Name)
			writeNext(p, 3, c.Next, c.Documentation)
			found.commands(p, now, l.Name)
			found.faults(p, now, l.Name)
		}
	}
}

// writeNext writes a next step, after as many spaces as the parameter indent says. The parameter where is the section of the documentation;
// "" if there is none.
func writeNext(p *screen.Page, indent int, next, where string) {
	if next == "" {
		return
	}
	if where != "" {
		next += " (" + where + ")"
	}
	p.Add(screen.Bold, strings.Repeat(" ", indent)+"next: ", indent, next)
}

// healthy writes how many members are healthy, and how many of them have which reason. If all is true, it also writes their names.
func (d *description) healthy(p *screen.Page, all bool) {
	count := len(d.Healthy) + int(d.HealthyOmitted)
	if count == 0 {
		return
	}
	text, byReason := messages.Count(count, "member"), map[string]int{}
	names := []string{}
	for _, m := range d.Healthy {
		byReason[m.Reason]++
		names = append(names, m.Name)
	}
	delete(byReason, "")
	reasons := []string{}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		reasons = append(reasons, fmt.Sprintf("%d %s", byReason[reason], reason))
	}
	if len(reasons) > 0 {
		text += " (" + strings.Join(reasons, ", ") + ")"
	}
	if all {
		text += ": " + messages.Few(names, len(names))
		if d.HealthyOmitted > 0 {
			text += fmt.Sprintf(" and %d without a line", d.HealthyOmitted)
		}
	}
	p.WriteString("\n")
	p.Add(screen.Green, "healthy: ", 3, text)
}

func (d *description) events(p *screen.Page, now time.Time) {
	p.WriteString("\n")
	switch {
	case d.EventsError != "":
		p.Add("", "events: ", 3, d.EventsError)
		return
	case len(d.Events) == 0:
		p.Add("", "events: ", 3, "none")
		return
	case d.EventsFound > len(d.Events):
		p.Add("", "events: ", 3, fmt.Sprintf("the newest %d of %d", len(d.Events), d.EventsFound))
	default:
		p.Add("", "events:", 3, "")
	}
	for i := range d.Events {
		e := &d.Events[i]
		addEvent(p, now, 2, e.Seen, e.Reason, e.Count, e.Message)
	}
}

// causeOf returns the cause of a member; nil if it has none.
func causeOf(causes []cause.Cause, name string) *cause.Cause {
	for i := range causes {
		if has(&causes[i], name) {
			return &causes[i]
		}
	}
	return nil
}

// numberOf returns the number and the reason of the first cause with this reason.
func numberOf(causes []cause.Cause, reason string) string {
	i := slices.IndexFunc(causes, func(c cause.Cause) bool { return c.Reason == reason })
	return fmt.Sprintf("%[2]s (see %[1]d): the status has only the most urgent reason of each member", i+1, reason)
}

// nameOf returns the reason of a cause, or its state if it has no reason.
func nameOf(c *cause.Cause) string {
	if c.Reason == "" {
		return string(c.State)
	}
	return c.Reason
}
