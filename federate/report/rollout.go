// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// Rollout is the state of a rollout, as the conditions of the wrapper report it.
type Rollout struct {
	State v1alpha1.RolloutState
	// Reason is why no further member changes now; "" if the rollout does not wait.
	// Message explains the reason to a person; "" if the rollout does not wait.
	Reason, Message string

	// status and approve are what NewRollout got.
	status  *v1alpha1.RolloutStatus
	approve string
}

// NewRollout describes a rollout for the conditions. approve is the command `hostctl approve WRAPPER`, without a flag
// for the action. The message does not tell whether the operators on the members are back after a rollback: Build and RolloutMessage do.
func NewRollout(s *v1alpha1.RolloutStatus, approve string) *Rollout {
	return newRollout(s, approve, rollbackEnded(s))
}

// RolloutMessage explains to a person what the rollout of a wrapper waits for, or how it ended. approve is as in NewRollout.
func RolloutMessage(s *v1alpha1.WrapperStatus, approve string) string {
	var ahead []string
	for i := range s.Clusters {
		if isAhead(s.Clusters[i].Reason) {
			ahead = append(ahead, s.Clusters[i].Name)
		}
	}
	return NewRollout(&s.Rollout, approve).withAhead(ahead).Message
}

func newRollout(s *v1alpha1.RolloutStatus, approve, rolledBack string) *Rollout {
	words := rolloutWords(s, approve, rolledBack)
	if s.HasFailed() && s.Failure.Message != "" {
		// It comes last, so that a long message does not hide what a person can do. The lines of waiting members leave it out, because
		// a line has room for one message only. The quotes show where the message ends, because other text can follow.
		words += fmt.Sprintf("; when the rollout failed, the message of cluster %s was \"%s\"", s.Failure.Cluster, s.Failure.Message)
	}
	return &Rollout{State: s.State, Reason: s.WaitingFor, Message: words, status: s, approve: approve}
}

// withAhead returns the rollout with a message that tells whether a rollback has brought every operator back. OLM does not downgrade, so a
// member can have the last good revision and a later version of an operator. The parameter ahead has the names of these members.
func (r *Rollout) withAhead(ahead []string) *Rollout {
	if !r.isRolledBack() {
		return r
	}
	words := "the fleet is back at " + r.status.LastGoodRevision
	if len(ahead) > 0 {
		slices.Sort(ahead)
		have := "has"
		if len(ahead) > 1 {
			have = "have"
		}
		words = fmt.Sprintf("%s, and cluster %s still %s a later version of an operator", rollbackEnded(r.status), messages.Few(ahead, 1), have)
	}
	return newRollout(r.status, r.approve, words)
}

func rollbackEnded(s *v1alpha1.RolloutStatus) string {
	return "the rollback to " + s.LastGoodRevision + " has ended"
}

// aheadOf returns the names of the members on which an operator is ahead of its target. It also finds an operator that the line of the
// member does not name, because another object there is worse.
func aheadOf(members []Member, lines []v1alpha1.ClusterStatus) (names []string) {
	for i := range members {
		m := &members[i]
		if isAhead(lines[i].Reason) || !m.Leaving && m.Judged && m.Reachability.Usable && m.Status != nil &&
			slices.ContainsFunc(m.Status.Objects, func(o v1alpha1.ObjectStatus) bool { return isAhead(o.Reason) }) {
			names = append(names, m.Name)
		}
	}
	return names
}

// isAhead reports whether a reason means that a later version of an operator than its target is still installed.
func isAhead(reason string) bool {
	switch reason {
	case v1alpha1.ReasonAheadOfTarget, v1alpha1.ReasonReinstallRefused, v1alpha1.ReasonReinstallWaits, v1alpha1.ReasonReinstallAnnounced:
		return true
	}
	return false
}

func (r *Rollout) isStopped() bool {
	return r != nil && (r.State == v1alpha1.RolloutPaused || r.State == v1alpha1.RolloutRolledBack)
}

func (r *Rollout) isRolledBack() bool {
	return r != nil && r.State == v1alpha1.RolloutRolledBack
}

func (r *Rollout) isUnderWay() bool {
	return r != nil && (r.State == v1alpha1.RolloutProgressing || r.State == v1alpha1.RolloutRollingBack)
}

// pushedContent computes Pushed while the rollout makes members wait. The reason is the rollout's and not that of the
// worst line, because the rollout is why the other members wait.
func (r *Rollout) pushedContent(s conditionContent, worst *v1alpha1.ClusterStatus) conditionContent {
	s.message += "; " + r.Message
	s = blame(s, worst)
	s.reason = r.Reason
	return s
}

// WaitOf returns why a member that is not updated waits. reason is the rollout's reason for this member, or "".
func WaitOf(reason string, s *v1alpha1.RolloutStatus, approve string, fresh bool) Wait {
	w := Wait{Reason: reason, Fresh: fresh}
	switch reason {
	case "":
		// The rollout rolls back. The member already has the revision that the rollout gives it, but that is not the
		// newest revision.
		w.Reason, w.Message = v1alpha1.ReasonRolloutStopped, rolloutWords(s, approve, rollbackEnded(s))
	case v1alpha1.ReasonWaveHeld:
		w.Message = "its wave has not begun: the current wave is " + s.Wave
		if s.Wave == "" {
			w.Message = "members of later waves go back to the last good revision first"
		}
	case v1alpha1.ReasonUnreachable:
		w.Message = "the manager cannot reach the member. It updates the member when the member answers and the wave of the member has begun"
	case v1alpha1.ReasonRenderingLost:
		w.Message = "the manager cannot render the member's present revision exactly as before, so it reports drift, and repairs no drift until the member is updated"
	default:
		words := *s
		words.WaitingFor, words.WaitingForCluster = reason, ""
		w.Message = rolloutWords(&words, approve, rollbackEnded(s))
	}
	return w
}

// rolloutWords describes what a rollout waits for, and what a person can do about it. rolledBack is how the text describes that a rollback
// has ended.
func rolloutWords(s *v1alpha1.RolloutStatus, approve, rolledBack string) string {
	if s.HasFailed() {
		return failureWords(s, approve, rolledBack)
	}
	if s.Wave == "" && s.WaitingFor == v1alpha1.ReasonUnreachable {
		return fmt.Sprintf("the manager cannot reach cluster %s, and updates it when it answers again", s.WaitingForCluster)
	}
	switch s.WaitingFor {
	case v1alpha1.ReasonWaveNeedsApproval:
		return fmt.Sprintf("`%s --wave %s` lets wave %s begin", approve, s.Wave, s.Wave)
	case v1alpha1.ReasonSuspended:
		if s.Begun == v1alpha1.Yes {
			return fmt.Sprintf("wave %s neither goes on nor fails while spec.suspend is All: the manager writes nothing", s.Wave)
		}
		return fmt.Sprintf("wave %s does not begin while spec.suspend is Rollout or All", s.Wave)
	case v1alpha1.ReasonWaveSoaking:
		return fmt.Sprintf("the clusters of wave %s have to stay healthy until %s", s.Wave, s.SoakUntil.UTC().Format(time.RFC3339))
	case v1alpha1.ReasonMaxUnavailableReached:
		return "spec.rollout.maxUnavailable is reached, so no other cluster changes: it counts clusters that are not healthy, and clusters that the wrapper is leaving"
	case v1alpha1.ReasonMaxConcurrentReached:
		return fmt.Sprintf("no other cluster of wave %s changes now, because the maxConcurrent of the wave is reached", s.Wave)
	case v1alpha1.ReasonWaveHeld:
		return fmt.Sprintf("wave %s is changing, and later waves wait for it", s.Wave)
	case v1alpha1.ReasonUnreachable:
		return fmt.Sprintf("wave %s waits for cluster %s, which the manager cannot reach", s.Wave, s.WaitingForCluster)
	case v1alpha1.ReasonNotHealthy:
		return fmt.Sprintf("waiting for cluster %s to become healthy", s.WaitingForCluster)
	case v1alpha1.ReasonNoClusterMatches:
		return "no cluster is placed yet, so no wave begins"
	case v1alpha1.ReasonRenderingLost:
		return fmt.Sprintf("the manager cannot render the wrapper for cluster %s", s.WaitingForCluster)
	}
	return ""
}

// failureWords describes which revision failed, where and why, and what the person can do.
func failureWords(s *v1alpha1.RolloutStatus, approve, rolledBack string) string {
	f := &s.Failure
	words := fmt.Sprintf("%s failed in wave %s on cluster %s", f.Revision, f.Wave, f.Cluster)
	if f.Count > 1 {
		words += fmt.Sprintf(" and %d more", f.Count-1)
	}
	if f.Reason != "" {
		words += " (" + f.Reason + ")"
	}
	switch {
	case s.State == v1alpha1.RolloutRollingBack:
		return words + ", the fleet goes back to " + s.LastGoodRevision
	case s.State == v1alpha1.RolloutRolledBack:
		words += ", " + rolledBack
	case f.NoGoodRevision == v1alpha1.Yes:
		words += ", and no earlier revision was healthy on all clusters, so the fleet cannot go back"
	}
	return words + fmt.Sprintf(": change the spec, or run `%s --retry` to try %s again", approve, f.Revision)
}
