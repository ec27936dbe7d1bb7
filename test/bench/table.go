// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/prometheus/procfs"
)

// goal is one line of the table: a figure of a work, and the limit for it.
type goal struct {
	work, what string
	// most is the highest value that meets the goal. A negative value means that the figure has no goal.
	most float64
	unit string
	of   func(*reading) float64
	// counts is true if the figure grows with the number of objects. A trial has fewer objects, so it would meet the
	// goal too easily. So the table of a trial does not compare the figure with the goal.
	counts bool
}

// wholeObjects is the number of objects in a run that is no trial. The goals hold for this number.
const wholeObjects = 1000

const mebibyte, kibibyte = 1 << 20, 1 << 10

func more(key string, by float64) func(*reading) float64 {
	return func(r *reading) float64 { return r.More[key] / by }
}

func most(of map[string]int) float64 {
	if len(of) == 0 {
		return 0
	}
	return float64(slices.Max(slices.Collect(maps.Values(of))))
}

var (
	cpu     = func(r *reading) float64 { return r.HostCPUSeconds }
	seconds = func(r *reading) float64 { return r.Seconds }
	rss     = func(r *reading) float64 { return float64(r.RSSPeakBytes) / mebibyte }
)

var goals = []goal{
	{work: "W1", what: "deliver 1,000 objects to 3 members: CPU", most: 2, unit: "s", of: cpu, counts: true},
	{work: "W1", what: "writes to the host", most: 3050, counts: true,
		of: func(r *reading) float64 { return float64(r.HostWrites) }},
	{work: "W1", what: "writes to each member", most: 2100, counts: true,
		of: func(r *reading) float64 { return most(r.MemberWrites) }},
	{work: "W1", what: "objects on the host beyond the user's", most: 1000, counts: true,
		of: func(r *reading) float64 { return float64(r.HostObjects) }},
	{work: "W1", what: "events on the host", most: 0,
		of: func(r *reading) float64 { return float64(r.HostEvents) }},
	{work: "W1", what: "peak RSS on the host's side", most: 100, unit: "MiB", of: rss},
	{work: "W2", what: "120 s idle: requests to the host", most: 40,
		of: func(r *reading) float64 { return float64(r.HostRequests) }},
	{work: "W2", what: "requests to each member", most: 8,
		of: func(r *reading) float64 { return most(r.MemberRequests) }},
	{work: "W2", what: "idempotent writes", most: 0,
		of: func(r *reading) float64 { return float64(r.IdempotentWrites) }},
	{work: "W3", what: "change one field of all: CPU", most: 2, unit: "s", of: cpu, counts: true},
	{work: "W4", what: "100 objects deleted: the slowest is back after", most: 0.5, unit: "s", of: seconds},
	{work: "W5", what: "manager restarted: requests to each member", most: 20,
		of: func(r *reading) float64 { return most(r.MemberRequests) }},
	{work: "W5", what: "writes to the host, leases aside", most: 0, of: more("hostWritesWithoutLeases", 1)},
	{work: "W5", what: "events on the host", most: 0, of: func(r *reading) float64 { return float64(r.HostEvents) }},
	{work: "W5", what: "writes to a member", most: 0, of: func(r *reading) float64 { return most(r.MemberWrites) - most(r.CollectorWrites) }},
	{work: "W5", what: "idempotent writes", most: 0, of: func(r *reading) float64 { return float64(r.IdempotentWrites) }},
	{work: "W5", what: "CPU", most: 1, unit: "s", of: cpu},
	{work: "W6", what: "a kind that one member lacks: served there after its CRD", most: 5, unit: "s", of: seconds},
	{work: "far", what: "300 objects to a member that is 100 ms away: all there after", most: -1, unit: "s", of: seconds},
	{work: "W7", what: "a further member (300 objects): RSS", most: 1, unit: "MiB",
		of: more("rssBytesPerMember", mebibyte)},
	{work: "W7", what: "CPU", most: 0.15, unit: "s", of: more("cpuSecondsPerMember", 1)},
	{work: troubleWork, what: "200 healthy Deployments on 3 members, 60 s: writes to the host", most: 0, of: more("wellHostWrites", 1)},
	{work: troubleWork, what: "writes to each member", most: 0, of: more("wellMemberWrites", 1)},
	{work: troubleWork, what: "50 of them crash: writes to the host, per wrapper and 10 s", most: 1, of: more("hostWritesPerWrapperAndTenSeconds", 1)},
	{work: troubleWork, what: "the busiest wrapper, per 10 s", most: 1, of: more("busiestWrapperPerTenSeconds", 1)},
	{work: troubleWork, what: "writes to each member, per Delivery and 10 s", most: 1, of: more("memberWritesPerPairAndTenSeconds", 1)},
	{work: troubleWork, what: "CPU of 60 s", most: -1, unit: "s", of: cpu},
	{work: restWork, what: "a further wrapper (3 members) at rest: RSS", most: 12, unit: "KiB", of: more("rssBytesPerWrapper", kibibyte)},
	{work: restWork, what: "live heap", most: 12, unit: "KiB", of: more("liveBytesPerWrapper", kibibyte)},
	{work: "floor", what: "the requests of W1 and nothing else: CPU", most: -1, unit: "s", of: more("cpuSeconds", 1), counts: true},
	{work: idleWork, what: "an idle member, one watch over TLS: RSS", most: 200, unit: "KiB", of: more("rssBytesPerMember", kibibyte)},
}

// table prints the figures of all works beside their goals.
func table(out io.Writer, readings map[string]*reading, objects int) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "WORK\tWHAT\tGOAL\tREACHED\t") // Flush returns the error
	for _, g := range goals {
		r := readings[g.work]
		if r == nil {
			continue
		}
		reached := g.of(r)
		verdict := "✓"
		switch {
		case g.counts && objects != wholeObjects:
			verdict = fmt.Sprintf("(of %d objects)", objects)
		case g.most < 0:
			verdict = ""
		case reached > g.most:
			verdict = "✗ missed"
		}
		most := "–"
		if g.most >= 0 {
			most = "≤ " + figure(g.most, g.unit)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", g.work, g.what, most, figure(reached, g.unit), verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nThese figures are of this machine and this run. Do not compare them with figures of another machine or day.\n%s",
		notComparable(objects))
	return err
}

func figure(f float64, unit string) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".") + " " + unit)
}

// machine returns the properties of the machine and the Go version with which the bench has measured.
func machine() map[string]any {
	found := map[string]any{"cores": runtime.NumCPU(), "os": runtime.GOOS, "arch": runtime.GOARCH, "go": runtime.Version()}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return found
	}
	if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 {
		found["cpu"] = cpus[0].ModelName
	}
	if memory, err := fs.Meminfo(); err == nil && memory.MemTotalBytes != nil {
		found["memoryBytes"] = *memory.MemTotalBytes
	}
	return found
}
