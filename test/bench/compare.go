// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// comparison is one line of the table that compares Fairlead with a peer.
type comparison struct {
	work, what, unit string
	of               func(*reading) float64
}

var (
	everyCPU     = func(r *reading) float64 { return r.HostCPUSeconds + r.MemberCPUSeconds }
	serverCPU    = func(r *reading) float64 { return r.APIServerCPUSeconds }
	hostRequests = func(r *reading) float64 { return float64(r.HostRequests) }
	mostRequests = func(r *reading) float64 { return most(r.MemberRequests) }
)

var comparisons = []comparison{
	{"W1", "deliver objects to 3 members: CPU of the federation, including collectors", "s", everyCPU},
	{"W1", "until the last object is there", "s", seconds},
	{"W1", "CPU of all API servers and etcds", "s", serverCPU},
	{"W1", "requests to the host", "", hostRequests},
	{"W1", "requests to each member", "", mostRequests},
	{"W1", "peak RSS of the federation, including collectors", "MiB", rss},
	{"W3", "change one field of all: CPU of the federation, including collectors", "s", everyCPU},
	{"W3", "until the last object is there", "s", seconds},
	{"W3", "CPU of all API servers and etcds", "s", serverCPU},
	{"W3", "requests to the host", "", hostRequests},
	{"W3", "requests to each member", "", mostRequests},
	{"W4", "100 objects deleted: the slowest is back after", "s", seconds},
	{"W4", "CPU of the federation, including collectors", "s", everyCPU},
	{"W5", "manager killed: a new object is on every member after", "s", seconds},
	{"W5", "manager ended and started: CPU", "s", everyCPU},
	{"W5", "requests to the host", "", hostRequests},
	{"W5", "requests to each member", "", mostRequests},
}

// besides has the content of the table that compares Fairlead with a peer.
type besides struct {
	ours, theirs map[string]*reading
	peer         string // its name and version
	objects      int
	lacking      []string // names of the works that the peer cannot do
}

// print prints the figures of the peer and of Fairlead with their ratio, for each work that both did. Then it names the works that the peer
// cannot do.
func (t besides) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "WORK\tWHAT\t%s\tFAIRLEAD\tRATIO\t\n", strings.ToUpper(t.peer)) // Flush returns the error
	for _, c := range comparisons {
		ours, theirs := t.ours[c.work], t.theirs[c.work]
		if ours == nil || theirs == nil {
			continue
		}
		a, b := c.of(theirs), c.of(ours)
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", c.work, c.what, figure(a, c.unit), figure(b, c.unit), ratio(b, a))
	}
	for _, name := range t.lacking {
		_, _ = fmt.Fprintf(w, "%s\tno counterpart in %s\t–\t\t–\t\n", name, t.peer)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nThe ratio is Fairlead's figure divided by that of %s. Both columns are of this run, on this machine, one after the other.\n"+
		"Do not compare them with figures of another machine or day.\n%s", t.peer, notComparable(t.objects))
	return err
}

// ratio returns ours divided by theirs, or a dash if theirs is 0.
func ratio(ours, theirs float64) string {
	if theirs == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", ours/theirs)
}

// notComparable returns a warning if the run had fewer objects than a whole run, or "".
func notComparable(objects int) string {
	if objects == wholeObjects {
		return ""
	}
	return fmt.Sprintf("This is a trial with %d objects instead of %d: do not compare its figures and ratios with those of a whole run.\n", objects, wholeObjects)
}

// lackingIn returns the works that Fairlead did and a peer cannot do, in the order of the variable works; idleWork is the last.
func lackingIn(readings map[string]*reading) []string {
	var names []string
	for _, w := range works {
		if readings[w.name] != nil && !w.besidePeer {
			names = append(names, w.name)
		}
	}
	if readings[idleWork] != nil {
		names = append(names, idleWork)
	}
	return names
}
