// SPDX-License-Identifier: Apache-2.0

package membercollector

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/redact"
	"github.com/fairlead-dev/fairlead/internal/testing/secretcorpus"
)

// No kubelet runs in this test. The test sets the statuses that the kubelet and the controllers of a real cluster write.
func TestWhyACollectorDoesNotRun(t *testing.T) {
	deployed := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := Deployment(Settings{ClusterName: "eu-1", Image: "r/collector:v2"})
		d.Generation = 2
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, UnavailableReplicas: 1}
		if change != nil {
			change(d)
		}
		return d
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pod := func(name string, age time.Duration, status corev1.ContainerStatus, conditions ...corev1.PodCondition) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(at.Add(-age))}, Spec: corev1.PodSpec{NodeName: "worker-2"},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}, Conditions: conditions}}
	}
	waiting := func(reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Image: "r/collector:v2", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	running := corev1.ContainerStatus{Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	crashed := waiting("CrashLoopBackOff", "back-off 5m0s")
	crashed.RestartCount, crashed.LastTerminationState.Terminated = 3, &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", Message: "at work"}
	old := pod("old", time.Hour, running, ready)
	for name, tc := range map[string]struct {
		deployment *appsv1.Deployment
		pods       []corev1.Pod
		want       string
		wantWords  string
		available  bool
	}{
		"all is well":                     {deployment: deployed(func(d *appsv1.Deployment) { d.Status.AvailableReplicas, d.Status.UnavailableReplicas = 1, 0 }), available: true},
		"no Deployment":                   {want: v1alpha1.ReasonDeploymentMissing, wantWords: "fairlead-system/fairlead-collector does not exist"},
		"a Deployment that no join made":  {deployment: deployed(func(d *appsv1.Deployment) { d.Labels = nil }), want: v1alpha1.ReasonDeploymentMissing},
		"it was scaled to none":           {deployment: deployed(func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(0)) }), want: v1alpha1.ReasonDeploymentMissing, wantWords: "scaled to 0"},
		"no controller has looked at it":  {deployment: deployed(func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} }), want: v1alpha1.ReasonCollectorStarting, wantWords: "is being created"},
		"the image is not there":          {deployment: deployed(nil), pods: []corev1.Pod{pod("new", 0, waiting("ErrImagePull", "not found"))}, want: v1alpha1.ReasonImageNotPulled, wantWords: "node worker-2 cannot pull image r/collector:v2 of the collector: ErrImagePull: not found"},
		"the kubelet waits for the image": {deployment: deployed(nil), pods: []corev1.Pod{pod("new", 0, waiting("ImagePullBackOff", "Back-off"))}, want: v1alpha1.ReasonImageNotPulled},
		"the old one still works":         {deployment: deployed(func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.AvailableReplicas = 2, 1 }), pods: []corev1.Pod{old, pod("new", 0, waiting("ErrImagePull", "not found"))}, want: v1alpha1.ReasonImageNotPulled, available: true},
		"Pod Security refuses the pod": {deployment: deployed(func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `pods "x" is forbidden: violates PodSecurity`}}
		}), want: v1alpha1.ReasonPodRefused, wantWords: "violates PodSecurity"},
		"no node takes it":        {deployment: deployed(nil), pods: []corev1.Pod{pod("new", 0, corev1.ContainerStatus{}, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"})}, want: v1alpha1.ReasonPodUnschedulable, wantWords: "0/3 nodes"},
		"it crashes":              {deployment: deployed(nil), pods: []corev1.Pod{pod("new", 0, crashed)}, want: v1alpha1.ReasonCollectorCrashed, wantWords: "ended 3 times in pod new on node worker-2, the last time with exit code 137: OOMKilled: at work"},
		"the node cannot make it": {deployment: deployed(nil), pods: []corev1.Pod{pod("new", 0, waiting("CreateContainerConfigError", "no ConfigMap"))}, want: v1alpha1.ReasonPodRefused, wantWords: "no ConfigMap"},
		"it is being made":        {deployment: deployed(nil), pods: []corev1.Pod{pod("new", 0, waiting("ContainerCreating", ""))}, want: v1alpha1.ReasonCollectorStarting, wantWords: "not ready yet on node worker-2"},
		"a pod that leaves tells nothing": {deployment: deployed(nil), pods: []corev1.Pod{func() corev1.Pod {
			p := pod("old", time.Hour, waiting("ErrImagePull", "x"))
			p.DeletionTimestamp = ptr.To(metav1.NewTime(at))
			return p
		}()}, want: v1alpha1.ReasonCollectorStarting},
		"it was evicted": {deployment: deployed(nil), pods: []corev1.Pod{func() corev1.Pod {
			p := pod("new", 0, corev1.ContainerStatus{})
			p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
			return p
		}()}, want: v1alpha1.ReasonCollectorCrashed, wantWords: "Evicted"},
		"the text of a member is bounded": {deployment: deployed(nil), pods: []corev1.Pod{pod("new", 0, waiting("ErrImagePull", strings.Repeat("\x1b[31mx", 10000)))}, want: v1alpha1.ReasonImageNotPulled},
	} {
		t.Run(name, func(t *testing.T) {
			got := StateOf(tc.deployment, tc.pods)
			if got.Reason != tc.want || got.Available != tc.available || !strings.Contains(got.Message, tc.wantWords) || (got.Reason == "") != (got.Message == "") {
				t.Errorf("got %+v", got)
			}
			if len(got.Message) > 2000 || strings.Contains(got.Message, "\x1b") {
				t.Errorf("a message of %d bytes: %q", len(got.Message), got.Message)
			}
		})
	}
}

// A program can write anything into its termination message, and a registry into its answer.
func TestNoSecretIsInTheReasonWhyACollectorDoesNotRun(t *testing.T) {
	for _, text := range secretcorpus.InSentences(t) {
		for name, status := range map[string]corev1.PodStatus{
			"no node": {Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: text}}},
			"no image": {ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: text}}}}},
			"no container": {ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerError", Message: text}}}}},
			"a crash": {ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{Reason: "Error", Message: text}}}}},
			"an eviction": {Phase: corev1.PodFailed, Reason: "Evicted", Message: text},
			"not ready":   {Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: text}}},
		} {
			got := StateOf(Deployment(Settings{ClusterName: "eu-1", Image: "r/collector:v2"}), []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Status: status}})
			if strings.Contains(got.Message, secretcorpus.Word) || !strings.Contains(got.Message, redact.Mark) {
				t.Errorf("%s, %q: %s", name, text, got.Message)
			}
		}
	}
}
