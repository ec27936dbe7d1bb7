// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// This is one spec and not several, because installing OLM and the operator on a fourth member takes minutes.
var _ = Describe("When OLM upgrades an operator on four members in three waves", longFirst, needsOLM, needsProcesses, func() {
	It("goes on after a kill of the manager at each boundary, waits for the approval of the last wave, and takes the canary back from a bad version", func(ctx SpecContext) {
		members := []string{"member-1", "member-2", "member-3", fleet.addMember(ctx)}
		shop := newShop(ctx)
		w := author(ctx, subscribedToOwn(ctx, shop, members, olm.Bundle{Version: "v1.0.0"}, olm.Bundle{Version: "v1.1.0"}, olm.Bundle{Version: "v1.2.0"},
			olm.Bundle{Version: "v1.3.0", MinKubeVersion: "99.0.0"}).UpTo("demo", demoCSV("v1.0.0")))
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveVersions(members, "v1.0.0", "v1.0.0", "v1.0.0", "v1.0.0")))
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.Waves = []v1alpha1.RolloutWave{build.Wave("canary", members[0]), build.Wave("second", members[1], members[2]), build.ManualWave("last")}
			w.Spec.Rollout.OnFailure, w.Spec.Upgrade.Rollback = v1alpha1.FailureRollback, v1alpha1.RollbackReinstall
		})
		Eventually(ctx, reread(ctx, w)).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))

		By("upgrading to v1.1.0, with the manager killed at each boundary")
		aim(ctx, w, "v1.1.0")
		Eventually(ctx, reread(ctx, w)).Should(HaveField("Status.Rollout.Wave", "canary"))
		killManager(ctx)
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(haveVersion(members[0], "v1.1.0"), HaveField("Status.Rollout.Wave", "second")))
		killManager(ctx)
		waits := haveRollout(v1alpha1.RolloutProgressing, "last", v1alpha1.ReasonWaveNeedsApproval)
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(haveVersions(members, "v1.1.0", "v1.1.0", "v1.1.0", "v1.0.0"), waits))
		killManager(ctx)
		Expect(subscriptionField(w, members[3], "installedCSV")(ctx)).To(Equal(demoCSV("v1.0.0")))
		approve(ctx, "operator", "-n", shop, "--wave", "last")
		killManager(ctx)
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion(members[3], "v1.1.0"), haveRollout(v1alpha1.RolloutComplete, "", "")))

		By("upgrading to v1.2.0, with a new approval of the last wave")
		aim(ctx, w, "v1.2.0")
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(haveVersions(members, "v1.2.0", "v1.2.0", "v1.2.0", "v1.1.0"), waits))
		approve(ctx, "operator", "-n", shop, "--wave", "last")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion(members[3], "v1.2.0"), haveRollout(v1alpha1.RolloutComplete, "", "")))

		By("stopping at the canary with v1.3.0, which needs another Kubernetes")
		greeting := greet(ctx, fleet.Member(members[0]), shop)
		failUpgrade(ctx, w)
		expectAnnounced(ctx, w, haveAnnounced(members[0]), members[0])

		By("taking the canary back to v1.2.0, while the others keep it")
		expectTakenBack(ctx, w, greeting, haveRollout(v1alpha1.RolloutRolledBack, "", v1alpha1.ReasonRolloutStopped), members...)
	}, SpecTimeout(20*time.Minute))
})
