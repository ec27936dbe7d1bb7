// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// maxNames is the greatest number of members that one message names.
const maxNames = 10

// conditionContent is the status, the reason and the message of a condition.
type conditionContent struct {
	ok bool
	// unknown is true if the condition cannot be judged. Its status is then Unknown, even if ok is true.
	unknown bool
	reason  string
	message string
}

func (s conditionContent) status() metav1.ConditionStatus {
	switch {
	case s.unknown:
		return metav1.ConditionUnknown
	case s.ok:
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// conditions computes Placed, Pushed, Healthy and their summary Ready. It adds Stalled or Reconciling, never both, with
// the status True: Stalled if retrying cannot help or a deadline has passed, and Reconciling with what is awaited and since when.
func conditions(in Input, t tally, lines []v1alpha1.ClusterStatus, now time.Time) []metav1.Condition {
	all := make([]metav1.Condition, 0, 6)
	for _, c := range in.Before.Conditions {
		if c.Type != v1alpha1.ConditionReconciling && c.Type != v1alpha1.ConditionStalled {
			all = append(all, c)
		}
	}
	set := func(kind string, s conditionContent) {
		meta.SetStatusCondition(&all, metav1.Condition{Type: kind, Status: s.status(), Reason: s.reason, Message: Condition(s.message),
			ObservedGeneration: in.Generation, LastTransitionTime: metav1.NewTime(now)})
	}
	worst := worstLine(lines)
	placed, pushed, healthy := placedContent(in), pushedContent(in, t, lines, worst), healthyContent(t, worst)
	ready := readyContent(in, placed, pushed, healthy)
	if in.Deleting {
		pushed, healthy, ready = pushedWhileDeleting(in, t, lines, worst), healthyWhileDeleting(), readyWhileDeleting(in, t, lines, worst)
	}
	set(v1alpha1.ConditionPlaced, placed)
	set(v1alpha1.ConditionPushed, pushed)
	set(v1alpha1.ConditionHealthy, healthy)
	set(v1alpha1.ConditionReady, ready)

	keep := func(kind string, was *metav1.Condition, s conditionContent) {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: s.reason, Message: Condition(s.message),
			ObservedGeneration: in.Generation, LastTransitionTime: metav1.NewTime(now)}
		if was != nil {
			c.LastTransitionTime = was.LastTransitionTime
		}
		all = append(all, c)
	}
	late := pastDeadline(in, lines, now)
	switch {
	case ready.ok:
	case in.Invalid != "" || t.stalled > 0 || in.Rollout.isStopped():
		keep(v1alpha1.ConditionStalled, meta.FindStatusCondition(in.Before.Conditions, v1alpha1.ConditionStalled), ready)
	case !in.Deleting && late != nil:
		keep(v1alpha1.ConditionStalled, meta.FindStatusCondition(in.Before.Conditions, v1alpha1.ConditionStalled), late.content())
	case in.Deleting || t.progressing+t.degraded+t.unreachable+t.leaving > 0 || in.Rollout.isUnderWay():
		keep(v1alpha1.ConditionReconciling, meta.FindStatusCondition(in.Before.Conditions, v1alpha1.ConditionReconciling), sinceWhen(ready, in, worst))
	}
	return all
}

func placedContent(in Input) conditionContent {
	return conditionContent{ok: in.PlacedOK, reason: in.PlacedReason, message: in.PlacedMessage}
}

func pushedContent(in Input, t tally, lines []v1alpha1.ClusterStatus, worst *v1alpha1.ClusterStatus) conditionContent {
	if t.updated == t.placed && t.leaving == 0 {
		return conditionContent{ok: true, reason: v1alpha1.ReasonAllUpdated, message: fmt.Sprintf("%s the update revision", holds(t.placed))}
	}
	s := conditionContent{reason: v1alpha1.ReasonPushing, message: fmt.Sprintf("%d of %d clusters hold the update revision", t.updated, t.placed)}
	if words := leavingWords(in, lines); words != "" {
		s.message += "; " + words
	}
	if in.Rollout != nil && in.Rollout.Reason != "" {
		return in.Rollout.pushedContent(s, worst)
	}
	return blame(s, worst)
}

func healthyContent(t tally, worst *v1alpha1.ClusterStatus) conditionContent {
	if t.healthy == t.placed {
		return conditionContent{ok: true, reason: v1alpha1.ReasonAllHealthy, message: fmt.Sprintf("%d of %d clusters are healthy", t.healthy, t.placed)}
	}
	return blame(conditionContent{reason: v1alpha1.ReasonApplying, message: fmt.Sprintf("%d of %d clusters are healthy", t.healthy, t.placed)}, worst)
}

// readyContent computes Ready of a wrapper that is not being deleted: it takes the first problem in the order spec,
// Placed, Pushed, Healthy.
func readyContent(in Input, placed, pushed, healthy conditionContent) conditionContent {
	switch {
	case in.Invalid != "":
		return conditionContent{reason: v1alpha1.ReasonSpecInvalid, message: in.Invalid}
	case !placed.ok:
		return conditionContent{reason: placed.reason, message: placed.message}
	case !pushed.ok:
		return pushed
	case !healthy.ok:
		return healthy
	case in.Notice != "":
		// Ready stays True, with a reason that `kubectl get` shows. The override may be meant for a member that joins
		// later. And when a member leaves the fleet, a wrapper with an override for that member must stay Ready.
		return conditionContent{ok: true, reason: v1alpha1.ReasonClusterNotFound, message: healthy.message + "; " + in.Notice}
	}
	return conditionContent{ok: true, reason: v1alpha1.ReasonAllHealthy, message: healthy.message}
}

// pushedWhileDeleting computes Pushed of a wrapper that is being deleted. Such a wrapper has no placed members to count.
func pushedWhileDeleting(in Input, t tally, lines []v1alpha1.ClusterStatus, worst *v1alpha1.ClusterStatus) conditionContent {
	s := conditionContent{reason: v1alpha1.ReasonLeaving, message: "no cluster is placed any more"}
	if t.leaving > 0 {
		s.message += "; " + leavingWords(in, lines)
	}
	return blame(s, worst)
}

// healthyWhileDeleting computes Healthy of a wrapper that is being deleted. It is Unknown, because the collectors no
// longer judge the objects.
func healthyWhileDeleting() conditionContent {
	return conditionContent{unknown: true, reason: v1alpha1.ReasonDeleting,
		message: "the wrapper is being deleted: the collectors no longer judge its objects"}
}

// readyWhileDeleting computes Ready of a wrapper that is being deleted. Its message names the members that the deletion
// waits for.
func readyWhileDeleting(in Input, t tally, lines []v1alpha1.ClusterStatus, worst *v1alpha1.ClusterStatus) conditionContent {
	s := conditionContent{reason: v1alpha1.ReasonDeleting, message: "the wrapper has left all clusters"}
	if t.leaving > 0 {
		s.message = blame(conditionContent{message: leavingWords(in, lines)}, worst).message
	}
	return s
}

// leavingWords returns the part of a message that names the members that the wrapper is leaving. If the removal from
// some of them has a problem, it also names the command that ends the wait for them. It returns "" if the wrapper is
// leaving no member.
func leavingWords(in Input, lines []v1alpha1.ClusterStatus) string {
	var leaving, stuck []string
	for i := range in.Members {
		if !in.Members[i].Leaving {
			continue
		}
		leaving = append(leaving, lines[i].Name)
		notHeardYet := lines[i].State == v1alpha1.StateUnknown && in.Members[i].Reachability.Message == ""
		if !notHeardYet && lines[i].Reason != v1alpha1.ReasonLeaving {
			stuck = append(stuck, lines[i].Name)
		}
	}
	if len(leaving) == 0 {
		return ""
	}
	words := fmt.Sprintf("the wrapper is still leaving %s (%s)", messages.Count(len(leaving), "cluster"), messages.Few(leaving, maxNames))
	if len(stuck) > 0 {
		// The command names at most maxNames members. After the person has run it, the next message names further
		// members.
		words += fmt.Sprintf("; `%s --release %s` ends the wait, and leaves the objects there",
			in.Approve, strings.Join(stuck[:min(len(stuck), maxNames)], ","))
	}
	return words
}

// blame adds member, state and message of the worst line to the message of a condition, and replaces the reason by that
// line's reason. If worst is nil, it changes nothing.
func blame(s conditionContent, worst *v1alpha1.ClusterStatus) conditionContent {
	if worst == nil {
		return s
	}
	s.reason = conditionReason(worst.Reason, s.reason)
	s.message += "; " + worst.Name + " is " + string(worst.State)
	if worst.Message != "" {
		s.message += ": " + worst.Message
	}
	return s
}

// conditionReason converts the reason of a line into the reason of a condition. A line's reason may come from any
// controller, and have characters that a condition's reason must not have. The API server would then refuse the whole
// status.
func conditionReason(word, fallback string) string {
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_,:", r) {
			return r
		}
		return -1
	}, word)
	kept = strings.TrimRight(strings.TrimLeft(kept, "0123456789_,:"), ",:")
	if kept == "" {
		return fallback
	}
	return kept
}

func holds(placed int32) string {
	if placed == 1 {
		return "the one placed cluster holds"
	}
	return fmt.Sprintf("all %d placed clusters hold", placed)
}
