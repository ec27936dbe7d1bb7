// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Reasons of the kubelet in the status of a container that waits.
var (
	// cannotPull are the reasons that alternate while an image cannot be pulled. All of them become ImagePullBackOff, so that
	// the status does not change with each try.
	cannotPull = []string{"ErrImagePull", waitsImagePullBackOff, "RegistryUnavailable", "SignatureValidationFailed", "ImageInspectError"}
	// cannotCreate are the reasons of a container that the kubelet cannot create or start.
	cannotCreate = []string{"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PostStartHookError"}
)

// backOffPrefix matches what the kubelet puts in front of the cause of a failed pull from Kubernetes 1.31 on.
var backOffPrefix = regexp.MustCompile(`^Back-off pulling image "[^"]*"(: [A-Za-z]+: )?`)

const (
	// restartsUntilFailing is the number of restarts from which on a container counts as failing. Many programs end once or twice
	// at their start, while they wait for another program.
	restartsUntilFailing = 2
	// crashMemory is the time for which a container that runs again still counts as crashing. After this time the kubelet, too, forgets
	// the container's crashes.
	crashMemory = 10 * time.Minute
)

// troubleOfContainer returns why one container keeps its pod from being ready. It returns nil if the container is ready, if it was to
// end and has ended with exit code 0, or if the kubelet has written no state.
func troubleOfContainer(p *PodObject, c *containerStatus, now time.Time) *Trouble {
	if c.Ready {
		return nil
	}
	if waits := c.State.Waiting; waits != nil {
		return troubleOfWaiting(p, c, waits)
	}
	if ended := c.State.Terminated; ended != nil {
		if ended.ExitCode == 0 && !p.RunsOn(c.Name) {
			return nil
		}
		return crashed(p, c, ended, CurrentLog)
	}
	running := c.State.Running
	if running == nil {
		return nil
	}
	// A restart long ago, or the restart of the node, is not what keeps the container from being ready now.
	if last := c.LastTerminationState.Terminated; last != nil && now.Sub(running.StartedAt.Time) < crashMemory &&
		running.StartedAt.Sub(last.FinishedAt.Time) < crashMemory && last.Reason != "Unknown" && last.Reason != "ContainerStatusUnknown" {
		t := crashed(p, c, last, PreviousLog)
		t.failing = false // one look cannot show whether it crashes again; Tell compares with the line from an earlier look
		return t
	}
	if p.isInit(c.Name) {
		return &Trouble{Container: c.Name, rank: rankStart, reason: v1alpha1.ReasonPodNotReady, words: "init container " + c.Name + " has not finished"}
	}
	return &Trouble{Container: c.Name, rank: rankReady, reason: v1alpha1.ReasonPodNotReady, words: "container " + c.Name + " runs and is not ready", Event: ProbeEvent}
}

// troubleOfWaiting returns why a container in the state Waiting does not run.
func troubleOfWaiting(p *PodObject, c *containerStatus, waits *corev1.ContainerStateWaiting) *Trouble {
	last := c.LastTerminationState.Terminated
	switch {
	case slices.Contains(cannotPull, waits.Reason):
		t := &Trouble{Container: c.Name, rank: rankCreate, failing: true, reason: waitsImagePullBackOff, words: "container " + c.Name + ": its image " + c.Image + " cannot be pulled"}
		if detail := backOffPrefix.ReplaceAllString(waits.Message, ""); detail != "" {
			t.words = withDetail(t.words, detail)
		} else {
			t.Event = PullEvent
		}
		return t
	// A container whose program cannot be started alternates between RunContainerError and CrashLoopBackOff.
	case last != nil && (waits.Reason == waitsCrashLoopBackOff || slices.Contains(cannotCreate, waits.Reason)):
		return crashed(p, c, last, CurrentLog)
	case slices.Contains(cannotCreate, waits.Reason) || waits.Reason == waitsCrashLoopBackOff:
		return &Trouble{Container: c.Name, rank: rankCreate, failing: true, reason: waits.Reason, words: withDetail("container "+c.Name+" does not start", waits.Message)}
	}
	// The reason is ContainerCreating or PodInitializing. The container starts as usual, unless a Warning event reports a problem.
	return &Trouble{Container: c.Name, rank: rankStart, words: "container " + c.Name + " has not started", Event: StartEvent}
}

// crashed returns the Trouble of a container that has ended. The state of such a container changes between waiting,
// running and terminated with every restart. The reason is the same for all three, so that the status does not change with
// them.
func crashed(p *PodObject, c *containerStatus, ended *corev1.ContainerStateTerminated, log Log) *Trouble {
	t := &Trouble{rank: rankCrash, reason: waitsCrashLoopBackOff, failing: c.RestartCount >= restartsUntilFailing}
	if p.Spec.RestartPolicy == corev1.RestartPolicyNever {
		t.reason, t.failing = cmp.Or(ended.Reason, "Error"), true
	}
	t.ended(p, c, ended, log)
	if ended.Reason == endedOOMKilled {
		t.rank, t.reason, t.failing = rankMemory, endedOOMKilled, true
	}
	return t
}

// ended fills in how a container ended. If the container wrote a termination message, that message replaces its log.
func (t *Trouble) ended(p *PodObject, c *containerStatus, ended *corev1.ContainerStateTerminated, log Log) {
	t.Container, t.Log = c.Name, log
	after := ""
	switch {
	case c.RestartCount == 1:
		after = " after 1 restart"
	case c.RestartCount > 1:
		after = fmt.Sprintf(" after %d restarts", c.RestartCount)
	}
	t.words = "container " + c.Name + " "
	if ended.Reason == endedOOMKilled {
		if limit := p.memoryLimit(c.Name); limit != "" {
			t.words += "used more memory than its limit of " + limit + " and was killed" + after
		} else {
			t.words += "was killed, because memory ran out: it has no limit of its own" + after
		}
		t.Log = NoLog
		return
	}
	t.words += fmt.Sprintf("ended with exit code %d", ended.ExitCode)
	if ended.Reason != "" {
		t.words += " (" + ended.Reason + ")"
	}
	t.words += after + meaningOf(int64(ended.ExitCode), ended.Reason)
	if strings.TrimSpace(ended.Message) != "" {
		t.left, t.Log = ended.Message, NoLog
	}
}
