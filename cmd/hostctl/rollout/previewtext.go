// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fairlead-dev/fairlead/federate/messages"
)

// maxNames is how many names of clusters the text lists. -o json has all of them.
const maxNames = 20

// text is the preview for a person.
func (p *preview) text() string {
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
		b.WriteString("without waves: all clusters change at once\n")
	case p.MaxUnavailable > 0:
		fmt.Fprintf(&b, "at most %d of %s not Healthy when another one begins to change; on failure: %s\n", p.MaxUnavailable, clusters(p.Placed), p.OnFailure)
	default:
		fmt.Fprintf(&b, "on failure: %s\n", p.OnFailure)
	}
	for i := range p.Waves {
		p.Waves[i].write(&b, p.Paced)
	}
	if len(p.Leaving) > 0 {
		fmt.Fprintf(&b, "\nleaves %s: removals wait for no wave\n", messages.Few(p.Leaving, maxNames))
	}
	if len(p.Withheld) > 0 {
		fmt.Fprintf(&b, "\nleaves later, because of spec.rollout.maxRemoval: %s\n", messages.Few(p.Withheld, maxNames))
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

// head says how the clusters of a wave change.
func (w *wavePreview) head() string {
	if w.Clusters == 0 {
		return "no cluster, so it is passed"
	}
	words := clusters(w.Clusters)
	if w.MaxConcurrent < w.Clusters && w.changesAny() {
		words += fmt.Sprintf(", %d at a time", w.MaxConcurrent)
	}
	switch {
	case w.Stage == wavePassed && w.changesAny():
		return words + "; has passed, so its clusters change at once"
	case w.Stage == wavePassed:
		return words + "; has passed"
	case !w.changesAny():
		return words + "; nothing changes, so it is passed"
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
		return "may change, because the host cannot tell what is there now: " + c.Reason
	case changeRefused:
		return "nothing can be rendered, so what is there stays: " + c.Reason
	}
	return "not changed"
}

func (c *objectChange) write(b *strings.Builder) {
	fmt.Fprintf(b, "    %-7s %s", c.Change, c.Object)
	switch {
	case c.Stays != "":
		fmt.Fprintf(b, " (stays on the cluster: %s)", c.Stays)
	case c.Hidden:
		fmt.Fprintf(b, ": %s (holds a Secret, so no value is shown)", strings.Join(c.Fields, ", "))
	}
	b.WriteString("\n")
	for line := range strings.Lines(c.Diff) {
		b.WriteString("      " + line)
	}
}

func clusters(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}
