// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestAMemberThatInventsObjectsPushesOutNoReportOfAnother(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		state := make(map[string][]Shown)
		honest := 1 + random.IntN(7)
		for i := range honest { // each member has at most its share
			member := fmt.Sprint("m", i/3)
			state[member] = append(state[member], shown("web"+letters(random.IntN(1000)*10+i), "R", "m", member))
		}
		for range 16 {
			state["hostile"] = append(state["hostile"], shown("a"+letters(random.IntN(100_000)), "A", "m", "hostile"))
		}
		members := []string{"hostile"}
		for i := range (honest + 2) / 3 {
			members = append(members, fmt.Sprint("m", i))
		}
		s := newSet(&books{})
		for range 2 {
			random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
			for _, member := range members {
				show(s, member, state[member], now)
			}
		}
		got, ofHonest := s.Reports(), 0
		for _, r := range got {
			if !slices.Equal(r.Status.Clusters, []string{"hostile"}) {
				ofHonest++
			}
		}
		if len(got) != maxReports || ofHonest != honest {
			t.Fatalf("seed %d: %d reports, %d of %d of honest members", seed, len(got), ofHonest, honest)
		}
	}
}

func TestSamplesOfOneMemberMakeRoomForOthers(t *testing.T) {
	s := newSet(&books{})
	var invented []Shown
	for i := range 25 {
		invented = append(invented, shown("a"+letters(i), "A", "m", "hostile"))
	}
	show(s, "hostile", invented, now)
	if len(s.samples.byKey) != maxSamples {
		t.Errorf("alone, it has %d samples", len(s.samples.byKey))
	}
	for i := range 30 {
		member := fmt.Sprint("m", i)
		show(s, member, []Shown{shown("web"+letters(i), "R", "m", member)}, now)
	}
	show(s, "hostile", invented, now)
	hostile := 0
	for _, is := range s.samples.byKey {
		if is.member == "hostile" {
			hostile++
		}
	}
	if len(s.samples.byKey) != maxSamples || hostile > aloneSamples {
		t.Errorf("%d samples, %d of the hostile member", len(s.samples.byKey), hostile)
	}
}
