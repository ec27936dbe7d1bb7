// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/cause"
)

// aloneReports is how many reports of one wrapper may be of keys that the same single member shows, while others compete for the
// places. Without it, a hostile member could invent objects and push out the reports of other members.
const aloneReports = 3

// maxClusters is the greatest number of names in status.clusters of a MemberReport.
const maxClusters = 100

// Report is one MemberReport that a wrapper has.
type Report struct {
	Key    Key
	Status v1alpha1.MemberReportStatus
}

// Reports returns the reports that the wrapper has now, the most important first: the one with the most members, then a reason
// before the reasons that it is known to cause. There are at most ten, and at most three of what the same single member shows if there are
// enough others. A key without a sample has no report.
func (s *Set) Reports() []Report {
	keys := s.sampled()
	reasons := make([]string, 0, len(keys))
	for _, key := range keys {
		reasons = append(reasons, s.groups[key].reason)
	}
	depths := cause.Depths(reasons)
	slices.SortFunc(keys, func(a, b Key) int {
		ga, gb := s.groups[a], s.groups[b]
		return cmp.Or(len(gb.members)-len(ga.members), depths[ga.reason]-depths[gb.reason], cmp.Compare(ga.reason, gb.reason), cmp.Compare(a, b))
	})
	reports := make([]Report, 0, min(len(keys), maxReports))
	for _, key := range s.choose(keys, maxReports, aloneReports) {
		reports = append(reports, Report{Key: key, Status: s.groups[key].status(s.samples[key])})
	}
	return reports
}

// choose returns at most this many of the keys, in the same order. keys has the most important first. Of the keys that the same single
// member shows, choose takes only its share, and more only if places are left.
func (s *Set) choose(keys []Key, places, share int) []Key {
	if len(keys) <= places {
		return keys
	}
	alone := make(map[string]int)
	var first, more []Key
	for _, key := range keys {
		if s.takesShare(key, alone, share) {
			first = append(first, key)
		} else {
			more = append(more, key)
		}
	}
	all := slices.Concat(first, more)[:places]
	return slices.DeleteFunc(slices.Clone(keys), func(key Key) bool { return !slices.Contains(all, key) })
}

// takesShare reports whether a key is within the share of its member. alone counts the keys of each single member.
func (s *Set) takesShare(key Key, alone map[string]int, share int) bool {
	members := s.groups[key].members
	if len(members) != 1 {
		return true
	}
	for member := range members {
		alone[member]++
		return alone[member] <= share
	}
	return true
}

// status returns the status of the report. It shares the evidence with the sample, which never changes.
func (g *group) status(is *sample) v1alpha1.MemberReportStatus {
	names := slices.Sorted(maps.Keys(g.members))
	return v1alpha1.MemberReportStatus{
		Object: g.object, Reason: g.reason, Message: is.message, Cluster: is.member,
		Clusters:     names[:min(len(names), maxClusters)],
		ClusterCount: int32(len(names)), //nolint:gosec // at most 5,000 members are placed
		ObservedTime: metav1.NewTime(is.observed.UTC()),
		Evidence:     is.evidence,
	}
}
