// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

var _ = withKubelets("When containers of a member stop", func() {
	lose := func(ctx SpecContext, lost *TestCluster, begin, end func(context.Context, string) error) {
		GinkgoHelper()
		shop, others := newShop(ctx), fleet.Member("member-2")
		web := author(ctx, build.Federated("web").In(shop).To(lost.Name, others.Name).With(running("web", "serve"), build.ConfigMap("settings", "colour", "blue")))
		expectReadySoon(ctx, web)
		DeferCleanup(func(ctx SpecContext) {
			_ = end(ctx, lost.Name) // an error means that the spec itself has ended the outage
			Eventually(ctx, reread(ctx, registered(lost.Name))).WithTimeout(podsWithin).Should(
				haveCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady))
		}, NodeTimeout(upWithin))
		Expect(begin(ctx, lost.Name)).To(Succeed())
		edit(ctx, web, func(w *v1alpha1.Federated) {
			w.Spec.Objects[1] = build.Raw(build.ConfigMap("settings", "colour", "green"))
		})
		Eventually(ctx, others.field("ConfigMap", shop, "settings", "data", "colour")).WithTimeout(within).Should(Equal("green"))
		Eventually(ctx, reread(ctx, registered(lost.Name))).Should(
			haveCondition(v1alpha1.ConditionReachable, metav1.ConditionFalse, ""))
		Eventually(ctx, reread(ctx, web)).Should(haveLine(lost.Name, v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable))

		Expect(end(ctx, lost.Name)).To(Succeed())
		back := time.Now()
		Eventually(ctx, lost.field("ConfigMap", shop, "settings", "data", "colour")).WithTimeout(podsWithin).Should(Equal("green"))
		AddReportEntry("the returned member was served after", time.Since(back).Round(time.Millisecond).String())
		expectReadySoon(ctx, web)
		Eventually(ctx, lost.phases(shop, "web")).WithTimeout(podsWithin).Should(Equal([]corev1.PodPhase{corev1.PodRunning}))
	}

	It("a paused member is Unreachable, does not affect the others, and is served when it is resumed", func(ctx SpecContext) {
		lose(ctx, fleet.Member("member-1"), onKind().Pause, onKind().Unpause)
	}, SpecTimeout(specWithin))

	It("a stopped member is Unreachable, does not affect the others, and is served when it is started", func(ctx SpecContext) {
		lose(ctx, fleet.Member("member-1"), onKind().Stop, onKind().Start)
	}, SpecTimeout(specWithin))
})

var _ = withKubelets("When the host's node stops", func() {
	It("members keep what they have and their pods, and get what they lack once the host is back", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		web := author(ctx, build.Federated("web").In(shop).To(member.Name, "member-2").
			With(running("web", "serve"), build.ConfigMap("changed", "colour", "blue"), build.ConfigMap("deleted", "colour", "blue")))
		expectReadySoon(ctx, web)
		before := member.pods(ctx, shop, "web")
		DeferCleanup(func(ctx SpecContext) {
			_ = onKind().Start(ctx, fleet.Host.Name) // an error means that the spec itself has ended the outage
		}, NodeTimeout(upWithin))

		Expect(onKind().Stop(ctx, fleet.Host.Name)).To(Succeed())
		member.setData(ctx, shop, "changed", "colour", "red", "somebody")
		Expect(member.Delete(ctx, member.fetch(ctx, "ConfigMap", shop, "deleted"))).To(Succeed())
		Consistently(ctx, member.phases(shop, "web")).WithTimeout(20 * time.Second).WithPolling(time.Second).Should(Equal([]corev1.PodPhase{corev1.PodRunning}))
		Expect(member.field("ConfigMap", shop, "changed", "data", "colour")(ctx)).To(Equal("red"), "nothing repairs it while the host is away")

		Expect(onKind().Start(ctx, fleet.Host.Name)).To(Succeed())
		back := time.Now()
		for _, name := range []string{"changed", "deleted"} {
			Eventually(ctx, member.field("ConfigMap", shop, name, "data", "colour")).WithTimeout(podsWithin).Should(Equal("blue"), name)
		}
		AddReportEntry("the member had what it lacked after", time.Since(back).Round(time.Millisecond).String())
		Eventually(ctx, func() error {
			return fleet.Host.Create(ctx, build.Federated("after").In(shop).To(member.Name).With(build.ConfigMap("after")).Obj())
		}).WithTimeout(podsWithin).Should(Succeed(), "the webhooks answer again")
		Eventually(ctx, member.has("ConfigMap", shop, "after")).WithTimeout(podsWithin).Should(BeTrue())
		expectReadySoon(ctx, web)
		after := member.pods(ctx, shop, "web")
		Expect(after).To(HaveLen(1))
		Expect(after[0].UID).To(Equal(before[0].UID), "the pod is the same")
		Expect(after[0].Status.ContainerStatuses[0].RestartCount).To(Equal(before[0].Status.ContainerStatuses[0].RestartCount), "and has not been restarted")
		remove(ctx, build.Federated("after").In(shop).Obj())
	}, SpecTimeout(specWithin))
})

var _ = withKubelets("When the leading manager is killed", func() {
	It("the other replica still admits wrappers, another process leads once the lease has expired, and pushes them", func(ctx SpecContext) {
		shop := newShop(ctx)
		settings := author(ctx, build.Federated("settings").In(shop).To("member-1").With(build.ConfigMap("settings", "colour", "blue")))
		expectReady(ctx, settings)
		led := leader(ctx)
		killLeader(ctx)
		began := time.Now()
		// The Service still sends some requests to the killed pod, until its endpoints are updated. So the spec tries more than
		// once.
		Eventually(ctx, func() error {
			return fleet.Host.Create(ctx, build.Federated("during").In(shop).To("member-1").With(build.ConfigMap("during")).Obj())
		}).Should(Succeed())
		AddReportEntry("a wrapper was admitted after", time.Since(began).Round(time.Millisecond).String())
		Eventually(ctx, leader).WithTimeout(podsWithin).ShouldNot(Or(Equal(led), BeEmpty()))
		AddReportEntry("another process led after", time.Since(began).Round(time.Millisecond).String())
		Eventually(ctx, fleet.Member("member-1").has("ConfigMap", shop, "during")).WithTimeout(podsWithin).Should(BeTrue())
		edit(ctx, settings, func(w *v1alpha1.Federated) {
			w.Spec.Objects[0] = build.Raw(build.ConfigMap("settings", "colour", "green"))
		})
		expectReadySoon(ctx, settings)
		Expect(fleet.Member("member-1").field("ConfigMap", shop, "settings", "data", "colour")(ctx)).To(Equal("green"))
		remove(ctx, build.Federated("during").In(shop).Obj())
	}, SpecTimeout(specWithin))
})
