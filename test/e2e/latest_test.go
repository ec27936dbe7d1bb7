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

// subscribedToOwn returns a wrapper with a Subscription named demo. On each member the Subscription uses a catalog that only this spec
// has, with these bundles.
func subscribedToOwn(ctx context.Context, shop string, members []string, bundles ...olm.Bundle) *build.Builder[*v1alpha1.Federated] {
	GinkgoHelper()
	b := build.Federated("operator").In(shop).To(members...).With(operatorGroup(shop),
		build.Manifest(`{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: own}, spec: {sourceType: grpc, address: to-be-overridden}}`),
		build.Manifest(`
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: demo}
spec: {name: %s, channel: stable, source: own, sourceNamespace: %s, installPlanApproval: Manual}
`, demooperator.Name, shop))
	for _, member := range members {
		own := build.Override("CatalogSource", "own")
		own.Clusters = &v1alpha1.ClusterSelection{Names: []string{member}}
		own.Patch = []v1alpha1.PatchOperation{build.Patch("replace", "/spec/address", serveOwnCatalog(ctx, member, shop, bundles...))}
		b.Overriding(own)
	}
	return b
}

// replaceCatalogs replaces the bundles in the catalogs that subscribedToOwn made.
func replaceCatalogs(ctx context.Context, shop string, members []string, bundles ...olm.Bundle) {
	GinkgoHelper()
	for _, member := range members {
		target, err := fleet.Sandbox.OLMCluster(member)
		Expect(err).NotTo(HaveOccurred())
		_, _, err = olm.ServeOwn(ctx, target, shop, bundles...)
		Expect(err).NotTo(HaveOccurred())
	}
}

// haveTaken matches a wrapper by the version that the manager has taken as the Subscription's target, and by the reason why it takes
// no later one.
func haveTaken(version, reason string) types.GomegaMatcher {
	return HaveField("Status.Upgrade.Subscriptions", ConsistOf(And(HaveField("CSV", demoCSV(version)), HaveField("Reason", reason))))
}

var _ = Describe("When a Subscription takes the latest version", longFirst, needsOLM, needsProcesses, func() {
	It("goes to the canary first, although all catalogs have it, and stops there if it is bad", func(ctx SpecContext) {
		shop, members := newShop(ctx), []string{"member-1", "member-2", "member-3"}
		last := build.ManualWave("last")
		bundles := []olm.Bundle{{Version: "v1.0.0"}}
		w := author(ctx, subscribedToOwn(ctx, shop, members, bundles...).Latest("demo").InWaves("", build.Wave("canary", "member-1"), last))

		By("installing the head of the channel on the canary, and nothing elsewhere before the approval")
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(haveVersion("member-1", "v1.0.0"), haveTaken("v1.0.0", ""),
			haveRollout(v1alpha1.RolloutProgressing, "last", v1alpha1.ReasonWaveNeedsApproval)))
		for _, member := range members[1:] {
			Expect(fleet.Member(member).csvPhase(ctx, shop, demoCSV("v1.0.0"))).To(BeEmpty())
		}
		approve(ctx, "operator", "-n", shop, "--wave", "last")
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveVersion("member-2", "v1.0.0"), haveVersion("member-3", "v1.0.0"),
			haveRollout(v1alpha1.RolloutComplete, "", "")))

		By("upgrading the canary alone when a version appears in all catalogs at once")
		bundles = append(bundles, olm.Bundle{Version: "v1.1.0"})
		replaceCatalogs(ctx, shop, members, bundles...)
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(haveVersion("member-1", "v1.1.0"), haveTaken("v1.1.0", ""),
			haveRollout(v1alpha1.RolloutProgressing, "last", v1alpha1.ReasonWaveNeedsApproval)))
		for _, member := range members[1:] {
			Eventually(ctx, subscriptionField(w, member, "currentCSV")).WithTimeout(olmPatience).Should(Equal(demoCSV("v1.1.0")))
			Expect(subscriptionField(w, member, "installedCSV")(ctx)).To(Equal(demoCSV("v1.0.0")))
		}

		By("remembering that when the manager is killed")
		killManager(ctx)
		approve(ctx, "operator", "-n", shop, "--wave", "last")
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveVersion("member-2", "v1.1.0"), haveVersion("member-3", "v1.1.0"),
			haveTaken("v1.1.0", ""), haveRollout(v1alpha1.RolloutComplete, "", "")))

		By("stopping at the canary when a version cannot be installed")
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Rollout.ProgressDeadlineSeconds = 30 })
		replaceCatalogs(ctx, shop, members, append(bundles, olm.Bundle{Version: "v1.2.0", MinKubeVersion: "99.0.0"})...)
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(haveTaken("v1.2.0", ""),
			haveRollout(v1alpha1.RolloutPaused, "canary", v1alpha1.ReasonRolloutStopped),
			haveLine("member-1", v1alpha1.StateProgressing, "RequirementsNotMet", demoCSV("v1.2.0")),
			haveVersion("member-2", "v1.1.0"), haveVersion("member-3", "v1.1.0")))
		for _, member := range members[1:] {
			Eventually(ctx, subscriptionField(w, member, "currentCSV")).WithTimeout(olmPatience).Should(Equal(demoCSV("v1.2.0")))
			Expect(fleet.Member(member).csvPhase(ctx, shop, demoCSV("v1.2.0"))).To(BeEmpty())
		}
	}, SpecTimeout(12*time.Minute))

	It("takes no version while the catalogs of the first wave differ, for the first installation and for an upgrade", func(ctx SpecContext) {
		shop, members := newShop(ctx), []string{"member-1", "member-2"}
		first, second, third := olm.Bundle{Version: "v1.0.0"}, olm.Bundle{Version: "v1.1.0"}, olm.Bundle{Version: "v1.2.0"}
		differ := func(east, west string) types.GomegaMatcher {
			return HaveField("Message", And(ContainSubstring(east+" on member-1"), ContainSubstring(west+" on member-2")))
		}
		b := subscribedToOwn(ctx, shop, members, first).Latest("demo")
		replaceCatalogs(ctx, shop, members[:1], first, second)
		w := author(ctx, b)
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(
			HaveField("Status.Upgrade.Subscriptions", ConsistOf(And(HaveField("Reason", v1alpha1.ReasonVersionsDiffer), differ("v1.1.0", "v1.0.0")))),
			haveLine("member-1", v1alpha1.StateWaiting, v1alpha1.ReasonVersionPending, demoCSV("v1.1.0")),
			haveLine("member-2", v1alpha1.StateWaiting, v1alpha1.ReasonVersionPending, demoCSV("v1.0.0"))))
		for _, member := range members {
			Expect(subscriptionField(w, member, "installedCSV")(ctx)).To(BeNil(), member)
		}

		By("installing one version everywhere when the catalogs agree, and a user of member-2 has deleted the Subscription for which OLM had chosen another one")
		replaceCatalogs(ctx, shop, members[1:], first, second)
		Expect(fleet.Member("member-2").Delete(ctx, fleet.Member("member-2").fetch(ctx, "Subscription.v1alpha1.operators.coreos.com", shop, "demo"))).To(Succeed())
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveVersion("member-1", "v1.1.0"), haveVersion("member-2", "v1.1.0")))

		By("keeping that version while the catalogs differ again")
		replaceCatalogs(ctx, shop, members[:1], first, second, third)
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveTaken("v1.1.0", v1alpha1.ReasonVersionsDiffer),
			HaveField("Status.Upgrade.Subscriptions", ConsistOf(differ("v1.2.0", "v1.1.0")))))
		Expect(subscriptionField(w, "member-1", "installedCSV")(ctx)).To(Equal(demoCSV("v1.1.0")))

		replaceCatalogs(ctx, shop, members[1:], first, second, third)
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveTaken("v1.2.0", ""),
			haveVersion("member-1", "v1.2.0"), haveVersion("member-2", "v1.2.0")))
		Eventually(ctx, told(shop, w.Name, v1alpha1.ReasonVersionTaken)).Should(ConsistOf(ContainSubstring(demoCSV("v1.1.0")), ContainSubstring(demoCSV("v1.2.0"))))
	}, SpecTimeout(8*time.Minute))
})
