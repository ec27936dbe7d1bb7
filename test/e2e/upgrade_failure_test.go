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

// serveOwnCatalog serves a catalog of the spec's own on a member, and returns its address. The server ends with the spec.
func serveOwnCatalog(ctx context.Context, member, name string, bundles ...olm.Bundle) (address string) {
	GinkgoHelper()
	target, err := fleet.Sandbox.OLMCluster(member)
	Expect(err).NotTo(HaveOccurred())
	process, address, err := olm.ServeOwn(ctx, target, name, bundles...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(fleet.Sandbox.RemoveProcess(ctx, member, process)).To(Succeed()) })
	return address
}

var _ = Describe("When an upgrade by OLM fails", needsOLM, needsProcesses, func() {
	It("stops at the canary, and the other members keep the version before", func(ctx SpecContext) {
		shop := newShop(ctx)
		bundles := []olm.Bundle{{Version: "v1.0.0"}, {Version: "v1.1.0"}, {Version: "v1.2.0"}, {Version: "v1.3.0", MinKubeVersion: "99.0.0"}}
		first, second := serveOwnCatalog(ctx, "member-1", shop, bundles...), serveOwnCatalog(ctx, "member-2", shop, bundles...)
		catalog := build.Manifest(`{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: own}, spec: {sourceType: grpc, address: %q}}`, first)
		own := build.Override("CatalogSource", "own")
		own.Clusters = &v1alpha1.ClusterSelection{Names: []string{"member-2"}}
		own.Patch = []v1alpha1.PatchOperation{build.Patch("replace", "/spec/address", second)}
		sub := build.Manifest(`
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: demo}
spec: {name: %s, channel: stable, source: own, sourceNamespace: %s, installPlanApproval: Manual}
`, demooperator.Name, shop)

		w := author(ctx, build.Federated("operator").In(shop).To("member-1", "member-2").With(operatorGroup(shop), catalog, sub).
			Overriding(own).UpTo("demo", demoCSV("v1.2.0")).InWaves("", build.Wave("canary", "member-1"), build.Wave("last")))
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveVersion("member-1", "v1.2.0"), haveVersion("member-2", "v1.2.0")))

		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.ProgressDeadlineSeconds = 30
			w.Spec.Upgrade.Subscriptions[0].TargetCSV = demoCSV("v1.3.0")
		})
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(haveRollout(v1alpha1.RolloutPaused, "canary", v1alpha1.ReasonRolloutStopped),
			haveLine("member-1", v1alpha1.StateProgressing, "RequirementsNotMet", demoCSV("v1.3.0")), haveVersion("member-2", "v1.2.0")))
		Expect(subscriptionField(w, "member-2", "currentCSV")(ctx)).To(Equal(demoCSV("v1.3.0")), "OLM offers the version on the second member too")
		Expect(fleet.Member("member-2").csvPhase(ctx, shop, demoCSV("v1.3.0"))).To(BeEmpty())
	}, SpecTimeout(8*time.Minute))

	It("quotes OLM if the catalog lacks the target of a first install, and goes on when the target is mended", func(ctx SpecContext) {
		shop := newShop(ctx)
		w := author(ctx, build.Federated("operator").In(shop).To("member-1").
			With(operatorGroup(shop), subscription(demooperator.Name, "Manual")).UpTo("demo", demoCSV("v9.9.9")))
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(haveLine("member-1", v1alpha1.StateDegraded,
			v1alpha1.ReasonTargetNotInCatalog, "no operators found with name "+demoCSV("v9.9.9")+" in channel stable"))
		aim(ctx, w, "v1.0.0")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion("member-1", "v1.0.0")))
	}, SpecTimeout(5*time.Minute))
})
