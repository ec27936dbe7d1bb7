// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fairlead-dev/fairlead/federate/messages"
)

// maxNames is the largest number of members that one list in the text names. The output of -o json names all of them.
const maxNames = 20

// Text returns the preview as a text for people.
func (p *Preview) Text() string {
	var b strings.Builder
	b.WriteString(p.Wrapper)
	if p.File != "" {
		fmt.Fprintf(&b, " in %s", p.File)
	}
	if p.New {
		b.WriteString(", which is not on the host yet")
	}
	fmt.Fprintf(&b, "\nplacement: %s\n", p.Placement)
	for _, note := range p.Notes {
		b.WriteString(note + "\n")
	}
	switch {
	case !p.Paced:
		b.WriteString("without waves: all clusters change at the same time\n")
	case p.MaxUnavailable > 0:
		fmt.Fprintf(&b, "another cluster begins to change only while fewer than %d of %s are not Healthy; on failure: %s\n", p.MaxUnavailable, messages.Count(p.Placed, "cluster"), p.OnFailure)
	default:
		fmt.Fprintf(&b, "on failure: %s\n", p.OnFailure)
	}
	for i := range p.Waves {
		p.Waves[i].write(&b, p.Paced)
	}
	if len(p.Leaving) > 0 {
		fmt.Fprintf(&b, "\nthe wrapper leaves %s: removals do not wait for a wave\n", messages.Few(p.Leaving, maxNames))
	}
	if len(p.Withheld) > 0 {
		fmt.Fprintf(&b, "\nthe wrapper leaves %s later, because of spec.rollout.maxRemoval\n", messages.Few(p.Withheld, maxNames))
	}
	return b.String()
}

func (w *wavePreview) write(b *strings.Builder, paced bool) {
	switch {
	case !paced && w.Clusters == 0:
		return
	case !paced:
		b.WriteString("\n")
	default:
		fmt.Fprintf(b, "\nwave %s: %s\n", w.Name, w.head())
	}
	for i := range w.Changes {
		w.Changes[i].write(b)
	}
}

// head returns what follows the wave's name: how many members the wave has, and how they change.
func (w *wavePreview) head() string {
	if w.Clusters == 0 {
		return "no cluster, so the rollout passes this wave"
	}
	words := messages.Count(w.Clusters, "cluster")
	if w.MaxConcurrent < w.Clusters && w.changesAny() {
		words += fmt.Sprintf(", %d at a time", w.MaxConcurrent)
	}
	switch {
	case w.Stage == wavePassed && w.changesAny():
		return words + "; has passed already, so its clusters change immediately"
	case w.Stage == wavePassed:
		return words + "; has passed"
	case !w.changesAny():
		return words + "; nothing changes, so the rollout passes this wave"
	case w.Stage == waveBegun:
		words += "; has begun"
	case w.Approve != "":
		words += fmt.Sprintf("; begins after `%s`", w.Approve)
	}
	if w.MaxFailures > 0 {
		words += fmt.Sprintf("; %d may fail", w.MaxFailures)
	}
	if w.SoakSeconds > 0 {
		words += "; soaks for " + duration.HumanDuration(time.Duration(w.SoakSeconds)*time.Second)
	}
	return words
}

func (c *change) write(b *strings.Builder) {
	fmt.Fprintf(b, "  %s: %s\n", messages.Few(c.Clusters, maxNames), c.words())
	if c.Reinstall != "" {
		fmt.Fprintf(b, "    reinstalled: %s\n", c.Reinstall)
	}
	for i := range c.Objects {
		c.Objects[i].write(b)
	}
}

func (c *change) words() string {
	switch c.Change {
	case changeNew:
		return "new, gets"
	case changeUpdate:
		return "changes from " + c.Revision
	case changeUnknown:
		return "may change, because hostctl cannot tell what the cluster has now: " + c.Reason
	case changeRefused:
		return "hostctl cannot render the wrapper, so the cluster keeps what it has: " + c.Reason
	}
	return "not changed"
}

func (c *objectChange) write(b *strings.Builder) {
	fmt.Fprintf(b, "    %-7s %s", c.Change, c.Object)
	switch {
	case c.Stays != "":
		fmt.Fprintf(b, " (stays on the cluster: %s)", c.Stays)
	case c.Hidden:
		fmt.Fprintf(b, ": %s (contains a Secret, so hostctl shows no value)", strings.Join(c.Fields, ", "))
	}
	b.WriteString("\n")
	for line := range strings.Lines(c.Diff) {
		b.WriteString("      " + line)
	}
}
