// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

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

// upgradedInWaves creates a wrapper with a Subscription on the first members of the fleet, and waits until all of them have v1.2.0. The
// members in the parameter canary come first: they are the first wave, and as many members may be unavailable. One more member is the
// last wave. The catalog of the Subscription also has the bundle in the parameter last. The specs pass a bundle whose upgrade fails.
func upgradedInWaves(ctx context.Context, shop string, last olm.Bundle, canary ...string) *v1alpha1.Federated {
	GinkgoHelper()
	members := []string{"member-1", "member-2", "member-3"}[:len(canary)+1]
	b := subscribedToOwn(ctx, shop, members, olm.Bundle{Version: "v1.0.0"}, olm.Bundle{Version: "v1.1.0"}, olm.Bundle{Version: "v1.2.0"}, last).
		UpTo("demo", demoCSV("v1.2.0")).InWaves("", build.Wave("canary", canary...), build.Wave("last"))
	b.Obj().Spec.Rollout.MaxUnavailable = ptr.To(intstr.FromInt(len(canary)))
	w := author(ctx, b)
	Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveVersions(members, slices.Repeat([]string{"v1.2.0"}, len(members))...),
		haveRollout(v1alpha1.RolloutComplete, "", "")))
	return w
}

// expectStopped waits until the rollout to v1.3.0 is paused at the canary and a member of the last wave has v1.2.0, although its catalog
// offers v1.3.0. The parameter fails matches the lines of the canary.
func expectStopped(ctx context.Context, w *v1alpha1.Federated, fails types.GomegaMatcher, kept string) {
	GinkgoHelper()
	Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(haveRollout(v1alpha1.RolloutPaused, "canary", v1alpha1.ReasonRolloutStopped),
		fails, haveVersion(kept, "v1.2.0")))
	Expect(subscriptionField(w, kept, "currentCSV")(ctx)).To(Equal(demoCSV("v1.3.0")), "the catalog of %s must offer the version too", kept)
	Expect(fleet.Member(kept).csvPhase(ctx, w.Namespace, demoCSV("v1.3.0"))).To(BeEmpty())
}

// reinstall_test.go has the same for an operator that crashes, and for a version that needs another Kubernetes.
var _ = Describe("When an upgrade by OLM fails", needsOLM, needsProcesses, func() {
	It("stops at the canary, and the other member keeps the previous version, when the API server refuses an object of it", func(ctx SpecContext) {
		w := upgradedInWaves(ctx, newShop(ctx), olm.Bundle{Version: "v1.3.0", Refused: true}, "member-1")
		failUpgrade(ctx, w)
		expectStopped(ctx, w, haveLine("member-1", v1alpha1.StateStalled, "InstallPlanFailed", "spec.ports[0].port"), "member-2")
	}, SpecTimeout(8*time.Minute))

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
