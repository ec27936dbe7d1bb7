// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/rollout"
)

// olmDeadline is the sum of two limits of OLM: it unpacks a bundle within ten minutes and installs a CSV within five.
const olmDeadline = 15 * time.Minute

// overdue has the members that have not become Healthy by their deadlines.
type overdue struct {
	count int
	// first is the line of the member that has been in its state for the longest time. deadline is the deadline of that member.
	first    *v1alpha1.ClusterStatus
	deadline time.Duration
}

// pastDeadline returns the members whose deadlines have passed; nil if there are none.
func pastDeadline(in Input, lines []v1alpha1.ClusterStatus, now time.Time) *overdue {
	var late overdue
	for i := range lines {
		l, deadline := &lines[i], deadlineOf(&in.Members[i], &lines[i], in.ProgressDeadline)
		if deadline == 0 || now.Before(l.LastTransitionTime.Add(deadline)) {
			continue
		}
		late.count++
		if late.first == nil || l.LastTransitionTime.Before(&late.first.LastTransitionTime) {
			late.first, late.deadline = l, deadline
		}
	}
	if late.first == nil {
		return nil
	}
	return &late
}

// NextDeadline returns the time at which the next deadline of a member passes, if nothing else happens; zero if no deadline runs. The
// parameter status is a result of Build for the same input.
func NextDeadline(in Input, status *v1alpha1.WrapperStatus, now time.Time) time.Time {
	if in.Deleting {
		return time.Time{}
	}
	lines := LinesByName(status)
	var next time.Time
	for i := range in.Members {
		l := lines[in.Members[i].Name]
		if l == nil {
			continue // a status has at most 500 lines; those in trouble come first
		}
		deadline := deadlineOf(&in.Members[i], l, in.ProgressDeadline)
		if at := l.LastTransitionTime.Add(deadline); deadline > 0 && at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// deadlineOf returns the time for which a member may stay in the state of its line; 0 if there is no limit. A deadline runs only while the
// manager, or a controller on the member, works on the objects. Members that wait for something else, or that the manager cannot reach,
// have none. The parameter given is spec.rollout.progressDeadlineSeconds, or 0.
func deadlineOf(m *Member, l *v1alpha1.ClusterStatus, given time.Duration) time.Duration {
	switch l.State {
	case v1alpha1.StatePushing, v1alpha1.StateProgressing, v1alpha1.StateDegraded:
	default:
		return 0
	}
	if IsBeforeReinstall(l, m.Reinstall.Reason) {
		return 0
	}
	switch kind := kindAwaited(m); {
	case given > 0:
		return given
	case (kind == "Job" || kind == "Pod") && l.State == v1alpha1.StateProgressing:
		return 0 // it may run for as long as its author likes
	case kind == "Subscription" || kind == "ClusterExtension":
		return olmDeadline
	}
	return rollout.DefaultProgressDeadline // also the default of a Deployment in Kubernetes
}

// kindAwaited returns the kind of the object that the line of a member is about; "" if the line is about none.
func kindAwaited(m *Member) string {
	if m.Status == nil || !m.Held {
		return ""
	}
	if worst := worstObject(m.Status); worst != nil {
		return worst.Kind
	}
	return ""
}

// content returns the content of the condition Stalled.
func (o *overdue) content() conditionContent {
	words := fmt.Sprintf("%s has been %s since %s, longer than its deadline of %s", o.first.Name, o.first.State,
		o.first.LastTransitionTime.UTC().Format(time.RFC3339), inMinutes(o.deadline))
	if o.first.Message != "" {
		words += ": " + o.first.Message
	}
	if more := o.count - 1; more > 0 {
		words += fmt.Sprintf("; the deadlines of %d more have passed, too", more)
	}
	return conditionContent{reason: v1alpha1.ReasonProgressDeadlineExceeded, message: words}
}

// sinceWhen adds two times to the message of Reconciling: when the worst line got its state, and when its deadline passes, if it has one.
func sinceWhen(s conditionContent, in Input, worst *v1alpha1.ClusterStatus) conditionContent {
	if worst == nil {
		return s
	}
	s.message += fmt.Sprintf("; %s has been %s since %s", worst.Name, worst.State, worst.LastTransitionTime.UTC().Format(time.RFC3339))
	i := slices.IndexFunc(in.Members, func(m Member) bool { return m.Name == worst.Name })
	if deadline := deadlineOf(&in.Members[i], worst, in.ProgressDeadline); deadline > 0 && !in.Deleting {
		s.message += ", and its deadline is " + worst.LastTransitionTime.Add(deadline).UTC().Format(time.RFC3339)
	}
	return s
}

// inMinutes writes a duration in whole minutes, such as 10m, or else in seconds, such as 90s.
func inMinutes(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
