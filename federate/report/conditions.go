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

// maxNames is how many members a message names.
const maxNames = 10

// said is what a condition is to say.
type said struct {
	ok bool
	// unknown reports whether the condition is not judged: it is then neither True nor False.
	unknown bool
	reason  string
	message string
}

func (s said) status() metav1.ConditionStatus {
	switch {
	case s.unknown:
		return metav1.ConditionUnknown
	case s.ok:
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// conditions writes Placed, Pushed, Healthy and their summary Ready, and Reconciling and Stalled while
// they are true.
func conditions(in Input, t tally, lines []v1alpha1.ClusterStatus, now time.Time) []metav1.Condition {
	all := make([]metav1.Condition, 0, 6)
	for _, c := range in.Before.Conditions {
		if c.Type != v1alpha1.ConditionReconciling && c.Type != v1alpha1.ConditionStalled {
			all = append(all, c)
		}
	}
	set := func(kind string, s said) {
		meta.SetStatusCondition(&all, metav1.Condition{Type: kind, Status: s.status(), Reason: s.reason, Message: Condition(s.message),
			ObservedGeneration: in.Generation, LastTransitionTime: metav1.NewTime(now)})
	}
	worst := worstLine(lines)
	placed, pushed, healthy := placedSays(in), pushedSays(in, t, lines, worst), healthySays(t, worst)
	ready := readySays(in, placed, pushed, healthy)
	if in.Deleting {
		pushed, healthy, ready = leftSays(in, t, lines, worst), unjudgedSays(), deletingSays(in, t, lines, worst)
	}
	set(v1alpha1.ConditionPlaced, placed)
	set(v1alpha1.ConditionPushed, pushed)
	set(v1alpha1.ConditionHealthy, healthy)
	set(v1alpha1.ConditionReady, ready)

	keep := func(kind string, was *metav1.Condition, s said) {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: s.reason, Message: Condition(s.message),
			ObservedGeneration: in.Generation, LastTransitionTime: metav1.NewTime(now)}
		if was != nil {
			c.LastTransitionTime = was.LastTransitionTime
		}
		all = append(all, c)
	}
	switch {
	case ready.ok:
	case in.Invalid != "" || t.stalled > 0:
		keep(v1alpha1.ConditionStalled, meta.FindStatusCondition(in.Before.Conditions, v1alpha1.ConditionStalled), ready)
	case in.Deleting || t.progressing+t.degraded+t.unreachable+t.leaving > 0:
		keep(v1alpha1.ConditionReconciling, meta.FindStatusCondition(in.Before.Conditions, v1alpha1.ConditionReconciling), ready)
	}
	return all
}

func placedSays(in Input) said {
	return said{ok: in.PlacedOK, reason: in.PlacedReason, message: in.PlacedMessage}
}

func pushedSays(in Input, t tally, lines []v1alpha1.ClusterStatus, worst *v1alpha1.ClusterStatus) said {
	if t.updated == t.placed && t.leaving == 0 {
		return said{ok: true, reason: v1alpha1.ReasonAllUpdated, message: fmt.Sprintf("%s the update revision", holds(t.placed))}
	}
	s := said{reason: v1alpha1.ReasonPushing, message: fmt.Sprintf("%d of %d clusters hold the update revision", t.updated, t.placed)}
	if words := leavingWords(in, lines); words != "" {
		s.message += "," + words
	}
	return blame(s, worst)
}

func healthySays(t tally, worst *v1alpha1.ClusterStatus) said {
	if t.healthy == t.placed {
		return said{ok: true, reason: v1alpha1.ReasonAllHealthy, message: fmt.Sprintf("%d of %d clusters are healthy", t.healthy, t.placed)}
	}
	return blame(said{reason: v1alpha1.ReasonApplying, message: fmt.Sprintf("%d of %d clusters are healthy", t.healthy, t.placed)}, worst)
}

// readySays picks what a person has to know first of a wrapper that is not being deleted.
func readySays(in Input, placed, pushed, healthy said) said {
	switch {
	case in.Invalid != "":
		return said{reason: v1alpha1.ReasonSpecInvalid, message: in.Invalid}
	case !placed.ok:
		return said{reason: placed.reason, message: placed.message}
	case !pushed.ok:
		return pushed
	case !healthy.ok:
		return healthy
	case in.Notice != "":
		// Ready stays True: the override may be meant for a member that joins later, and one that left must not
		// make every wrapper wait that names it. The reason is what `kubectl get` shows.
		return said{ok: true, reason: v1alpha1.ReasonClusterNotFound, message: healthy.message + "; " + in.Notice}
	}
	return said{ok: true, reason: v1alpha1.ReasonAllHealthy, message: healthy.message}
}

// leftSays is Pushed of a wrapper that is being deleted: it is placed nowhere, so there is nothing to count.
func leftSays(in Input, t tally, lines []v1alpha1.ClusterStatus, worst *v1alpha1.ClusterStatus) said {
	s := said{reason: v1alpha1.ReasonLeaving, message: "no cluster is to hold it any more"}
	if t.leaving > 0 {
		s.message += "," + leavingWords(in, lines)
	}
	return blame(s, worst)
}

// unjudgedSays is Healthy of a wrapper that is being deleted. Its collectors judge nothing any more, and
// health that is not known is neither good nor bad.
func unjudgedSays() said {
	return said{unknown: true, reason: v1alpha1.ReasonDeleting,
		message: "the wrapper is being deleted: what its clusters still hold is not judged any more"}
}

// deletingSays names whom the deletion waits for.
func deletingSays(in Input, t tally, lines []v1alpha1.ClusterStatus, worst *v1alpha1.ClusterStatus) said {
	s := said{reason: v1alpha1.ReasonDeleting, message: "no cluster is left to wait for"}
	if t.leaving > 0 {
		s.message = blame(said{message: "waiting for" + leavingWords(in, lines)}, worst).message
	}
	return s
}

// leavingWords names the members that are being left, and says how to wait no longer for those where it
// does not go on.
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
	words := fmt.Sprintf(" %d being left (%s)", len(leaving), messages.Few(leaving, maxNames))
	if len(stuck) > 0 {
		// More than these take another command, when these are done.
		words += fmt.Sprintf("; `%s --release %s` waits no longer, and leaves there what is there",
			in.Approve, strings.Join(stuck[:min(len(stuck), maxNames)], ","))
	}
	return words
}

// blame adds the worst line's words: whose it is and what it says.
func blame(s said, worst *v1alpha1.ClusterStatus) said {
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

// conditionReason makes a reason of a condition out of a line's, whose word may be any controller's: what
// the API server does not take there goes, or the whole status would be refused.
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
