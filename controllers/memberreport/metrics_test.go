// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"context"
	"runtime"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// exported returns the metrics of this package: the bytes of each member, and the limit under the name "".
func exported(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if name := family.GetName(); name != "fairlead_evidence_bytes" && name != "fairlead_evidence_limit_bytes" {
			continue
		}
		for _, m := range family.GetMetric() {
			member := ""
			for _, label := range m.GetLabel() {
				member = label.GetValue()
			}
			found[member] = m.GetGauge().GetValue()
		}
	}
	return found
}

func TestAScrapeReadsTheMemoryOfTheEvidence(t *testing.T) {
	s := newSite(t, "east", "west")
	s.restart(1 << 20)
	if before := exported(t); len(before) > 0 {
		t.Errorf("a replica that does not lead exports %v", before)
	}
	ctx, stop := context.WithCancel(t.Context())
	evidenceOfAll.begin(ctx, s.loop.store)
	s.list("east", "it crashes")
	s.list("west", "")
	is := exported(t)
	if west, connected := is["west"]; is["east"] < sampleBytes || is["east"] > 1<<16 || !connected || west != 0 || is[""] != 1<<20 || len(is) != 3 {
		t.Errorf("one member in trouble, another not: %v", is)
	}
	s.list("east", "")
	s.loop.store.Forget("west")
	is = exported(t)
	if _, connected := is["west"]; is["east"] != 0 || connected {
		t.Errorf("after all is well, and a member has left: %v", is)
	}
	stop()
	for len(exported(t)) > 0 {
		runtime.Gosched() // the metrics end in a goroutine
	}
}

// sampleBytes is less than the evidence of one object takes.
const sampleBytes = 512

// Two members show the same, and the report has the evidence of the first.
func TestAMemberThatHasLeftIsCountedWhileAReportHasItsEvidence(t *testing.T) {
	s := newSite(t, "east", "west")
	s.list("east", "it crashes")
	s.list("west", "it crashes")
	s.loop.store.Forget("east")
	bytes, _ := s.loop.store.memoryUsed()
	sum := 0
	for _, n := range bytes {
		sum += n
	}
	if used := s.loop.store.evidence.memory.used; sum != used || used == 0 {
		t.Errorf("%d bytes are in use, and the members have %v", used, bytes)
	}
}
