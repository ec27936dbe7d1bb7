// SPDX-License-Identifier: Apache-2.0

package membercollector

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// maxWords is the largest number of bytes that a message quotes from a text of a kubelet or an API server.
const maxWords = 512

// State describes whether the collector on a member runs, and why not. It is computed from the collector's Deployment and pods.
type State struct {
	// Available is true if a collector runs on the member, even one of an earlier version than the Deployment names.
	Available bool
	// Image is the image in the Deployment; "" if there is no Deployment.
	Image string
	// Reason is the reason why the collector does not run in the version that the Deployment names; "" if it runs.
	Reason string
	// Message explains Reason to the person on call; "" if Reason is "".
	Message string
}

// StateOf computes the state from the collector's Deployment, which may be nil, and its pods. The field Reason of the
// result is one of the reasons of MemberCluster conditions; "" if the collector runs.
func StateOf(d *appsv1.Deployment, pods []corev1.Pod) State {
	if d == nil || !IsOurs(d) {
		return State{Reason: v1alpha1.ReasonDeploymentMissing, Message: fmt.Sprintf("the Deployment %s/%s does not exist", v1alpha1.SystemNamespace, Name)}
	}
	s := State{Available: d.Status.AvailableReplicas > 0}
	for _, c := range d.Spec.Template.Spec.Containers {
		s.Image = health.Clean(c.Image, maxWords)
	}
	if RolledOut(d) {
		return s
	}
	s.Reason, s.Message = why(d, pods)
	return s
}

// RolledOut reports whether all replicas run the Deployment's present template, and are available.
func RolledOut(d *appsv1.Deployment) bool {
	replicas, is := int32(1), d.Status
	if d.Spec.Replicas != nil {
		replicas = *d.Spec.Replicas
	}
	return is.ObservedGeneration >= d.Generation && replicas > 0 && is.UpdatedReplicas == replicas && is.Replicas == replicas && is.AvailableReplicas == replicas
}

func why(d *appsv1.Deployment, pods []corev1.Pod) (reason, message string) {
	if d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
		return v1alpha1.ReasonDeploymentMissing, fmt.Sprintf("the Deployment %s/%s is scaled to 0", v1alpha1.SystemNamespace, Name)
	}
	// The newest pods belong to the newest template.
	pods = slices.SortedFunc(slices.Values(pods), func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	found := v1alpha1.ReasonCollectorStarting
	message = "the collector's pod is being created"
	for i := range pods {
		if pods[i].DeletionTimestamp != nil {
			continue
		}
		reason, words := whyPod(&pods[i])
		if reason == "" {
			continue
		}
		if reason != v1alpha1.ReasonCollectorStarting {
			return reason, words
		}
		message = words
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return v1alpha1.ReasonPodRefused, "the member does not admit the collector's pod: " + health.Tidy(c.Message, maxWords)
		}
	}
	return found, message
}

// imageReasons are the waiting reasons that a kubelet sets while it cannot get a container's image.
var imageReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable",
	"SignatureValidationFailed"}

// whyPod returns why a pod is not ready. The reason is "" if the pod is ready.
func whyPod(p *corev1.Pod) (reason, message string) {
	name := health.Clean(p.Name, maxWords)
	if c := condition(p, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return v1alpha1.ReasonPodUnschedulable, fmt.Sprintf("the scheduler finds no node for pod %s of the collector: %s", name, health.Tidy(c.Message, maxWords))
	}
	node := health.Clean(p.Spec.NodeName, maxWords)
	for _, c := range p.Status.ContainerStatuses {
		if reason, message := whyContainer(&c, name, node); reason != "" {
			return reason, message
		}
	}
	if p.Status.Phase == corev1.PodFailed {
		return v1alpha1.ReasonCollectorCrashed, fmt.Sprintf("pod %s of the collector failed on node %s: %s", name, node,
			health.Tidy(cmp.Or(p.Status.Reason, "no reason")+": "+p.Status.Message, maxWords))
	}
	ready := condition(p, corev1.PodReady)
	if ready != nil && ready.Status == corev1.ConditionTrue {
		return "", ""
	}
	message = fmt.Sprintf("pod %s of the collector is not ready yet", name)
	if node != "" {
		message += " on node " + node
	}
	if ready != nil && ready.Message != "" {
		message += ": " + health.Tidy(ready.Message, maxWords)
	}
	return v1alpha1.ReasonCollectorStarting, message
}

func whyContainer(c *corev1.ContainerStatus, pod, node string) (reason, message string) {
	last := c.LastTerminationState.Terminated
	switch waiting := c.State.Waiting; {
	case waiting != nil && slices.Contains(imageReasons, waiting.Reason):
		return v1alpha1.ReasonImageNotPulled, fmt.Sprintf("node %s cannot pull image %s of the collector: %s", node,
			health.Clean(c.Image, maxWords), health.Tidy(waiting.Reason+": "+waiting.Message, maxWords))
	case waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" && waiting.Reason != "CrashLoopBackOff":
		return v1alpha1.ReasonPodRefused, fmt.Sprintf("node %s does not start pod %s of the collector: %s", node, pod,
			health.Tidy(waiting.Reason+": "+waiting.Message, maxWords))
	case c.State.Terminated != nil:
		last = c.State.Terminated
	case c.State.Running != nil && c.Ready:
		return "", ""
	}
	if last == nil || c.State.Running != nil && c.RestartCount < 2 {
		return "", ""
	}
	return v1alpha1.ReasonCollectorCrashed, fmt.Sprintf("the collector ended %d times in pod %s on node %s, the last time with exit code %d: %s",
		max(c.RestartCount, 1), pod, node, last.ExitCode, health.Tidy(cmp.Or(last.Reason, "Error")+": "+last.Message, maxWords))
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}
