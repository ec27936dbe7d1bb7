// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Trouble is the cause that keeps pods of a workload from becoming ready. If there are several causes, it is the one with the smallest
// rank, because that one may have brought about the others. Its texts come from the member. They are neither bounded nor cleaned nor
// redacted: Tell does that.
type Trouble struct {
	// Namespace, Pod and UID identify a pod that has the cause: the newest of those whose cause has the same rank. They are "" if
	// the controller of the workload cannot create pods.
	Namespace, Pod string
	UID            types.UID
	// Container is the name of the failing container; "" if the cause concerns the whole pod.
	Container string
	// Log tells which of the container's logs has the cause in its last lines.
	Log Log
	// Event is the kind of Warning event about the pod that tells more about the cause.
	Event Event

	rank int
	// failing is true if the cause probably does not go away by itself. Tell reports the object as failing only when it finds the same
	// cause a second time.
	failing bool
	reason  string
	// words are the rest of a sentence that begins with the pod's name. The field left is the container's termination message.
	words    string
	left     string
	created  time.Time
	affected int // the number of pods with this reason
	all      int // the number of pods that FirstTrouble judged
}

// Log is a log of a container.
type Log int

// The logs of a container.
const (
	// NoLog means that no log tells more about the cause.
	NoLog Log = iota
	// CurrentLog is the log of the container that runs now, or ran last.
	CurrentLog
	// PreviousLog is the log of the container before its last restart.
	PreviousLog
)

// Event is a kind of Warning event about a pod, which tells more about a cause than the pod's status.
type Event int

// The kinds of events.
const (
	// NoEvent means that no event tells more about the cause.
	NoEvent Event = iota
	// PullEvent has the error of the registry. Before Kubernetes 1.31, most of the time only this event has the error, and not the
	// pod's status.
	PullEvent
	// ProbeEvent has the result of a probe that failed.
	ProbeEvent
	// StartEvent has what a container waits for before it starts, for example its volume.
	StartEvent
)

// Accepts reports whether an event with this reason and message is of the kind e.
func (e Event) Accepts(reason, message string) bool {
	switch e {
	case PullEvent:
		return strings.HasPrefix(message, "Failed to pull image")
	case ProbeEvent:
		return reason == "Unhealthy"
	case StartEvent:
		return reason != reasonFailedScheduling && reason != "Unhealthy" && reason != "BackOff"
	}
	return false
}

// The ranks of causes: a cause that can bring about another one has the smaller rank. A container that was never created has no
// exit code, and a container that crashes is never ready.
const (
	rankCreate = iota
	rankMemory
	rankCrash
	rankPod
	rankSchedule
	rankReady
	rankStart
)

const (
	waitsImagePullBackOff  = "ImagePullBackOff"
	waitsCrashLoopBackOff  = "CrashLoopBackOff"
	endedOOMKilled         = "OOMKilled"
	reasonFailedScheduling = "FailedScheduling"
	reasonFailedCreate     = "FailedCreate"
)

// preemption matches the part of the scheduler's message about preemption. That part repeats the number of nodes, and tells no cause.
var preemption = regexp.MustCompile(`\.? (no new claims to deallocate, )?preemption: .*$`)

// FirstTrouble returns the cause with the smallest rank among the pods of a workload at the time now; nil if no pod has a cause. A
// container that has not started counts as a cause even if it starts as usual; Tell then returns nil. FirstTrouble ignores pods that are
// being deleted and pods that have succeeded.
func FirstTrouble(pods []PodObject, now time.Time) *Trouble {
	found, all := troubles(pods, now)
	if len(found) == 0 {
		return nil
	}
	first := found[0].Trouble
	first.all = all
	for _, t := range found {
		if t.reason == first.reason {
			first.affected++
		}
	}
	return first
}

// InTrouble returns the pods of a workload that have a cause, or that are starting, at the time now. They are sorted by the ranks of their
// causes, so the first pod has the cause that FirstTrouble returns. Of pods with the same rank the newest comes first.
func InTrouble(pods []PodObject, now time.Time) []*PodObject {
	found, _ := troubles(pods, now)
	in := make([]*PodObject, 0, len(found))
	for _, t := range found {
		in = append(in, t.pod)
	}
	return in
}

// podTrouble is a pod with the cause that keeps it from being ready.
type podTrouble struct {
	*Trouble
	pod *PodObject
}

// troubles returns the causes in the pods, sorted by rank. judged is the number of pods that are not being deleted and have not
// succeeded.
func troubles(pods []PodObject, now time.Time) (found []podTrouble, judged int) {
	for i := range pods {
		p := &pods[i]
		p.bound()
		if p.Metadata.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded {
			continue
		}
		judged++
		if t := troubleOf(p, now); t != nil {
			t.Namespace, t.Pod, t.UID, t.created = p.Metadata.Namespace, p.Metadata.Name, p.Metadata.UID, p.Metadata.CreationTimestamp.Time
			found = append(found, podTrouble{t, p})
		}
	}
	slices.SortFunc(found, func(a, b podTrouble) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), b.created.Compare(a.created), strings.Compare(a.Pod, b.Pod))
	})
	return found, judged
}

// troubleOf returns the cause with the smallest rank in one pod; nil if there is none. A container that has not started is a cause without
// a reason, until an event gives the reason.
func troubleOf(p *PodObject, now time.Time) *Trouble {
	isReady, scheduled := p.condition(corev1.PodReady), p.condition(corev1.PodScheduled)
	switch {
	case p.Status.Phase == corev1.PodFailed:
		return failedPod(p)
	case isReady.Status == corev1.ConditionTrue:
		return nil
	case scheduled.Status == corev1.ConditionFalse:
		return &Trouble{rank: rankSchedule, reason: cmp.Or(scheduled.Reason, corev1.PodReasonUnschedulable),
			words: withDetail("it cannot be scheduled", preemption.ReplaceAllString(scheduled.Message, "."))}
	}
	var first *Trouble
	for _, list := range [][]containerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range list {
			if t := troubleOfContainer(p, &list[i], now); t != nil && (first == nil || t.rank < first.rank) {
				first = t
			}
		}
	}
	if first == nil && isReady.Status == corev1.ConditionFalse && isReady.Reason != "" && isReady.Reason != "PodCompleted" && len(p.Status.ContainerStatuses) > 0 {
		// The containers are ready. A readiness gate, or the node, is not.
		return &Trouble{rank: rankReady, reason: v1alpha1.ReasonPodNotReady, words: withDetail("it is not ready ("+isReady.Reason+")", isReady.Message)}
	}
	if first != nil && strings.HasPrefix(isReady.Reason, "Node") {
		first.Log = NoLog // the node does not answer
	}
	return first
}

// failedPod returns the cause for which a pod has failed for good.
func failedPod(p *PodObject) *Trouble {
	t := &Trouble{rank: rankPod, failing: true, reason: cmp.Or(p.Status.Reason, "PodFailed"), words: withDetail("it failed", p.Status.Message)}
	if p.Status.Reason != "" { // the whole pod failed, for example because of an eviction
		return t
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if ended := c.State.Terminated; ended != nil && ended.ExitCode != 0 {
			t.reason = cmp.Or(ended.Reason, "Error")
			t.ended(p, &c, ended, CurrentLog)
			return t
		}
	}
	return t
}
