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

// aloneReports is how many reports of one wrapper a member may have for keys that no other member shows. It may have more only if places
// are left. Without this limit, a hostile member could invent objects and push out the reports of other members.
const aloneReports = 3

// maxClusters is the greatest number of names in status.clusters of a MemberReport.
const maxClusters = 100

// Report is one MemberReport that a wrapper has.
type Report struct {
	Key    Key
	Status v1alpha1.MemberReportStatus
}

// Reports returns the reports that the wrapper has now. A report with more members comes before one with fewer. Of reports with equally
// many, a reason comes before the reasons that it is known to cause. There are at most ten reports. A member has at most three for keys
// that no other member shows, unless places are left. A key without a sample has no report.
func (s *Set) Reports() []Report {
	keys := s.sampled()
	reasons := make([]string, 0, len(keys))
	for _, key := range keys {
		reasons = append(reasons, s.groups.byKey[key].reason)
	}
	depths := cause.Depths(reasons)
	slices.SortFunc(keys, func(a, b Key) int {
		ga, gb := s.groups.byKey[a], s.groups.byKey[b]
		return cmp.Or(len(gb.members)-len(ga.members), depths[ga.reason]-depths[gb.reason], cmp.Compare(ga.reason, gb.reason), cmp.Compare(a, b))
	})
	reports := make([]Report, 0, min(len(keys), maxReports))
	for _, key := range s.groups.choose(keys, maxReports, aloneReports) {
		reports = append(reports, Report{Key: key, Status: s.groups.byKey[key].status(s.samples.byKey[key])})
	}
	return reports
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
