// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// demoCSV returns the name of the CSV of a version of the demo operator.
func demoCSV(version string) string { return demooperator.Name + "." + version }

// publishUpTo adds all versions of the demo operator to the members' catalogs, from the first to the one in the
// parameter last.
func publishUpTo(ctx context.Context, last string, members ...string) {
	GinkgoHelper()
	for _, member := range members {
		target, err := fleet.Sandbox.OLMCluster(member)
		Expect(err).NotTo(HaveOccurred())
		for _, version := range demooperator.Versions() {
			_, err := olm.Publish(ctx, target, version)
			Expect(err).NotTo(HaveOccurred())
			if version == last {
				break
			}
		}
	}
}

// aim sets the target of the Subscription named demo (spec.upgrade) to a version.
func aim(ctx context.Context, w *v1alpha1.Federated, version string) {
	GinkgoHelper()
	edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Upgrade.Subscriptions[0].TargetCSV = demoCSV(version) })
}

// subscriptionField returns a function for Eventually that returns a status field of the Subscription demo on a member.
func subscriptionField(w *v1alpha1.Federated, member string, field ...string) func(context.Context) any {
	return func(ctx context.Context) any {
		return fleet.Member(member).field("Subscription", w.Namespace, "demo", append([]string{"status"}, field...)...)(ctx)
	}
}

// haveVersion matches a wrapper whose line for the member is Healthy and has this version.
func haveVersion(member, version string) types.GomegaMatcher {
	return WithTransform(func(w *v1alpha1.Federated) v1alpha1.ClusterStatus { return lineOf(w, member) },
		And(HaveField("State", v1alpha1.StateHealthy), HaveField("Version", demoCSV(version))))
}

// haveVersions matches a wrapper whose lines for the members are Healthy and have these versions, in the same order.
func haveVersions(members []string, versions ...string) types.GomegaMatcher {
	all := make([]types.GomegaMatcher, len(members))
	for i, member := range members {
		all[i] = haveVersion(member, versions[i])
	}
	return And(all...)
}

var _ = Describe("When OLM upgrades operators up to a target", longFirst, needsOLM, func() {
	It("upgrades to the target wave after wave, version by version, and never past it", func(ctx SpecContext) {
		last := build.ManualWave("last")
		shop := newShop(ctx)
		publishUpTo(ctx, "v1.2.0", "member-1", "member-2") // from the start, v1.1.0 and v1.2.0 are in both catalogs, too
		w := author(ctx, build.Federated("operator").In(shop).To("member-1", "member-2").
			With(operatorGroup(shop), subscription(demooperator.Name, "Manual")).UpTo("demo", demoCSV("v1.0.0")).
			InWaves("", build.Wave("canary", "member-1"), last))

		By("installing the target itself, although later versions are in the catalogs")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(haveLine("member-1", v1alpha1.StateProgressing, v1alpha1.ReasonInstalling,
			demoCSV("v1.0.0")+" has succeeded", "counts as healthy after 10s"))
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(haveVersion("member-1", "v1.0.0"),
			haveRollout(v1alpha1.RolloutProgressing, "last", v1alpha1.ReasonWaveNeedsApproval)))
		Expect(fleet.Member("member-2").csvPhase(ctx, shop, demoCSV("v1.0.0"))).To(BeEmpty())
		approve(ctx, "operator", "-n", shop, "--wave", "last")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion("member-2", "v1.0.0"),
			haveRollout(v1alpha1.RolloutComplete, "", "")))

		By("leaving alone the plan beyond the target, which OLM makes at once")
		for _, member := range []string{"member-1", "member-2"} {
			Eventually(ctx, subscriptionField(w, member, "currentCSV")).WithTimeout(olmPatience).Should(Equal(demoCSV("v1.1.0")))
		}
		Expect(reread(ctx, w)(Default)).To(beReady())

		By("approving both plans to the new target on the canary, and none on the other member")
		aim(ctx, w, "v1.2.0")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(haveVersion("member-1", "v1.2.0"), haveVersion("member-2", "v1.0.0"),
			haveRollout(v1alpha1.RolloutProgressing, "last", v1alpha1.ReasonWaveNeedsApproval)))
		Expect(subscriptionField(w, "member-2", "installedCSV")(ctx)).To(Equal(demoCSV("v1.0.0")))
		approve(ctx, "operator", "-n", shop, "--wave", "last")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion("member-2", "v1.2.0")))

		By("stopping at the canary where the catalog does not have the target")
		aim(ctx, w, "v9.9.9")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(
			haveLine("member-1", v1alpha1.StateDegraded, v1alpha1.ReasonTargetNotInCatalog, "Subscription demo"), haveVersion("member-2", "v1.2.0")))

		By("reporting that OLM cannot downgrade")
		aim(ctx, w, "v1.1.0")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(
			haveLine("member-1", v1alpha1.StateDegraded, v1alpha1.ReasonAheadOfTarget, demoCSV("v1.2.0")), haveVersion("member-2", "v1.2.0")))
	}, SpecTimeout(8*time.Minute))

	It("approves no further version while all is suspended, and continues after the manager is killed", needsProcesses, func(ctx SpecContext) {
		shop := newShop(ctx)
		publishUpTo(ctx, "v1.2.0", "member-1")
		w := author(ctx, build.Federated("operator").In(shop).To("member-1").
			With(operatorGroup(shop), subscription(demooperator.Name, "Manual")).UpTo("demo", demoCSV("v1.0.0")))
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion("member-1", "v1.0.0")))
		aim(ctx, w, "v1.2.0")
		Eventually(ctx, subscriptionField(w, "member-1", "installedCSV")).WithTimeout(olmPatience).Should(Equal(demoCSV("v1.1.0")))
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Suspend = v1alpha1.SuspendAll })
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(haveLine("member-1", v1alpha1.StateProgressing, v1alpha1.ReasonInstallPlanPending,
			"for "+demoCSV("v1.2.0")+" waits for the manager"))
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Suspend = v1alpha1.SuspendNone })
		killManager(ctx) // so also the webhooks, which an edit needs
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion("member-1", "v1.2.0")))
	}, SpecTimeout(6*time.Minute))

	It("brings a member that was away for two targets to the latest one, version by version", needsProcesses, func(ctx SpecContext) {
		shop, members := newShop(ctx), []string{"member-1", "member-2"}
		w := author(ctx, subscribedToOwn(ctx, shop, members, olm.Bundle{Version: "v1.0.0"}, olm.Bundle{Version: "v1.1.0"}, olm.Bundle{Version: "v1.2.0"}).
			UpTo("demo", demoCSV("v1.0.0")).InWaves("", build.Wave("canary", "member-1"), build.Wave("last")))
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveVersion("member-1", "v1.0.0"), haveVersion("member-2", "v1.0.0")))
		fleet.Outage(ctx, "member-2")
		for _, version := range []string{"v1.1.0", "v1.2.0"} {
			aim(ctx, w, version)
			Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(haveVersion("member-1", version), haveLine("member-2", v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable)))
		}
		Expect(fleet.Start(ctx, "member-2")).To(Succeed())
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveVersion("member-2", "v1.2.0")))
	}, SpecTimeout(8*time.Minute))
})
