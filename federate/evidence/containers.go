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
	// State is Waiting, Running or Terminated. Reason is the reason of the state; "" if the kubelet has written none.
	State, Reason string
	Restarts      int32
	// HasLog is true if the kubelet has a log of the present run or, if none runs, of the last run. HasPreviousLog is true if it also has
	// a log of the run before that.
	HasLog, HasPreviousLog bool
	// Log and PreviousLog are the ends of these two logs, as the member sent them. Each starts at the beginning of a line.
	Log, PreviousLog string

	crashed bool
}

// The states of a container.
const (
	StateWaiting    = "Waiting"
	StateRunning    = "Running"
	StateTerminated = "Terminated"
)

// Pick returns at most 8 containers of the pods: containers that do not run or are not ready, except those that were to end and have
// ended with exit code 0. Containers that have ended at least once come first.
func Pick(pods []*health.PodObject) []Container {
	var picked []Container
	for _, p := range pods {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			ended, last := c.State.Terminated, c.LastTerminationState.Terminated
			if c.Ready || ended != nil && ended.ExitCode == 0 && !p.RunsOn(c.Name) {
				continue
			}
			found := containerOf(p, c.Name, c.RestartCount, &c.State, last != nil)
			found.HasPreviousLog = last != nil && !nodeIsLost(p) && (c.State.Running != nil || ended != nil && ended.ContainerID != "")
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

// PickAll returns at most 8 containers that have a log, and the number of all such containers in the pods. It sorts them by the names
// of the pods, so that the choice changes only when the pods change. Init containers come last.
func PickAll(pods []*health.PodObject) (picked []Container, all int) {
	pods = slices.SortedFunc(slices.Values(pods), func(a, b *health.PodObject) int { return cmp.Compare(a.Metadata.Name, b.Metadata.Name) })
	add := func(p *health.PodObject, name string, restarts int32, state *corev1.ContainerState, hasEnded bool) {
		if found := containerOf(p, name, restarts, state, hasEnded); found.HasLog {
			if all++; len(picked) < MaxContainers {
				picked = append(picked, found)
			}
		}
	}
	for _, p := range pods {
		for _, c := range p.Status.ContainerStatuses {
			add(p, c.Name, c.RestartCount, &c.State, c.LastTerminationState.Terminated != nil)
		}
	}
	for _, p := range pods {
		for _, c := range p.Status.InitContainerStatuses {
			add(p, c.Name, c.RestartCount, &c.State, c.LastTerminationState.Terminated != nil)
		}
	}
	return picked, all
}

// containerOf returns a container without its logs. hasEnded is true if the status records an earlier run that has ended.
func containerOf(p *health.PodObject, name string, restarts int32, state *corev1.ContainerState, hasEnded bool) Container {
	found := Container{
		Namespace: p.Metadata.Namespace, Pod: p.Metadata.Name, Name: name, Restarts: max(restarts, 0),
		crashed: state.Terminated != nil || hasEnded,
	}
	found.State, found.Reason = stateOf(*state)
	// While a container waits, the kubelet returns the log of the last run as the current log and as the previous log. It has no log
	// of a container that has never run (validateContainerLogStatus in k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go).
	found.HasLog = !nodeIsLost(p) && (state.Running != nil || found.crashed)
	return found
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

// nodeIsLost reports whether the node of a pod does not answer, so that nobody can read a log of the pod.
func nodeIsLost(p *health.PodObject) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c health.PodCondition) bool {
		return c.Type == corev1.PodReady && strings.HasPrefix(c.Reason, "Node")
	})
}

// logLimits bound the logs of one object.
type logLimits struct {
	// The field one is the limit of each log, and the field all is the limit of all logs together, in bytes.
	one, all int
	// text is the function that redacts and cleans a log.
	text func(string) string
}

// observed returns the containers with redacted and cleaned texts. Their logs share the limit limits.all. observed goes through the logs
// in order: it divides the bytes that are left by the number of logs that are left, and cuts the next log to the result, or to limits.one
// if that is less.
func observed(containers []Container, limits logLimits) []v1alpha1.ObservedContainer {
	var all []v1alpha1.ObservedContainer
	logs := 0
	for i := range containers[:min(len(containers), MaxContainers)] {
		c := &containers[i]
		o := v1alpha1.ObservedContainer{
			Pod: health.Clean(c.Pod, MaxName), Name: health.Clean(c.Name, MaxKind), State: cmp.Or(c.State, StateWaiting),
			Reason: health.Tidy(c.Reason, MaxReason), Restarts: max(c.Restarts, 0),
			Log: limits.text(c.Log), PreviousLog: limits.text(c.PreviousLog),
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
	left := limits.all
	for i := range all {
		for _, log := range []*string{&all[i].Log, &all[i].PreviousLog} {
			if *log != "" {
				*log = tail(*log, min(limits.one, left/logs))
				left, logs = left-len(*log), logs-1
			}
		}
	}
	return all
}

// tail returns the last lines of a text that fit into limit bytes, without empty lines at both ends. If the last line alone does not
// fit, tail returns the end of that line. The text has to be redacted already.
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
