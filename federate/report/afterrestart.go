// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// KnowsLess reports whether the status of a snapshot would only lose information that the previous status has. That
// happens after a start, while the manager has not read the Deliveries of a member yet, or has not tried a push yet.
// Such a status describes the restart and not the fleet. The caller decides for how long after a start it holds such a
// status back.
func KnowsLess(in Input, now time.Time) bool {
	before := linesBefore(in.Before)
	for i := range in.Members {
		m := &in.Members[i]
		was := before[m.Name]
		line := Line(m, was, now)
		if was != nil && was.State == line.State && was.Reason == line.Reason && was.Message == line.Message {
			continue
		}
		if !m.Listed && isOutOfReach(line.State) || !m.Tried && in.isForgotten(was, &line) {
			return true
		}
	}
	return false
}

// isOutOfReach reports whether a line is about a member that the manager has not read.
func isOutOfReach(s v1alpha1.ClusterState) bool {
	return s == v1alpha1.StateUnknown || s == v1alpha1.StateUnreachable
}

// isForgotten reports whether a line says that a push is under way, and the line before had its outcome. Outcomes are
// in memory only, so each is found again by a pass.
func (in *Input) isForgotten(was, is *v1alpha1.ClusterStatus) bool {
	if was == nil || in.Generation != in.Before.ObservedGeneration {
		return false // the push is a new one
	}
	underWay := is.State == v1alpha1.StatePushing || is.State == v1alpha1.StateRemoving ||
		is.State == v1alpha1.StateProgressing && (is.Reason == v1alpha1.ReasonDrifted || is.Reason == v1alpha1.ReasonUnfinished)
	return underWay && was.State != v1alpha1.StateHealthy && was.State != v1alpha1.StatePushing && !isOutOfReach(was.State)
}

// linesBefore returns the lines of a status, by member.
func linesBefore(s *v1alpha1.WrapperStatus) map[string]*v1alpha1.ClusterStatus {
	lines := make(map[string]*v1alpha1.ClusterStatus, len(s.Clusters))
	for i := range s.Clusters {
		lines[s.Clusters[i].Name] = &s.Clusters[i]
	}
	return lines
}
