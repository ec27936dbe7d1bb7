// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// KnowsLess reports whether the status of a snapshot would only take back what the status before it knew: the manager
// has just started, and has not read this member's Deliveries, or has not tried this push, yet. Such a status
// tells of the restart and not of the fleet. It is for the caller to say for how long after a start that counts.
func KnowsLess(in Input, now time.Time) bool {
	before := linesBefore(in.Before)
	for i := range in.Members {
		m := &in.Members[i]
		was := before[m.Name]
		line := lineOf(m, was, now)
		if was != nil && was.State == line.State && was.Reason == line.Reason && was.Message == line.Message {
			continue
		}
		if !m.Listed && isOutOfReach(line.State) || !m.Tried && in.isForgotten(was, &line) {
			return true
		}
	}
	return false
}

// isOutOfReach reports whether a line tells nothing but that the member was not read.
func isOutOfReach(s v1alpha1.ClusterState) bool {
	return s == v1alpha1.StateUnknown || s == v1alpha1.StateUnreachable
}

// isForgotten reports whether a line calls a push under way of which the line before told the outcome. Outcomes are
// in memory only, so that each is found again by a pass.
func (in *Input) isForgotten(was, is *v1alpha1.ClusterStatus) bool {
	if was == nil || in.Generation != in.Before.ObservedGeneration {
		return false // the push is a new one, and that is news
	}
	underWay := is.State == v1alpha1.StatePushing || is.State == v1alpha1.StateRemoving ||
		is.State == v1alpha1.StateProgressing && is.Reason == v1alpha1.ReasonDrifted
	return underWay && was.State != v1alpha1.StateHealthy && was.State != v1alpha1.StatePushing && !isOutOfReach(was.State)
}

// linesBefore are the lines of a status, by member.
func linesBefore(s *v1alpha1.WrapperStatus) map[string]*v1alpha1.ClusterStatus {
	lines := make(map[string]*v1alpha1.ClusterStatus, len(s.Clusters))
	for i := range s.Clusters {
		lines[s.Clusters[i].Name] = &s.Clusters[i]
	}
	return lines
}
