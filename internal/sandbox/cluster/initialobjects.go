// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	storagev1ac "k8s.io/client-go/applyconfigurations/storage/v1"
	"k8s.io/client-go/kubernetes"
)

// simulatedMark is an annotation of objects that simulate a part of a real cluster.
const simulatedMark = "sandbox.fairlead.dev/simulated"

// Class is the name of the default StorageClass of a cluster.
func Class(cluster string) string { return cluster + "-standard" }

// Furnish creates what a cluster from a cloud provider has from the start: nodes, a CSI driver and a default StorageClass. It waits until pods can
// run, and returns the API server's version.
func (s Spec) Furnish(ctx context.Context) (string, error) {
	config, err := s.REST()
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("connecting to %s: %w", s.Name, err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", s.Name, err)
	}
	if err := applyStorage(ctx, client, s.Name); err != nil {
		return "", err
	}
	for _, n := range s.Nodes {
		if err := applyNode(ctx, client, n); err != nil {
			return "", fmt.Errorf("applying Node %s to %s: %w", n.Name, s.Name, err)
		}
	}
	return version.GitVersion, waitForWork(ctx, client, s.Name)
}

// applyStorage applies the CSI driver and the default StorageClass of a cluster.
func applyStorage(ctx context.Context, client kubernetes.Interface, cluster string) error {
	options := metav1.ApplyOptions{FieldManager: "sandbox", Force: true}
	driver := storagev1ac.CSIDriver(Driver).WithAnnotations(map[string]string{simulatedMark: "true"}).
		WithSpec(storagev1ac.CSIDriverSpec().WithAttachRequired(false).WithPodInfoOnMount(false)) // nothing in the sandbox could attach volumes
	if _, err := client.StorageV1().CSIDrivers().Apply(ctx, driver, options); err != nil {
		return fmt.Errorf("applying CSIDriver %s to %s: %w", Driver, cluster, err)
	}
	class := storagev1ac.StorageClass(Class(cluster)).
		WithAnnotations(map[string]string{"storageclass.kubernetes.io/is-default-class": "true", simulatedMark: "true"}).
		WithProvisioner(Provisioner).WithAllowVolumeExpansion(true).WithReclaimPolicy(corev1.PersistentVolumeReclaimDelete)
	if _, err := client.StorageV1().StorageClasses().Get(ctx, *class.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return err // never apply it again: the user may have made another class the default
	}
	if _, err := client.StorageV1().StorageClasses().Apply(ctx, class, options); err != nil {
		return fmt.Errorf("applying StorageClass %s to %s: %w", *class.Name, cluster, err)
	}
	return nil
}

func applyNode(ctx context.Context, client kubernetes.Interface, n Node) error {
	node := corev1ac.Node(n.Name).
		WithAnnotations(map[string]string{simulatedMark: "true"}).
		WithLabels(map[string]string{
			corev1.LabelHostname: n.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			corev1.LabelTopologyRegion: n.Region, corev1.LabelTopologyZone: n.Zone,
		})
	_, err := client.CoreV1().Nodes().Apply(ctx, node, metav1.ApplyOptions{FieldManager: "sandbox", Force: true})
	return err
}

// waitForWork waits until nodes are ready and the default service account exists. Without this account the API server admits no pod.
func waitForWork(ctx context.Context, client kubernetes.Interface, cluster string) error {
	var missing string
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if _, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
			missing = "the default service account (made by kube-controller-manager): " + err.Error()
			return false, nil
		}
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			missing = "a list of nodes: " + err.Error()
			return false, nil
		}
		for _, n := range nodes.Items {
			if !nodeReady(n) {
				missing = "node " + n.Name + " to be ready (made so by kwok)"
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting in %s for %s: %w", cluster, missing, err)
	}
	return nil
}

func nodeReady(n corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
