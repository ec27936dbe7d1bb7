// SPDX-License-Identifier: Apache-2.0

package install

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func waiting(reason string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "manager-1"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: "manager", Image: "r.example/m:v1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "because.\nof this"}}},
	}}}
}

func TestATroubleIsCertainOnceItHasLasted(t *testing.T) {
	crashed := waiting("CrashLoopBackOff")
	crashed.Status.ContainerStatuses[0].RestartCount = 3
	crashed.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}
	unscheduled := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "manager-1"}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"}}}}
	refused := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "violates PodSecurity"}}}}
	former := refused.DeepCopy()
	former.Generation = 2
	for name, tc := range map[string]struct {
		deployment *appsv1.Deployment
		pod        corev1.Pod
		certain    time.Duration // 0 if the installation waits until its time limit
		text       string        // "" for no trouble
	}{
		"a pull that fails":               {pod: waiting("ImagePullBackOff"), certain: 20 * time.Second, text: "pod manager-1: ImagePullBackOff of image r.example/m:v1: because. of this"},
		"a pull that has just failed":     {pod: waiting("ErrImagePull"), certain: time.Minute, text: "ErrImagePull"},
		"a name that is none":             {pod: waiting("InvalidImageName"), certain: time.Second, text: "InvalidImageName"},
		"a program that ends":             {pod: crashed, certain: 45 * time.Second, text: "the container ended 3 times, the last time with OOMKilled, exit code 137"},
		"a container that is being made":  {pod: waiting("ContainerCreating")},
		"a pod without a node":            {pod: unscheduled, text: "pod manager-1 has no node: Unschedulable: 0/3 nodes are available"},
		"pods that cannot be created":     {deployment: refused, certain: 15 * time.Second, text: "no pod can be created: FailedCreate: violates PodSecurity"},
		"pods of the Deployment's former": {deployment: former},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.deployment == nil {
				tc.deployment = &appsv1.Deployment{}
			}
			w, began := newRolloutWatch(), time.Now()
			all := troubles(tc.deployment, []corev1.Pod{tc.pod})
			if w.observe(all, began); !strings.Contains(w.present(), tc.text) || (tc.text == "") != (w.present() == "") {
				t.Errorf("want %q, got %q", tc.text, w.present())
			}
			if tc.certain == 0 {
				if got := w.observe(all, began.Add(time.Hour)); got != "" {
					t.Errorf("it is certain: %s", got)
				}
				return
			}
			if got := w.observe(all, began.Add(tc.certain-time.Millisecond)); got != "" {
				t.Errorf("it is certain too early: %s", got)
			}
			if got := w.observe(all, began.Add(tc.certain)); got == "" {
				t.Error("it is not certain")
			}
		})
	}
}

func TestTheTimeOfATroubleBeginsAgainAfterItEnded(t *testing.T) {
	w, began := newRolloutWatch(), time.Now()
	pull := troubles(&appsv1.Deployment{}, []corev1.Pod{waiting("ImagePullBackOff")})
	w.observe(pull, began)
	w.observe(nil, began.Add(10*time.Second))
	if got := w.observe(pull, began.Add(30*time.Second)); got != "" {
		t.Errorf("it is certain: %s", got)
	}
	// The kubelet reports ErrImagePull and ImagePullBackOff by turns for one failed pull, so they must count as one
	// trouble.
	w.observe(troubles(&appsv1.Deployment{}, []corev1.Pod{waiting("ErrImagePull")}), began.Add(45*time.Second))
	if got := w.observe(pull, began.Add(50*time.Second)); got == "" {
		t.Error("it is not certain")
	}
}

func TestADeploymentIsRolledOut(t *testing.T) {
	status := func(observed int64, all, updated, available int32) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))},
			Status: appsv1.DeploymentStatus{ObservedGeneration: observed, Replicas: all, UpdatedReplicas: updated, AvailableReplicas: available}}
	}
	for name, tc := range map[string]struct {
		d    *appsv1.Deployment
		want bool
		text string
	}{
		"all are new and available":   {status(2, 2, 2, 2), true, "2 of 2 replicas are ready"},
		"its change was not seen yet": {status(1, 2, 2, 2), false, "has not observed the change"},
		"a former one still runs":     {status(2, 3, 2, 2), false, "1 of the former version still run"},
		"one is not available":        {status(2, 2, 2, 1), false, "1 of 2 replicas are ready"},
		"it is not there":             {nil, false, "has not observed the change"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, text := rolledOut(tc.d); got != tc.want || !strings.Contains(text, tc.text) {
				t.Errorf("got %t %q", got, text)
			}
		})
	}
}

func TestOnlyPodsOfTheNewestReplicaSetCount(t *testing.T) {
	owned := func(name string, owner types.UID) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}}}
	}
	const revision = "deployment.kubernetes.io/revision"
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "d", Annotations: map[string]string{revision: "2"}}}
	sets := []appsv1.ReplicaSet{{ObjectMeta: owned("former", "d")}, {ObjectMeta: owned("newest", "d")}, {ObjectMeta: owned("foreign", "e")}}
	sets[0].Annotations, sets[1].Annotations, sets[2].Annotations = map[string]string{revision: "1"}, d.Annotations, d.Annotations
	pods := []corev1.Pod{{ObjectMeta: owned("a", "former")}, {ObjectMeta: owned("b", "newest")}, {ObjectMeta: owned("c", "foreign")}}
	if got := podsOfNewest(d, sets, pods); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("got %v", got)
	}
}
