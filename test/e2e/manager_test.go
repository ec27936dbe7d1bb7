// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/test/e2e/provider/kindclusters"
)

// managerProcesses returns an identity of each process of the host's manager, sorted: the PID with the sandbox, which runs one, and the ID
// of the container with kind, which runs two replicas. A restart changes the identity.
func managerProcesses(ctx context.Context) []string {
	GinkgoHelper()
	if fleet.Sandbox != nil {
		return []string{strconv.Itoa(fleet.Manager(ctx).PID)}
	}
	var all []string
	for _, pod := range managerPods(ctx) {
		for _, container := range pod.Status.ContainerStatuses {
			all = append(all, container.ContainerID)
		}
	}
	slices.Sort(all)
	return all
}

// managerPods returns the pods of the manager on a host with kubelets.
func managerPods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(fleet.Host.List(ctx, list, client.InNamespace(v1alpha1.SystemNamespace),
		client.MatchingLabels{"app.kubernetes.io/component": "manager"})).To(Succeed())
	return list.Items
}

// leader returns the identity that the leading manager has in its lease on the host, or "" if no manager holds the lease. The identity
// is the name of the pod, "_", and a random part for the process.
func leader(ctx context.Context) string {
	lease := &coordinationv1.Lease{}
	Expect(fleet.Host.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "fairlead-manager"}, lease)).To(Succeed())
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// killLeader kills the process of the leading manager with SIGKILL, so that it cannot release its lease. It returns the identity that
// managerProcesses had for the process.
func killLeader(ctx context.Context) (killed string) {
	GinkgoHelper()
	if fleet.Sandbox != nil {
		pid := fleet.Manager(ctx).PID
		Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
		return strconv.Itoa(pid)
	}
	name, _, _ := strings.Cut(leader(ctx), "_")
	pod := &corev1.Pod{}
	Expect(fleet.Host.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: name}, pod)).To(Succeed())
	killed = pod.Status.ContainerStatuses[0].ContainerID
	Expect(kindclusters.KillContainer(ctx, pod.Spec.NodeName, killed)).To(Succeed())
	return killed
}

// killManager does the same as killLeader, and waits until another process runs in its place. With kind it also waits until every replica is
// ready: until then the Service can still send requests to the killed one.
func killManager(ctx context.Context) {
	GinkgoHelper()
	running := managerProcesses(ctx)
	killed := killLeader(ctx)
	Eventually(ctx, managerProcesses).WithTimeout(afterKill).Should(
		And(HaveLen(len(running)), Not(ContainElement(killed)), Not(ContainElement("0"))))
	if fleet.Sandbox != nil {
		return
	}
	Eventually(ctx, func(g Gomega) {
		for _, pod := range managerPods(ctx) {
			for _, container := range pod.Status.ContainerStatuses {
				g.Expect(container.Ready).To(BeTrue(), pod.Name)
			}
		}
	}).WithTimeout(afterKill).Should(Succeed())
}
