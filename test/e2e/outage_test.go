// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// within is the time that the documentation promises, both until the manager reports an outage, and until it serves a member
// that answers again.
const within = 30 * time.Second

var _ = Describe("When a member does not answer", func() {
	It("is Unreachable within 30 s, does not affect the others, and is served within 30 s after it answers again", func(ctx SpecContext) {
		shop, lost, others := newShop(ctx), fleet.Member("member-2"), fleet.Member("member-1")
		w := author(ctx, build.Federated("settings").In(shop).ToMatching().With(build.ConfigMap("settings", "colour", "blue")))
		leaving := author(ctx, build.Federated("leaving").In(shop).To(lost.Name).With(build.ConfigMap("leaving")))
		moving := author(ctx, build.Federated("moving").In(shop).To(lost.Name, others.Name).With(build.ConfigMap("moving")))
		expectReady(ctx, w, leaving, moving)

		fleet.Outage(ctx, lost.Name)
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Objects[0] = build.Raw(build.ConfigMap("settings", "colour", "green"))
		})
		edit(ctx, moving, func(w *v1alpha1.Federated) { w.Spec.Placement.Clusters.Names = []string{others.Name} })
		Expect(fleet.Host.Delete(ctx, leaving)).To(Succeed())
		Eventually(ctx, others.field("ConfigMap", shop, "settings", "data", "colour")).WithTimeout(5 * time.Second).Should(Equal("green"))
		registered := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: lost.Name}}
		Eventually(ctx, reread(ctx, registered)).WithTimeout(within).Should(And(
			haveCondition(v1alpha1.ConditionReachable, metav1.ConditionFalse, ""),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "")))
		Eventually(ctx, reread(ctx, w)).WithTimeout(within).Should(And(
			haveLine(lost.Name, v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable),
			haveLine(others.Name, v1alpha1.StateHealthy, ""),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonUnreachable)))
		Expect(reread(ctx, leaving)(Default).Finalizers).To(ContainElement(v1alpha1.Finalizer), "the wrapper is still on the member that does not answer")
		Expect(reread(ctx, moving)(Default).Status.Placement.Leaving).To(Equal([]string{lost.Name}))

		Expect(fleet.Start(ctx, lost.Name)).To(Succeed())
		back := time.Now()
		Eventually(ctx, lost.field("ConfigMap", shop, "settings", "data", "colour")).WithTimeout(within).Should(Equal("green"))
		Eventually(ctx, lost.has("ConfigMap", shop, "leaving")).WithTimeout(within).Should(BeFalse())
		Eventually(ctx, lost.has("ConfigMap", shop, "moving")).WithTimeout(within).Should(BeFalse())
		AddReportEntry("the returned member was served after", time.Since(back).Round(time.Millisecond).String())
		Eventually(ctx, fleet.Host.lacks(leaving)).Should(BeTrue())
		expectReady(ctx, w, moving)
		Eventually(ctx, reread(ctx, registered)).Should(haveCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady))
	})
})
