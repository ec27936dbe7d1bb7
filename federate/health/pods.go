// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PodObject is the part of a Pod that tells why it does not run, in the form of the Kubernetes API. It is not a corev1.Pod, because
// a corev1.Pod has fields of type resource.Quantity. A hostile member could send a quantity such as 1e-2000000000, which takes minutes
// to decode.
type PodObject struct {
	Metadata struct {
		Namespace         string                  `json:"namespace"`
		Name              string                  `json:"name"`
		UID               types.UID               `json:"uid"`
		CreationTimestamp metav1.Time             `json:"creationTimestamp"`
		DeletionTimestamp *metav1.Time            `json:"deletionTimestamp"`
		OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		RestartPolicy  corev1.RestartPolicy `json:"restartPolicy"`
		InitContainers []podContainer       `json:"initContainers"`
		Containers     []podContainer       `json:"containers"`
		Volumes        []podVolume          `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase                 corev1.PodPhase   `json:"phase"`
		Reason                string            `json:"reason"`
		Message               string            `json:"message"`
		Conditions            []PodCondition    `json:"conditions"`
		InitContainerStatuses []containerStatus `json:"initContainerStatuses"`
		ContainerStatuses     []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

type podContainer struct {
	Name          string                         `json:"name"`
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy"`
	Resources     struct {
		Limits struct {
			Memory any `json:"memory"`
		} `json:"limits"`
	} `json:"resources"`
}

type podVolume struct {
	PersistentVolumeClaim struct {
		ClaimName string `json:"claimName"`
	} `json:"persistentVolumeClaim"`
}

// PodCondition is a condition of a pod.
type PodCondition struct {
	Type    corev1.PodConditionType `json:"type"`
	Status  corev1.ConditionStatus  `json:"status"`
	Reason  string                  `json:"reason"`
	Message string                  `json:"message"`
}

type containerStatus struct {
	Name                 string                `json:"name"`
	Image                string                `json:"image"`
	Ready                bool                  `json:"ready"`
	RestartCount         int32                 `json:"restartCount"`
	State                corev1.ContainerState `json:"state"`
	LastTerminationState corev1.ContainerState `json:"lastState"`
}

// maxContainers is the number of items that this package reads in each list of a pod. A hostile member could send very long lists.
const maxContainers = 64

// bound cuts the lists of containers, container statuses and conditions of a pod to maxContainers items each.
func (p *PodObject) bound() {
	p.Spec.InitContainers, p.Spec.Containers = atMost(p.Spec.InitContainers), atMost(p.Spec.Containers)
	p.Status.InitContainerStatuses, p.Status.ContainerStatuses = atMost(p.Status.InitContainerStatuses), atMost(p.Status.ContainerStatuses)
	p.Status.Conditions = atMost(p.Status.Conditions)
}

func atMost[T any](list []T) []T { return list[:min(len(list), maxContainers)] }

// Owner returns the uid of the controller that owns the pod; "" if there is none.
func (p *PodObject) Owner() types.UID {
	for _, o := range p.Metadata.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			return o.UID
		}
	}
	return ""
}

// Mounts reports whether the pod has a volume of the claim with this name in its namespace.
func (p *PodObject) Mounts(claim string) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v podVolume) bool { return v.PersistentVolumeClaim.ClaimName == claim })
}

// PendingClaims returns the names of the claims that the pod mounts, if it is Pending; otherwise none.
func (p *PodObject) PendingClaims() (names []string) {
	if p.Status.Phase != corev1.PodPending {
		return nil
	}
	for _, v := range atMost(p.Spec.Volumes) {
		if v.PersistentVolumeClaim.ClaimName != "" {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		}
	}
	return names
}

// condition returns the pod's condition of this type; its status is "" if the pod has none.
func (p *PodObject) condition(kind corev1.PodConditionType) PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return PodCondition{}
}

// RunsOn reports whether a container is to run as long as its pod, so that an end with exit code 0 is an error, too.
func (p *PodObject) RunsOn(container string) bool {
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.Name == container {
			return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return p.Spec.RestartPolicy == "" || p.Spec.RestartPolicy == corev1.RestartPolicyAlways
}

// isInit reports whether a container is an init container that has to end before the others start.
func (p *PodObject) isInit(container string) bool {
	return slices.ContainsFunc(p.Spec.InitContainers, func(c podContainer) bool { return c.Name == container }) && !p.RunsOn(container)
}

// memoryLimit returns the memory limit of a container as its author wrote it; "" if it has none.
func (p *PodObject) memoryLimit(container string) string {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if limit, ok := c.Resources.Limits.Memory.(string); ok && c.Name == container {
			return Clean(limit, 32)
		}
	}
	return ""
}
