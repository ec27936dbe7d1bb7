// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Rollout is the state of a rollout, for the conditions of a wrapper.
type Rollout struct {
	State v1alpha1.RolloutState
	// Reason is why nothing more happens now, and Message says it to a person. Both are "" if the rollout waits for nothing.
	Reason, Message string
}

// NewRollout describes a rollout. approve is the command that approves what waits, without its action flag.
func NewRollout(s *v1alpha1.RolloutStatus, approve string) *Rollout {
	return &Rollout{State: s.State, Reason: s.WaitingFor, Message: rolloutWords(s, approve)}
}

func (r *Rollout) isStopped() bool {
	return r != nil && (r.State == v1alpha1.RolloutPaused || r.State == v1alpha1.RolloutRolledBack)
}

func (r *Rollout) isUnderWay() bool {
	return r != nil && (r.State == v1alpha1.RolloutProgressing || r.State == v1alpha1.RolloutRollingBack)
}

// pushedContent is the condition Pushed while not all members are updated. The worst member comes after it, because the rollout is the
// reason why the others wait.
func (r *Rollout) pushedContent(s conditionContent, worst *v1alpha1.ClusterStatus) conditionContent {
	s.message += "; " + r.Message
	s = blame(s, worst)
	s.reason = r.Reason
	return s
}

// WaitOf is why a member that is not updated waits.
func WaitOf(reason string, s *v1alpha1.RolloutStatus, approve string, fresh bool) Wait {
	w := Wait{Reason: reason, Fresh: fresh}
	switch reason {
	case "":
		// The member has its target, which is not the newest revision: the fleet goes back.
		w.Reason, w.Message = v1alpha1.ReasonRolloutStopped, rolloutWords(s, approve)
	case v1alpha1.ReasonWaveHeld:
		w.Message = "its wave has not begun: the current wave is " + s.Wave
		if s.Wave == "" {
			w.Message = "later waves go back first"
		}
	case v1alpha1.ReasonUnreachable:
		w.Message = "the manager cannot reach it; the manager updates it when it is back and its wave has begun"
	case v1alpha1.ReasonRenderingLost:
		w.Message = "its present revision cannot be rendered again as it was, so drift is reported and not repaired until it is updated"
	default:
		words := *s
		words.WaitingFor, words.WaitingForCluster = reason, ""
		w.Message = rolloutWords(&words, approve)
	}
	return w
}

// rolloutWords says what a rollout waits for, and the way out where a person has to act.
func rolloutWords(s *v1alpha1.RolloutStatus, approve string) string {
	if s.HasFailed() {
		return failureWords(s, approve)
	}
	if s.Wave == "" && s.WaitingFor == v1alpha1.ReasonUnreachable {
		return fmt.Sprintf("cluster %s cannot be reached, and is updated when it is back", s.WaitingForCluster)
	}
	switch s.WaitingFor {
	case v1alpha1.ReasonWaveNeedsApproval:
		return fmt.Sprintf("`%s --wave %s` lets wave %s begin", approve, s.Wave, s.Wave)
	case v1alpha1.ReasonSuspended:
		return fmt.Sprintf("wave %s does not begin while spec.suspend is Rollout or All", s.Wave)
	case v1alpha1.ReasonWaveSoaking:
		return fmt.Sprintf("wave %s has to stay healthy until %s", s.Wave, s.SoakUntil.UTC().Format(time.RFC3339))
	case v1alpha1.ReasonMaxUnavailableReached:
		return "as many clusters as spec.rollout.maxUnavailable are not healthy or are being left, so no other one changes"
	case v1alpha1.ReasonMaxConcurrentReached:
		return fmt.Sprintf("as many clusters of wave %s as its maxConcurrent are changing", s.Wave)
	case v1alpha1.ReasonWaveHeld:
		return fmt.Sprintf("wave %s is changing, later waves wait", s.Wave)
	case v1alpha1.ReasonUnreachable:
		return fmt.Sprintf("wave %s waits for cluster %s, which cannot be reached", s.Wave, s.WaitingForCluster)
	case v1alpha1.ReasonNotHealthy:
		return fmt.Sprintf("waiting for cluster %s to become healthy", s.WaitingForCluster)
	case v1alpha1.ReasonRenderingLost:
		return fmt.Sprintf("nothing can be rendered for cluster %s", s.WaitingForCluster)
	}
	return ""
}

// failureWords says which revision failed, where and why, and how to go on.
func failureWords(s *v1alpha1.RolloutStatus, approve string) string {
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
		words += ", the fleet is back at " + s.LastGoodRevision
	case f.NoGoodRevision == v1alpha1.Yes:
		words += ", and no earlier revision was healthy everywhere, so there is none to go back to"
	}
	return words + fmt.Sprintf(": change the spec, or `%s --retry` tries it again", approve)
}
