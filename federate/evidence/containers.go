// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Container is a container that does not run or is not ready. Pick fills in all fields but the two logs.
type Container struct {
	Namespace, Pod, Name string
	// State is Waiting, Running or Terminated, and Reason why the container is in this state; "" if the kubelet has written none.
	State, Reason string
	Restarts      int32
	// HasLog is true if the kubelet has a log of the present or the last run, and HasPreviousLog if it also has one of the run before.
	HasLog, HasPreviousLog bool
	// Log and PreviousLog are the ends of these logs, as the member sent them, each from the beginning of a line on.
	Log, PreviousLog string

	crashed bool
}

// The states of a container.
const (
	StateWaiting    = "Waiting"
	StateRunning    = "Running"
	StateTerminated = "Terminated"
)

// Pick returns the containers of the pods that do not run or are not ready, except those that have done their work. It returns at most
// 8. Containers that have ended, now or before a restart, come first.
func Pick(pods []*health.PodObject) []Container {
	var picked []Container
	for _, p := range pods {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			ended, last := c.State.Terminated, c.LastTerminationState.Terminated
			if c.Ready || ended != nil && ended.ExitCode == 0 && !p.RunsOn(c.Name) {
				continue
			}
			found := Container{
				Namespace: p.Metadata.Namespace, Pod: p.Metadata.Name, Name: c.Name, Restarts: max(c.RestartCount, 0),
				crashed: ended != nil || last != nil,
			}
			found.State, found.Reason = stateOf(c.State)
			if !nodeIsLost(p) {
				// While a container waits, the kubelet returns the log of the last run for both logs. It has no log of a
				// container that has never run (validateContainerLogStatus in k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go).
				found.HasLog = c.State.Running != nil || found.crashed
				found.HasPreviousLog = last != nil && (c.State.Running != nil || ended != nil && ended.ContainerID != "")
			}
			picked = append(picked, found)
		}
	}
	slices.SortStableFunc(picked, func(a, b Container) int {
		switch {
		case a.crashed == b.crashed:
			return 0
		case a.crashed:
			return -1
		}
		return 1
	})
	return picked[:min(len(picked), MaxContainers)]
}

// stateOf returns the state of a container, and the reason of the state. A container without a state waits (corev1.ContainerState).
func stateOf(s corev1.ContainerState) (state, reason string) {
	switch {
	case s.Running != nil:
		return StateRunning, ""
	case s.Terminated != nil:
		return StateTerminated, s.Terminated.Reason
	case s.Waiting != nil:
		return StateWaiting, s.Waiting.Reason
	}
	return StateWaiting, ""
}

// nodeIsLost reports whether the node of a pod does not answer, so that no log of the pod can be read.
func nodeIsLost(p *health.PodObject) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c health.PodCondition) bool {
		return c.Type == corev1.PodReady && strings.HasPrefix(c.Reason, "Node")
	})
}

// observed returns the containers with redacted and cleaned texts. Their logs share 8 KiB: the bytes that the earlier logs have left are
// divided equally among the remaining logs. A log has 4 KiB at most.
func observed(containers []Container) []v1alpha1.ObservedContainer {
	var all []v1alpha1.ObservedContainer
	logs := 0
	for i := range containers[:min(len(containers), MaxContainers)] {
		c := &containers[i]
		o := v1alpha1.ObservedContainer{
			Pod: health.Clean(c.Pod, MaxName), Name: health.Clean(c.Name, MaxKind), State: cmp.Or(c.State, StateWaiting),
			Reason: health.Tidy(c.Reason, MaxReason), Restarts: max(c.Restarts, 0),
			Log: health.LogText(c.Log), PreviousLog: health.LogText(c.PreviousLog),
		}
		if o.Pod == "" || o.Name == "" {
			continue
		}
		all = append(all, o)
		for _, log := range []string{o.Log, o.PreviousLog} {
			if log != "" {
				logs++
			}
		}
	}
	left := MaxLogs
	for i := range all {
		for _, log := range []*string{&all[i].Log, &all[i].PreviousLog} {
			if *log != "" {
				*log = tail(*log, min(maxLog, left/logs))
				left, logs = left-len(*log), logs-1
			}
		}
	}
	return all
}

// tail returns the last lines of a text that fit into limit bytes, without empty lines at both ends. If the last line alone is longer,
// it returns the end of that line. The text is redacted.
func tail(text string, limit int) string {
	text = strings.TrimRight(text, " \t\n")
	if cut := len(text) - limit; cut > 0 {
		isWhole := text[cut-1] == '\n'
		text = text[cut:]
		if _, lines, ok := strings.Cut(text, "\n"); ok && !isWhole {
			text = lines
		}
		text = strings.ToValidUTF8(text, "") // the rest of a character that was cut
	}
	return strings.Trim(text, "\n")
}
