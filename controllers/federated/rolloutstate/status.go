// SPDX-License-Identifier: Apache-2.0

package rolloutstate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/rollout"
)

// Of reads the state of a rollout from the status.
func Of(s v1alpha1.RolloutStatus) rollout.State {
	state := rollout.State{
		ID:        s.ID,
		Revision:  s.Revision,
		Phase:     rollout.Phase(s.State),
		Wave:      s.Wave,
		Begun:     s.Begun == v1alpha1.Yes,
		Since:     s.Since.Time,
		Plan:      s.WavesDigest,
		LastGood:  s.LastGoodRevision,
		Retried:   s.Retried.Time,
		RetrySeen: s.RetrySeen.Time,
	}
	if f := s.Failure; s.HasFailed() {
		state.Failure = &rollout.Failure{
			Revision: f.Revision, Wave: f.Wave, Member: f.Cluster, Reason: f.Reason, Message: f.Message, Count: int(f.Count), At: f.Time.Time,
			NoGoodRevision: f.NoGoodRevision == v1alpha1.Yes,
		}
	}
	return state
}

// StatusOf converts a decision to status.rollout.
func StatusOf(d *rollout.Decision) v1alpha1.RolloutStatus {
	s := v1alpha1.RolloutStatus{
		ID:                d.State.ID,
		Revision:          d.State.Revision,
		State:             v1alpha1.RolloutState(d.State.Phase),
		Wave:              d.State.Wave,
		Begun:             yes(d.State.Begun),
		Since:             metav1.NewTime(d.State.Since),
		SoakUntil:         metav1.NewTime(d.SoakUntil),
		WaitingFor:        string(d.Waits),
		WaitingForCluster: d.Waiting,
		LastGoodRevision:  d.State.LastGood,
		WavesDigest:       d.State.Plan,
		Retried:           metav1.NewTime(d.State.Retried),
		RetrySeen:         metav1.NewTime(d.State.RetrySeen),
	}
	if f := d.State.Failure; f != nil {
		s.Failure = v1alpha1.RolloutFailure{
			Revision: f.Revision, Wave: f.Wave, Cluster: f.Member, Reason: f.Reason, Message: f.Message,
			Count: int32(f.Count), //nolint:gosec // at most 5,000 members are placed
			Time:  metav1.NewTime(f.At), NoGoodRevision: yes(f.NoGoodRevision),
		}
		if d.State.Phase == rollout.RollingBack || d.State.Phase == rollout.RolledBack {
			s.RolledBackFrom = f.Revision
		}
	}
	return s
}

// Only returns only the state of a rollout: it drops the fields of the status that the manager computes from the state
// and the members. The manager need not write these fields before it acts, and they change more often than the state.
func Only(s v1alpha1.RolloutStatus) v1alpha1.RolloutStatus {
	s.SoakUntil, s.WaitingFor, s.WaitingForCluster = metav1.Time{}, "", ""
	return s
}

func yes(is bool) v1alpha1.YesMark {
	if is {
		return v1alpha1.Yes
	}
	return ""
}
