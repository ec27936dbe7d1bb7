// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// KnowsLess reports whether a new status would lose information that the previous one has. That happens after a start of
// the manager, before it has read a member's Deliveries or tried a push there. Such a status describes the restart and
// not the members. So for a limited time after a start, the caller does not write it.
func KnowsLess(in Input, now time.Time) bool {
	before := LinesByName(in.Before)
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

// isOutOfReach reports whether a line with this state has no news from the member.
func isOutOfReach(s v1alpha1.ClusterState) bool {
	return s == v1alpha1.StateUnknown || s == v1alpha1.StateUnreachable
}

// isForgotten reports whether the new line only says that a push is under way, while the previous line had the result
// of that push. The manager keeps results only in memory. After a restart, the next push gives the same result again.
func (in *Input) isForgotten(was, is *v1alpha1.ClusterStatus) bool {
	if was == nil || in.Generation != in.Before.ObservedGeneration {
		return false // the spec has changed, so the push is a new one
	}
	underWay := is.State == v1alpha1.StatePushing || is.State == v1alpha1.StateRemoving ||
		is.State == v1alpha1.StateProgressing && (is.Reason == v1alpha1.ReasonDrifted || is.Reason == v1alpha1.ReasonUnfinished)
	return underWay && was.State != v1alpha1.StateHealthy && was.State != v1alpha1.StatePushing && !isOutOfReach(was.State)
}

// LinesByName returns the lines of a status, by the name of the member.
func LinesByName(s *v1alpha1.WrapperStatus) map[string]*v1alpha1.ClusterStatus {
	lines := make(map[string]*v1alpha1.ClusterStatus, len(s.Clusters))
	for i := range s.Clusters {
		lines[s.Clusters[i].Name] = &s.Clusters[i]
	}
	return lines
}
