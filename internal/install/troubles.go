// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/federate/health"
)

// trouble is a reason why pods of the manager do not run.
type trouble struct {
	key, text string
	// certain is the time for which the trouble has to last before the installation stops waiting. 0 means that the
	// installation waits until its time limit, because the trouble may end at any time.
	certain time.Duration
}

// patience has the time limit for each reason why a container waits to run, as the kubelet reports it. If the container
// waits longer, the installation gives up. No limit is zero, because the kubelet repeats failed pulls and starts, and a
// later try may succeed. For example, a registry was busy, or a Secret was created late.
var patience = map[string]time.Duration{
	"InvalidImageName":           time.Second,
	"ErrImageNeverPull":          5 * time.Second,
	"ImagePullBackOff":           20 * time.Second,
	"ErrImagePull":               60 * time.Second, // the kubelet reports this reason and ImagePullBackOff by turns
	"CrashLoopBackOff":           45 * time.Second,
	"CreateContainerConfigError": 30 * time.Second,
	"CreateContainerError":       30 * time.Second,
	"RunContainerError":          30 * time.Second,
}

// troubles returns the reasons why the pods of a Deployment do not run. It finds them in the status of the Deployment and
// of the pods.
func troubles(d *appsv1.Deployment, pods []corev1.Pod) (all []trouble) {
	if d == nil {
		return nil
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue && d.Status.ObservedGeneration >= d.Generation {
			all = append(all, trouble{key: "replicas", text: "no pod can be created: " + clean(c.Reason+": "+c.Message), certain: 15 * time.Second})
		}
	}
	for i := range pods {
		pod := &pods[i]
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				// The field certain stays 0, because a cluster autoscaler may add a node.
				all = append(all, trouble{key: pod.Name + "/scheduled", text: fmt.Sprintf("pod %s has no node: %s", pod.Name, clean(c.Reason+": "+c.Message))})
			}
		}
		for _, s := range pod.Status.ContainerStatuses {
			if t, ok := containerTrouble(pod.Name, &s); ok {
				all = append(all, t)
			}
		}
	}
	return all
}

func containerTrouble(pod string, s *corev1.ContainerStatus) (trouble, bool) {
	w := s.State.Waiting
	if w == nil || w.Reason == "" || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing" {
		return trouble{}, false
	}
	text := fmt.Sprintf("pod %s: %s of image %s: %s", pod, clean(w.Reason), clean(s.Image), clean(w.Message))
	if last := s.LastTerminationState.Terminated; last != nil {
		text += fmt.Sprintf(" (the container ended %d times, the last time with %s, exit code %d; `kubectl --namespace %s logs %s --previous` shows why)",
			s.RestartCount, clean(last.Reason), last.ExitCode, systemNamespace, pod)
	}
	// ErrImagePull and ImagePullBackOff alternate for the same failed pull, so they are one trouble.
	key := pod + "/" + w.Reason
	if w.Reason == "ErrImagePull" {
		key = pod + "/ImagePullBackOff"
	}
	return trouble{key: key, text: text, certain: patience[w.Reason]}, true
}

// clean returns a text from the cluster on one line, without its final period and cut to maxMessage bytes.
func clean(text string) string { return strings.TrimSuffix(health.Clean(text, maxMessage), ".") }

// rolloutWatch records when each trouble began.
type rolloutWatch struct {
	since map[string]time.Time
	texts map[string]string
}

func newRolloutWatch() *rolloutWatch { return &rolloutWatch{since: map[string]time.Time{}} }

// observe records the present troubles. If a trouble has lasted for the time in its field certain, observe returns the trouble's text.
// Otherwise it returns "".
func (w *rolloutWatch) observe(all []trouble, now time.Time) (certain string) {
	w.texts = map[string]string{}
	for _, t := range all {
		if _, known := w.since[t.key]; !known {
			w.since[t.key] = now
		}
		w.texts[t.key] = t.text
		if t.certain > 0 && now.Sub(w.since[t.key]) >= t.certain && certain == "" {
			certain = t.text
		}
	}
	for key := range w.since {
		if _, still := w.texts[key]; !still {
			delete(w.since, key)
		}
	}
	return certain
}

// present returns the texts of the troubles that observe recorded last.
func (w *rolloutWatch) present() string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(w.texts)) {
		texts = append(texts, w.texts[key])
	}
	return strings.Join(texts, "; ")
}

// rolledOut reports whether every pod of a Deployment has the present template and is available. The text describes the
// progress: "1 of 2 replicas are ready".
func rolledOut(d *appsv1.Deployment) (bool, string) {
	if d == nil || d.Status.ObservedGeneration < d.Generation {
		return false, "the Deployment's controller has not observed the change yet"
	}
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	s := d.Status
	text := fmt.Sprintf("%d of %d replicas are ready", min(s.AvailableReplicas, s.UpdatedReplicas), wanted)
	if old := s.Replicas - s.UpdatedReplicas; old > 0 {
		text += fmt.Sprintf(", %d of the former version still run", old)
	}
	return s.UpdatedReplicas >= wanted && s.AvailableReplicas >= wanted && s.Replicas <= s.UpdatedReplicas, text
}

// podsOfNewest returns the pods of the newest ReplicaSet of a Deployment. Troubles of pods of a former version do not
// matter, because the Deployment controller is about to delete these pods.
func podsOfNewest(d *appsv1.Deployment, sets []appsv1.ReplicaSet, pods []corev1.Pod) (own []corev1.Pod) {
	const revision = "deployment.kubernetes.io/revision"
	if d.Status.ObservedGeneration < d.Generation {
		return nil
	}
	for i := range sets {
		if !metav1.IsControlledBy(&sets[i], d) || sets[i].Annotations[revision] != d.Annotations[revision] {
			continue
		}
		for j := range pods {
			if metav1.IsControlledBy(&pods[j], &sets[i]) {
				own = append(own, pods[j])
			}
		}
	}
	return own
}
