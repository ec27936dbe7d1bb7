// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/report"
)

// note is a fact about the whole wrapper.
type note struct {
	Message     string `json:"message"`
	NeedsPerson bool   `json:"needsPerson"`
}

// notes are in the order in which the description shows them.
type notes []note

func (n *notes) add(needsPerson bool, format string, args ...any) {
	*n = append(*n, note{fmt.Sprintf(format, args...), needsPerson})
}

// notesOf returns the notes about the whole wrapper. It returns an empty list instead of nil, which is [] in JSON.
func notesOf(w v1alpha1.Wrapper) notes {
	n := notes{}
	spec, status := w.WrapperSpec(), w.WrapperStatus()
	deleting := w.GetDeletionTimestamp() != nil
	switch {
	case deleting:
		n.add(false, "the wrapper is being deleted: %s", deletionOf(status))
	case status.ObservedGeneration == 0:
		n.add(false, "the host's manager has not acted on this wrapper yet; if that lasts, `hostctl status` shows an administrator of the host whether the manager runs")
	case status.ObservedGeneration != w.GetGeneration():
		n.add(false, "the host's manager has not acted on the present spec yet: what follows is about an earlier one")
	}
	switch {
	case spec.Suspend == v1alpha1.SuspendAll:
		n.add(false, "spec.suspend is All: the manager changes no member until it is None")
	case spec.Suspend == v1alpha1.SuspendRollout && spec.Rollout.IsPaced():
		n.add(false, "spec.suspend is Rollout: no further wave begins until it is None")
	}
	if r := &status.Rollout; r.Exists() && r.State != v1alpha1.RolloutComplete && spec.Rollout.IsPaced() && !deleting {
		n = append(n, rolloutNote(w))
	}
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Reason == v1alpha1.ReasonProgressDeadlineExceeded && !deleting {
		n.add(true, "a deadline has passed: %s", c.Message)
	}
	for i := range status.Upgrade.Subscriptions {
		if s := &status.Upgrade.Subscriptions[i]; s.Reason != "" {
			n.add(s.Reason == v1alpha1.ReasonSuspended, "Subscription %s: the manager takes no newer version: %s (%s)", s.Name, s.Message, s.Reason)
		}
	}
	if status.ClustersOmitted > 0 {
		counts := []string{}
		for _, o := range status.ClustersOmittedByState {
			counts = append(counts, fmt.Sprintf("%d %s", o.Count, o.State))
		}
		n.add(false, "%d more members have no line in the status: %s", status.ClustersOmitted, strings.Join(counts, ", "))
	}
	return n
}

// rolloutNote returns the note about a rollout that is not complete. NeedsPerson is true in the cases in which `hostctl rollout status`
// exits with 4.
func rolloutNote(w v1alpha1.Wrapper) note {
	r := &w.WrapperStatus().Rollout
	where := ""
	if r.Wave != "" {
		where = " in wave " + r.Wave
	}
	kind, namespace, name := w.WrapperKind(), w.GetNamespace(), w.GetName()
	told := report.RolloutMessage(w.WrapperStatus(), messages.ApproveCommand(kind, namespace, name))
	if told != "" {
		told = ": " + told
	}
	if r.WaitingFor != "" {
		told += " (" + r.WaitingFor + ")"
	}
	return note{
		Message: fmt.Sprintf("the rollout of %s is %s%s%s; see `%s`", r.Revision, r.State, where, told, messages.StatusCommand(kind, namespace, name)),
		NeedsPerson: r.State == v1alpha1.RolloutPaused || r.State == v1alpha1.RolloutRolledBack ||
			r.WaitingFor == v1alpha1.ReasonWaveNeedsApproval || r.WaitingFor == v1alpha1.ReasonSuspended,
	}
}

// deletionOf returns what a deletion waits for.
func deletionOf(status *v1alpha1.WrapperStatus) string {
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != v1alpha1.ReasonDeleting {
		return "the host's manager has not acted on that yet"
	}
	return ready.Message
}
