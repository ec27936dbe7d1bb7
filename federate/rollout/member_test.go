// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// at returns a member that has had this revision and this state for the given number of minutes.
func at(name, revision string, state v1alpha1.ClusterState, minutes int) Member {
	since := epoch.Add(-time.Duration(minutes) * time.Minute)
	return Member{
		Member: selection.Member{Name: name}, Target: revision, Revision: revision, Newest: "r2", Good: "r1", State: state, Since: since, ProgressFrom: since,
	}
}

func underWay(s State) State {
	s.ID, s.Revision, s.LastGood = "a", "r2", "r1"
	if s.Phase == "" {
		s.Phase = Progressing
	}
	return s
}

// proven returns the member as one that had its target when a rollout was Complete.
func proven(m Member) Member {
	m.Proven = true
	return m
}

// heldUp returns the member as one to which pushes are suspended.
func heldUp(m Member) Member {
	m.HeldUp = true
	return m
}

// relabelled returns a member that has r2 as it was rendered before one of its labels changed.
func relabelled(name string) Member {
	m := at(name, "r2", v1alpha1.StateHealthy, 60)
	m.Target = "r2 before"
	return m
}

// saying returns a member whose state has this message.
func saying(m Member, message string) Member {
	m.Message = message
	return m
}
