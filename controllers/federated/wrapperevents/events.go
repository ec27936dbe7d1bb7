// SPDX-License-Identifier: Apache-2.0

package wrapperevents

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// Bounded cuts the note of each event to the length that the API server accepts. All events about wrappers go
// through it.
type Bounded struct{ events.EventRecorder }

// Eventf implements events.EventRecorder. Related may be nil.
func (r Bounded) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", report.Note(fmt.Sprintf(note, args...)))
}

// stalledBy returns the condition Stalled; nil if it is absent.
func stalledBy(s *v1alpha1.WrapperStatus) *metav1.Condition {
	return meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionStalled)
}

// Event is one event about a wrapper.
type Event struct {
	// member is the MemberCluster of the event; nil if it has none.
	member *corev1.ObjectReference
	// kind is corev1.EventTypeNormal or corev1.EventTypeWarning.
	kind, reason, action, note string
}

// Record records events about a wrapper.
func Record(recorder events.EventRecorder, wrapper v1alpha1.Wrapper, all ...Event) {
	for _, e := range all {
		var related runtime.Object
		if e.member != nil {
			related = e.member
		}
		recorder.Eventf(wrapper, related, e.kind, e.reason, e.action, "%s", e.note)
	}
}

// Readiness returns an event when a wrapper gets into trouble (see inTrouble), when the reason changes, when a deadline passes, and
// when the trouble ends. deleting is true for a wrapper that is being deleted: then only the deadline has an event.
func Readiness(before, after *v1alpha1.WrapperStatus, deleting bool) (all []Event) {
	was := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady)
	if was, is := stalledBy(before), stalledBy(after); is != nil && is.Reason == v1alpha1.ReasonProgressDeadlineExceeded && (was == nil || was.Reason != is.Reason) {
		all = append(all, Event{kind: corev1.EventTypeWarning, reason: is.Reason, action: "Report", note: is.Message})
	}
	switch {
	case is == nil || deleting:
	case is.Status == metav1.ConditionTrue:
		if was != nil && was.Status == metav1.ConditionFalse && inTrouble(before, was) {
			all = append(all, Event{kind: corev1.EventTypeNormal, reason: "Recovered", action: "Report", note: "the wrapper is ready again: " + is.Message})
		}
	case inTrouble(after, is) && (was == nil || was.Reason != is.Reason || !inTrouble(before, was)):
		all = append(all, Event{kind: corev1.EventTypeWarning, reason: is.Reason, action: "Report", note: is.Message})
	}
	return all
}

// Rollout returns an event when a rollout begins, a wave begins or needs an approval, or the rollout fails or
// ends. It returns two when a rollout begins with a wave that needs an approval. approve is the command that approves the rollout.
func Rollout(before, after *v1alpha1.RolloutStatus, approve string) []Event {
	warn := func(reason string) []Event {
		return []Event{{kind: corev1.EventTypeWarning, reason: reason, action: "Rollout", note: report.NewRollout(after, approve).Message}}
	}
	say := func(reason, note string, args ...any) []Event {
		return []Event{{kind: corev1.EventTypeNormal, reason: reason, action: "Rollout", note: fmt.Sprintf(note, args...)}}
	}
	isNew := before.ID != after.ID
	turned := isNew || before.State != after.State
	switch {
	case after.State == v1alpha1.RolloutPaused && turned:
		return warn(v1alpha1.ReasonRolloutPaused)
	case after.State == v1alpha1.RolloutRollingBack && turned:
		return warn(v1alpha1.ReasonRolloutRollsBack)
	case after.State == v1alpha1.RolloutRolledBack && turned:
		return warn(v1alpha1.ReasonRolloutRolledBack)
	case after.State == v1alpha1.RolloutComplete && turned:
		return say(v1alpha1.ReasonRolloutComplete, "all waves of the rollout of revision %s have passed", after.Revision)
	case isNew:
		began := say(v1alpha1.ReasonRolloutBegan, "the rollout of revision %s begins with wave %s (rollout id %s)", after.Revision, after.Wave, after.ID)
		if after.WaitingFor == v1alpha1.ReasonWaveNeedsApproval {
			return append(began, say(v1alpha1.ReasonWaveNeedsApproval, "%s", report.NewRollout(after, approve).Message)...)
		}
		return began
	case after.Wave != "" && after.Begun == v1alpha1.Yes && (before.Wave != after.Wave || before.Begun != v1alpha1.Yes):
		return say(v1alpha1.ReasonWaveBegan, "wave %s of the rollout of revision %s begins", after.Wave, after.Revision)
	case before.Wave != after.Wave && after.WaitingFor == v1alpha1.ReasonWaveNeedsApproval:
		return say(v1alpha1.ReasonWaveNeedsApproval, "%s", report.NewRollout(after, approve).Message)
	}
	return nil
}

// Versions returns an event for each version that the manager has taken.
func Versions(before, after *v1alpha1.UpgradeStatus) (all []Event) {
	for i := range after.Subscriptions {
		s := &after.Subscriptions[i]
		if slices.ContainsFunc(before.Subscriptions, func(w v1alpha1.SubscriptionVersion) bool { return w.Name == s.Name && w.CSV == s.CSV }) || s.CSV == "" {
			continue
		}
		all = append(all, Event{kind: corev1.EventTypeNormal, reason: v1alpha1.ReasonVersionTaken, action: "Upgrade", note: fmt.Sprintf(
			"Subscription %s: the manager takes %s as the target, because the members of the first wave report this version", s.Name, s.CSV)})
	}
	return all
}

// Outdated returns the event for an Approval that names another rollout than the present one, or a wave that the present one does not
// have. The parameter waves has the names of the waves.
func Outdated(a *v1alpha1.Approval, state *rollout.State, waves []string) Event {
	if a.Spec.Rollout == state.ID && a.Spec.Revision == state.Revision {
		return Event{kind: corev1.EventTypeWarning, reason: v1alpha1.ReasonApprovalOutdated, action: "Rollout", note: fmt.Sprintf(
			"Approval %s does not count: its spec.wave is %s, and spec.rollout has no wave of this name. Run `kubectl delete approval %s -n %s`, and approve one of the waves %s",
			a.Name, a.Spec.Wave, a.Name, a.Namespace, strings.Join(waves, ", "))}
	}
	return Event{kind: corev1.EventTypeWarning, reason: v1alpha1.ReasonApprovalOutdated, action: "Rollout", note: fmt.Sprintf(
		"Approval %s does not count: it is for rollout %s of %s, and the present rollout is %s of %s. Run `kubectl delete approval %s -n %s`, and approve the present rollout",
		a.Name, a.Spec.Rollout, a.Spec.Revision, state.ID, state.Revision, a.Name, a.Namespace)}
}

// Kept returns, for each member, an event about the objects that a push kept there, and one about the operators that OLM left there. Fairlead
// does not manage these objects from then on. Each event has its MemberCluster as related object. Without the related object, the recorder
// would merge the events of several members into the first, because it does not compare the notes.
func Kept(key push.Key, kept map[string][]push.Kept, members map[string]*v1alpha1.MemberCluster) (all []Event) {
	for name, objects := range kept {
		all = append(all, KeptOn(key, name, objects, members[name])...)
	}
	return all
}

// KeptOn returns the events for one member. mc is nil if the member has no MemberCluster.
func KeptOn(key push.Key, member string, kept []push.Kept, mc *v1alpha1.MemberCluster) (all []Event) {
	related := &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MemberCluster", Name: member}
	if mc != nil {
		related.UID = mc.UID
	}
	var own []push.Kept
	var operators []string
	for _, k := range kept {
		if k.Reason == v1alpha1.ReasonOperatorLeft {
			operators = append(operators, k.Object)
		} else {
			own = append(own, k)
		}
	}
	if len(own) > 0 {
		all = append(all, Event{member: related, kind: corev1.EventTypeNormal, reason: v1alpha1.ReasonKept, action: "Remove",
			note: keptWords(member, messages.KeptCommand(key.Kind, key.Namespace, key.Name), own)})
	}
	if len(operators) > 0 {
		all = append(all, Event{member: related, kind: corev1.EventTypeNormal, reason: v1alpha1.ReasonOperatorLeft, action: "Remove",
			note: fmt.Sprintf("on member %s the operator stays: OLM does not remove it with its Subscription. If you want to remove it, delete its "+
				"ClusterServiceVersion there: %s", member, strings.Join(operators, ", "))})
	}
	return all
}

// maxReasons is the largest number of different reasons in the note of one event Kept.
const maxReasons = 3

// keptWords is the note of the event Kept: how many objects stay on a member, the command that lists them, the reasons,
// and the names. The recorder cuts off the names that do not fit.
func keptWords(member, command string, kept []push.Kept) string {
	counts := make(map[string]int)
	var reasons, names []string
	for _, k := range kept {
		if counts[k.Why]++; counts[k.Why] == 1 {
			reasons = append(reasons, k.Why)
		}
		names = append(names, k.Object)
	}
	var why strings.Builder
	for i, reason := range reasons {
		if i == maxReasons {
			fmt.Fprintf(&why, "; %d other reasons", len(reasons)-i)
			break
		}
		fmt.Fprintf(&why, "; %d: %s", counts[reason], reason)
	}
	stay := fmt.Sprintf("%d objects stay", len(kept))
	if len(kept) == 1 {
		stay = "1 object stays"
	}
	return fmt.Sprintf("%s on member %s (`%s` lists all)%s: %s", stay, member, command, why.String(), strings.Join(names, ", "))
}

// inTrouble reports whether a member is Degraded, Stalled or Unreachable, or a removal waits for an Approval.
func inTrouble(s *v1alpha1.WrapperStatus, ready *metav1.Condition) bool {
	if ready.Reason == v1alpha1.ReasonRemovalNeedsApproval {
		return true
	}
	c := s.Counts
	for _, n := range []*int32{c.Degraded, c.Stalled, c.Unreachable} {
		if n != nil && *n > 0 {
			return true
		}
	}
	return false
}
