// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

var _ = withKubelets("When a join cannot succeed", func() {
	// The spec breaks member-3, and joins it again as it was.
	const name = "member-3"
	join := func(ctx SpecContext, args ...string) Run {
		GinkgoHelper()
		return fleet.Hostctl(ctx, append(onKind().JoinArgs(3, name), args...)...)
	}
	BeforeEach(func() {
		DeferCleanup(func(ctx SpecContext) {
			joined := join(ctx, "--image", "host")
			Expect(joined.Code).To(BeZero(), joined.Stderr)
		}, NodeTimeout(upWithin))
	})

	It("because the member cannot pull the collector's image, join ends with the reason, and the host has it within a minute", func(ctx SpecContext) {
		unjoined := fleet.Hostctl(ctx, "unjoin", name, "--yes")
		Expect(unjoined.Code).To(BeZero(), unjoined.Stderr)
		ended := make(chan Run, 1)
		go func() {
			defer GinkgoRecover()
			ended <- join(ctx, "--image", "registry.invalid/collector:1")
		}()
		began := time.Now()
		Eventually(ctx, func(g Gomega) {
			m := registered(name)
			g.Expect(fleet.Host.Get(ctx, keyOf(m), m)).To(Succeed())
			g.Expect(m).To(And(haveCondition(v1alpha1.ConditionCollectorReady, metav1.ConditionFalse, v1alpha1.ReasonImageNotPulled),
				haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonImageNotPulled)))
			g.Expect(conditionMessage(m, v1alpha1.ConditionCollectorReady)).To(ContainSubstring("registry.invalid/collector:1"))
		}).WithTimeout(time.Minute).Should(Succeed())
		AddReportEntry("the host named the reason after", time.Since(began).Round(time.Second).String())
		Eventually(ctx, ended).WithTimeout(specWithin).Should(Receive(And(HaveField("Code", Not(BeZero())),
			HaveField("Stderr", And(ContainSubstring("ImageNotPulled"), ContainSubstring("registry.invalid/collector:1"))))))
	}, SpecTimeout(specWithin))

	It("because the host does not reach the member, join ends with the address that it tried and the way out", func(ctx SpecContext) {
		failed := join(ctx, "--server", "https://nowhere.invalid:6443")
		Expect(failed.Code).NotTo(BeZero())
		Expect(failed.Stderr).To(And(ContainSubstring("https://nowhere.invalid:6443"), ContainSubstring("--server")))
	}, SpecTimeout(specWithin))
})
