// SPDX-License-Identifier: Apache-2.0

package federated

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

// boundedRecorder cuts the note of each event to the length that the API server accepts. All events of this package go
// through it.
type boundedRecorder struct{ events.EventRecorder }

// Eventf implements events.EventRecorder. Related may be nil.
func (r boundedRecorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", report.Note(fmt.Sprintf(note, args...)))
}

// stalledBy returns the condition Stalled; nil if it is absent.
func stalledBy(s *v1alpha1.WrapperStatus) *metav1.Condition {
	return meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionStalled)
}

// recordReadiness records an event when a wrapper gets into trouble (see inTrouble), when the reason changes, when a deadline passes, and
// when the trouble ends. It records no other event.
func (p *reconciliation) recordReadiness(before, after *v1alpha1.WrapperStatus) {
	was := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady)
	if was, is := stalledBy(before), stalledBy(after); is != nil && is.Reason == v1alpha1.ReasonProgressDeadlineExceeded && (was == nil || was.Reason != is.Reason) {
		p.events.Eventf(p.wrapper, nil, corev1.EventTypeWarning, is.Reason, "Report", "%s", is.Message)
	}
	switch {
	case is == nil || p.wrapper.GetDeletionTimestamp() != nil:
	case is.Status == metav1.ConditionTrue:
		if was != nil && was.Status == metav1.ConditionFalse && inTrouble(before, was) {
			p.events.Eventf(p.wrapper, nil, corev1.EventTypeNormal, "Recovered", "Report", "the wrapper is ready again: %s", is.Message)
		}
	case inTrouble(after, is) && (was == nil || was.Reason != is.Reason || !inTrouble(before, was)):
		p.events.Eventf(p.wrapper, nil, corev1.EventTypeWarning, is.Reason, "Report", "%s", is.Message)
	}
}

// recordRollout records an event when a rollout begins, a wave begins or needs an approval, or the rollout fails or
// ends.
func (p *reconciliation) recordRollout(before, after *v1alpha1.RolloutStatus) {
	warn := func(reason string) {
		p.events.Eventf(p.wrapper, nil, corev1.EventTypeWarning, reason, "Rollout", "%s",
			report.NewRollout(after, messages.ApproveCommand(p.key.Kind, p.key.Namespace, p.key.Name)).Message)
	}
	say := func(reason, note string, args ...any) {
		p.events.Eventf(p.wrapper, nil, corev1.EventTypeNormal, reason, "Rollout", note, args...)
	}
	isNew := before.ID != after.ID
	switch {
	case after.State == v1alpha1.RolloutPaused && (isNew || before.State != after.State):
		warn(v1alpha1.ReasonRolloutPaused)
	case after.State == v1alpha1.RolloutRollingBack && (isNew || before.State != after.State):
		warn(v1alpha1.ReasonRolloutRollsBack)
	case after.State == v1alpha1.RolloutRolledBack && (isNew || before.State != after.State):
		warn(v1alpha1.ReasonRolloutRolledBack)
	case after.State == v1alpha1.RolloutComplete && (isNew || before.State != after.State):
		say(v1alpha1.ReasonRolloutComplete, "all waves of the rollout of revision %s have passed", after.Revision)
	case isNew:
		say(v1alpha1.ReasonRolloutBegan, "the rollout of revision %s begins with wave %s (rollout id %s)", after.Revision, after.Wave, after.ID)
	case after.Wave != "" && after.Begun == v1alpha1.Yes && (before.Wave != after.Wave || before.Begun != v1alpha1.Yes):
		say(v1alpha1.ReasonWaveBegan, "wave %s of the rollout of revision %s begins", after.Wave, after.Revision)
	case before.Wave != after.Wave && after.WaitingFor == v1alpha1.ReasonWaveNeedsApproval:
		say(v1alpha1.ReasonWaveNeedsApproval, "%s", report.NewRollout(after, messages.ApproveCommand(p.key.Kind, p.key.Namespace, p.key.Name)).Message)
	}
}

// recordVersions records an event for each version that the manager has taken.
func (p *reconciliation) recordVersions(before, after *v1alpha1.UpgradeStatus) {
	for i := range after.Subscriptions {
		s := &after.Subscriptions[i]
		if slices.ContainsFunc(before.Subscriptions, func(w v1alpha1.SubscriptionVersion) bool { return w.Name == s.Name && w.CSV == s.CSV }) || s.CSV == "" {
			continue
		}
		p.events.Eventf(p.wrapper, nil, corev1.EventTypeNormal, v1alpha1.ReasonVersionTaken, "Upgrade",
			"Subscription %s: the manager takes %s as the target, because the members of the first wave report this version", s.Name, s.CSV)
	}
}

// recordOutdated records an event, once, for an Approval that names another rollout than the present one. It records
// none for an Approval that is older than the present wave: such an Approval may have counted for an earlier rollout.
func (p *reconciliation) recordOutdated(a *v1alpha1.Approval, state *rollout.State) {
	if state.ID == "" || !p.rollouts.isNewlyOutdated(p.key, a.Name) || !a.CreationTimestamp.After(state.Since) {
		return
	}
	p.events.Eventf(p.wrapper, nil, corev1.EventTypeWarning, v1alpha1.ReasonApprovalOutdated, "Rollout",
		"Approval %s does not count: it is for rollout %s of %s, and the present rollout is %s of %s. Run `kubectl delete approval %s -n %s`, and approve the present rollout",
		a.Name, a.Spec.Rollout, a.Spec.Revision, state.ID, state.Revision, a.Name, a.Namespace)
}

// recordKept records an event for each member on which a push kept objects. Fairlead does not manage these objects from
// then on. Each event has its MemberCluster as related object. Without the related object, the recorder would merge the
// events of several members into the first, because it does not compare the notes.
func (p *reconciliation) recordKept() {
	for name, kept := range p.pusher.TakeKept(p.key) {
		p.recordKeptOn(name, kept)
	}
}

func (p *reconciliation) recordKeptOn(name string, kept []push.Kept) {
	related := &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MemberCluster", Name: name}
	if mc := p.members[name]; mc != nil {
		related.UID = mc.UID
	}
	p.events.Eventf(p.wrapper, related, corev1.EventTypeNormal, v1alpha1.ReasonKept, "Remove", "%s",
		keptWords(name, messages.KeptCommand(p.key.Kind, p.key.Namespace, p.key.Name), kept))
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
