// SPDX-License-Identifier: Apache-2.0

package membercollector

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// deploymentFields and podFields have the fields that StateOf reads. They leave out every resource.Quantity: a member
// could send a quantity that takes the manager minutes to parse.
type deploymentFields struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas *int32
		Template struct {
			Spec struct{ Containers []struct{ Image string } }
		}
	}
	Status appsv1.DeploymentStatus
}

type podFields struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct{ NodeName string }
	Status            struct {
		Phase             corev1.PodPhase
		Reason, Message   string
		Conditions        []corev1.PodCondition
		ContainerStatuses []struct {
			Image            string
			Ready            bool
			RestartCount     int32
			State, LastState corev1.ContainerState
		}
	}
}

// DecodeDeployment decodes the fields of a Deployment that StateOf and RolledOut read. All other fields stay empty.
func DecodeDeployment(answer member.Answer) (*appsv1.Deployment, error) {
	from := deploymentFields{}
	if err := answer.IntoFields("Deployment", &from); err != nil {
		return nil, err
	}
	d := &appsv1.Deployment{ObjectMeta: from.ObjectMeta, Status: from.Status}
	d.Spec.Replicas = from.Spec.Replicas
	for _, c := range from.Spec.Template.Spec.Containers {
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Image: c.Image})
	}
	return d, nil
}

// DecodePods decodes the fields of a list of pods that StateOf reads. All other fields stay empty.
func DecodePods(answer member.Answer) ([]corev1.Pod, error) {
	var list struct{ Items []podFields }
	if err := answer.IntoFields("PodList", &list); err != nil {
		return nil, err
	}
	pods := make([]corev1.Pod, 0, len(list.Items))
	for i := range list.Items {
		from := &list.Items[i]
		pod := corev1.Pod{ObjectMeta: from.ObjectMeta, Spec: corev1.PodSpec{NodeName: from.Spec.NodeName}}
		pod.Status = corev1.PodStatus{Phase: from.Status.Phase, Reason: from.Status.Reason, Message: from.Status.Message, Conditions: from.Status.Conditions}
		for _, c := range from.Status.ContainerStatuses {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
				Image: c.Image, Ready: c.Ready, RestartCount: c.RestartCount, State: c.State, LastTerminationState: c.LastState})
		}
		pods = append(pods, pod)
	}
	return pods, nil
}
