// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

var _ = withKubelets("When the host part is installed in a cluster", func() {
	It("runs without root, without capabilities and on a read-only file system, on the host and on each member", func(ctx SpecContext) {
		for _, c := range append(fleet.Members(), fleet.Host) {
			found := c.podsOfFairlead(ctx)
			Expect(found).NotTo(BeEmpty(), c.Name)
			for i := range found {
				expectRestricted(&found[i])
			}
		}
	}, SpecTimeout(specWithin))

	It("init again changes nothing, and status says that all is well", func(ctx SpecContext) {
		before, generation := uidsOf(fleet.Host.podsOfFairlead(ctx)), fleet.Host.field("Deployment", v1alpha1.SystemNamespace, "fairlead-manager", "metadata", "generation")(ctx)
		again := fleet.Hostctl(ctx, "init")
		Expect(again.Code).To(BeZero(), again.Stderr)
		Expect(again.Stdout + again.Stderr).To(And(ContainSubstring("unchanged"), Not(ContainSubstring("configured")), Not(ContainSubstring(" created"))))
		Expect(fleet.Host.field("Deployment", v1alpha1.SystemNamespace, "fairlead-manager", "metadata", "generation")(ctx)).To(Equal(generation))
		Expect(uidsOf(fleet.Host.podsOfFairlead(ctx))).To(ConsistOf(before))

		Eventually(ctx, func(g Gomega) {
			status := fleet.Hostctl(ctx, "status")
			g.Expect(status.Code).To(BeZero(), status.Stdout+status.Stderr)
			g.Expect(status.Stdout).To(And(ContainSubstring("2 of 2 replicas ready"), ContainSubstring("3 Ready"), ContainSubstring("✓ all is well")))
		}).WithTimeout(podsWithin).Should(Succeed())
	}, SpecTimeout(specWithin))

	It("uninstall and init leave the members as they are, and what authors changed in between arrives", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		web := author(ctx, build.Federated("web").In(shop).To(member.Name).With(running("web", "serve"), build.ConfigMap("kept"), build.ConfigMap("changed", "colour", "blue")))
		expectReadySoon(ctx, web)
		pods, version := uidsOf(member.pods(ctx, shop, "web")), member.version(ctx, "ConfigMap", shop, "kept")

		DeferCleanup(func(ctx SpecContext) {
			Expect(fleet.Hostctl(ctx, "init").Code).To(BeZero()) // after a failure; otherwise it changes nothing
		}, NodeTimeout(upWithin))
		removed := fleet.Hostctl(ctx, "uninstall", "--yes")
		Expect(removed.Code).To(BeZero(), removed.Stderr)
		Expect(fleet.Host.podsOfFairlead(ctx)).To(BeEmpty())
		status := fleet.Hostctl(ctx, "status")
		Expect(status.Code).NotTo(BeZero(), "status must not call a host without a manager well:\n%s", status.Stdout)
		edit(ctx, web, func(w *v1alpha1.Federated) {
			w.Spec.Objects[2] = build.Raw(build.ConfigMap("changed", "colour", "green"))
		})
		Consistently(ctx, member.field("ConfigMap", shop, "changed", "data", "colour")).WithTimeout(5 * time.Second).Should(Equal("blue"))

		back := fleet.Hostctl(ctx, "init")
		Expect(back.Code).To(BeZero(), back.Stderr)
		Eventually(ctx, member.field("ConfigMap", shop, "changed", "data", "colour")).WithTimeout(podsWithin).Should(Equal("green"))
		expectReadySoon(ctx, web)
		Expect(member.version(ctx, "ConfigMap", shop, "kept")).To(Equal(version), "nothing has written the object")
		Expect(uidsOf(member.pods(ctx, shop, "web"))).To(ConsistOf(pods), "the pods are the same")
	}, SpecTimeout(specWithin))
})

// podsOfFairlead returns the pods of the manager, on the host, or of the collector, on a member.
func (c *TestCluster) podsOfFairlead(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(c.List(ctx, list, client.InNamespace(v1alpha1.SystemNamespace))).To(Succeed())
	return list.Items
}

func uidsOf(pods []corev1.Pod) []types.UID {
	uids := make([]types.UID, 0, len(pods))
	for i := range pods {
		uids = append(uids, pods[i].UID)
	}
	return uids
}

// expectRestricted checks that a pod runs, and that the kubelet had to start its containers without root, without capabilities and on a
// read-only file system. With runAsNonRoot a kubelet refuses to start an image whose user is root.
func expectRestricted(pod *corev1.Pod) {
	GinkgoHelper()
	Expect(pod.Status.Phase).To(Equal(corev1.PodRunning), pod.Name)
	Expect(pod.Spec.SecurityContext.RunAsNonRoot).To(HaveValue(BeTrue()), pod.Name)
	for i := range pod.Spec.Containers {
		with := ptr.Deref(pod.Spec.Containers[i].SecurityContext, corev1.SecurityContext{})
		Expect(with.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()), pod.Name)
		Expect(with.AllowPrivilegeEscalation).To(HaveValue(BeFalse()), pod.Name)
		Expect(with.Capabilities).To(HaveValue(Equal(corev1.Capabilities{Drop: []corev1.Capability{"ALL"}})), pod.Name)
	}
}
