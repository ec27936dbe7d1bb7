// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// maxPods is the largest number of pods whose logs the archive has.
const maxPods = 20

// pods reads the pods of the manager's namespace, and the logs of those that are Fairlead's.
func (s *system) pods(ctx context.Context) error {
	var own []corev1.Pod
	const what = "pods in namespace " + v1alpha1.SystemNamespace
	err := s.parts.part(ctx, what, func() error {
		files := group{}
		err := s.parts.each(ctx, what, s.parts.limits.Objects, listOf(corev1.SchemeGroupVersion, "Pod"), func(obj map[string]any) error {
			pod := corev1.Pod{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, &pod); err != nil {
				return fmt.Errorf("decoding a pod: %w", err)
			}
			if pod.Labels["app.kubernetes.io/name"] == "fairlead" {
				own = append(own, pod)
			}
			return files.add(&s.parts.redaction, obj)
		}, client.InNamespace(v1alpha1.SystemNamespace))
		return errors.Join(err, files.write(s.parts.archive, "pods.yaml"))
	})
	if err != nil {
		return err
	}
	if len(own) > maxPods {
		s.parts.cutf("logs: the archive has those of %d pods, and %d more pods are left out", maxPods, len(own)-maxPods)
		own = own[:maxPods]
	}
	for i := range own {
		if err := s.logsOf(ctx, &own[i]); err != nil {
			return err
		}
	}
	return nil
}

// logsOf reads the present and the previous log of each container of a pod.
func (s *system) logsOf(ctx context.Context, pod *corev1.Pod) error {
	restarted := make(map[string]bool)
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		restarted[status.Name] = status.RestartCount > 0
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if !slices.Contains(s.images, container.Image) {
			s.images = append(s.images, container.Image)
		}
		if err := s.log(ctx, pod.Name, container.Name, false); err != nil {
			return err
		}
		if !restarted[container.Name] {
			continue // there is no previous log
		}
		if err := s.log(ctx, pod.Name, container.Name, true); err != nil {
			return err
		}
	}
	return nil
}

// log reads one log.
func (s *system) log(ctx context.Context, pod, container string, previous bool) error {
	what, file := "the log of ", pod+"."+container+".log"
	if previous {
		what, file = "the previous log of ", pod+"."+container+".previous.log"
	}
	return s.parts.part(ctx, what+pod+"/"+container, func() error {
		log, err := s.parts.host.Log(ctx, v1alpha1.SystemNamespace, pod, container, previous)
		if previous && (apierrors.IsNotFound(err) || apierrors.IsBadRequest(err)) {
			return errors.New("the node no longer has it")
		}
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }() // it was only read
		content, err := endOf(log)
		if err != nil {
			return err
		}
		return s.parts.archive.add(folderOf(v1alpha1.SystemNamespace)+"logs/"+file, []byte(s.parts.redaction.text(string(content))))
	})
}
