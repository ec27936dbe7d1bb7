// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// serveOwnCatalog makes a member serve a catalog of its own for this spec, and returns the address of the catalog. The server stops after
// the spec.
func serveOwnCatalog(ctx context.Context, member, name string, bundles ...olm.Bundle) (address string) {
	GinkgoHelper()
	target, err := fleet.Sandbox.OLMCluster(member)
	Expect(err).NotTo(HaveOccurred())
	process, address, err := olm.ServeOwn(ctx, target, name, bundles...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(fleet.Sandbox.RemoveProcess(ctx, member, process)).To(Succeed()) })
	return address
}

// upgradedInWaves creates a wrapper with a Subscription on member-1 (the canary) and member-2, and waits until both members have
// v1.2.0. The catalog of the Subscription also has the bundle in the parameter last. The specs pass a bundle whose upgrade fails.
func upgradedInWaves(ctx context.Context, shop string, last olm.Bundle) *v1alpha1.Federated {
	GinkgoHelper()
	bundles := []olm.Bundle{{Version: "v1.0.0"}, {Version: "v1.1.0"}, {Version: "v1.2.0"}, last}
	w := author(ctx, subscribedToOwn(ctx, shop, []string{"member-1", "member-2"}, bundles...).UpTo("demo", demoCSV("v1.2.0")).
		InWaves("", build.Wave("canary", "member-1"), build.Wave("last")))
	Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveVersion("member-1", "v1.2.0"), haveVersion("member-2", "v1.2.0")))
	return w
}

var _ = Describe("When an upgrade by OLM fails", needsOLM, needsProcesses, func() {
	DescribeTable("stops at the canary, and the other members keep the previous version", func(ctx SpecContext, last olm.Bundle, state v1alpha1.ClusterState, reason, words string) {
		shop := newShop(ctx)
		w := upgradedInWaves(ctx, shop, last)
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.ProgressDeadlineSeconds = 30
			w.Spec.Upgrade.Subscriptions[0].TargetCSV = demoCSV("v1.3.0")
		})
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(haveRollout(v1alpha1.RolloutPaused, "canary", v1alpha1.ReasonRolloutStopped),
			haveLine("member-1", state, reason, words), haveVersion("member-2", "v1.2.0")))
		Expect(subscriptionField(w, "member-2", "currentCSV")(ctx)).To(Equal(demoCSV("v1.3.0")), "the second member's catalog must offer the version too")
		Expect(fleet.Member("member-2").csvPhase(ctx, shop, demoCSV("v1.3.0"))).To(BeEmpty())
	},
		Entry("when it needs another Kubernetes", SpecTimeout(8*time.Minute), olm.Bundle{Version: "v1.3.0", MinKubeVersion: "99.0.0"},
			v1alpha1.StateProgressing, "RequirementsNotMet", demoCSV("v1.3.0")),
		Entry("when the operator crashes", SpecTimeout(8*time.Minute), needsSimulation, olm.Bundle{Version: "v1.3.0", Crashes: true},
			v1alpha1.StateDegraded, "CrashLoopBackOff", "from its log: This pod is simulated"),
		Entry("when the API server refuses an object of it", SpecTimeout(8*time.Minute), olm.Bundle{Version: "v1.3.0", Refused: true},
			v1alpha1.StateStalled, "InstallPlanFailed", "spec.ports[0].port"),
	)

	It("has OLM's message if the catalog lacks the target of a first install, and goes on when the target is corrected", func(ctx SpecContext) {
		shop := newShop(ctx)
		w := author(ctx, build.Federated("operator").In(shop).To("member-1").
			With(operatorGroup(shop), subscription(demooperator.Name, "Manual")).UpTo("demo", demoCSV("v9.9.9")))
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(haveLine("member-1", v1alpha1.StateDegraded,
			v1alpha1.ReasonTargetNotInCatalog, "no operators found with name "+demoCSV("v9.9.9")+" in channel stable"))
		aim(ctx, w, "v1.0.0")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion("member-1", "v1.0.0")))
	}, SpecTimeout(5*time.Minute))
})
