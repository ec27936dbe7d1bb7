// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// neighbour is an operator that a user of the member has installed, with a Manual Subscription of the same name.
const neighbour = "neighbour-operator"

// installNeighbour installs v1.0.0 of the neighbour in a namespace of a member, by its own catalog. v1.1.0 is in that catalog, too.
func installNeighbour(ctx context.Context, member *TestCluster, namespace string) {
	GinkgoHelper()
	target, err := fleet.Sandbox.OLMCluster(member.Name)
	Expect(err).NotTo(HaveOccurred())
	process, address, err := olm.ServeOwn(ctx, target, namespace+"-n", olm.Bundle{Package: neighbour, Version: "v1.0.0"}, olm.Bundle{Package: neighbour, Version: "v1.1.0"})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(fleet.Sandbox.RemoveProcess(ctx, member.Name, process)).To(Succeed()) })
	member.create(ctx, build.Namespace(namespace))
	member.create(ctx, build.Manifest(`{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: theirs, namespace: %[1]s}, spec: {targetNamespaces: [%[1]s]}}`, namespace))
	member.create(ctx, build.Manifest(`{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: theirs, namespace: %s}, spec: {sourceType: grpc, address: %q}}`, namespace, address))
	member.create(ctx, build.Manifest(`
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: %[1]s, namespace: %[2]s}
spec: {name: %[1]s, channel: stable, source: theirs, sourceNamespace: %[2]s, startingCSV: %[1]s.v1.0.0, installPlanApproval: Manual}`, neighbour, namespace))
	approvePlanOf(ctx, member, namespace, neighbour)
	Eventually(ctx, member.field("Subscription", namespace, neighbour, "status", "installedCSV")).WithTimeout(olmPatience).Should(Equal(neighbour + ".v1.0.0"))
}

// approvePlanOf approves the InstallPlan that a Subscription on a member names, as a user of the member does.
func approvePlanOf(ctx context.Context, member *TestCluster, namespace, subscription string) {
	GinkgoHelper()
	var name string
	Eventually(ctx, func(ctx context.Context) string {
		name, _ = member.field("Subscription", namespace, subscription, "status", "installPlanRef", "name")(ctx).(string)
		return name
	}).WithTimeout(olmPatience).ShouldNot(BeEmpty())
	plan := member.fetch(ctx, planKind, namespace, name)
	Expect(member.Patch(ctx, plan, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"approved": true}}`)))).To(Succeed())
}

var _ = Describe("When a namespace on a member has an operator of another owner", needsOLM, needsProcesses, func() {
	It("creates no second OperatorGroup and no Manual Subscription there, and never upgrades that operator", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		installNeighbour(ctx, member, shop)
		theirs := member.field("Subscription", shop, neighbour, "status", "installedCSV")

		By("holding an OperatorGroup and a Subscription that would break the neighbour")
		b := subscribedToOwn(ctx, shop, []string{member.Name}, olm.Bundle{Version: "v1.0.0"}, olm.Bundle{Version: "v1.1.0"}).UpTo("demo", demoCSV("v1.0.0"))
		w := author(ctx, b)
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(haveLine(member.Name, v1alpha1.StateStalled, v1alpha1.ReasonOperatorGroupExists, "theirs"))
		group := w.Spec.Objects[0]
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Objects = w.Spec.Objects[1:] })
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(haveLine(member.Name, v1alpha1.StateStalled, v1alpha1.ReasonNamespaceShared, neighbour))
		Expect(string(group.Raw)).To(ContainSubstring("OperatorGroup"), "the spec has taken another object out of the wrapper")

		By("approving no plan that also upgrades the neighbour, although the author shares the namespace")
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Upgrade.SharedNamespace = v1alpha1.SharedNamespaceAllow })
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(haveLine(member.Name, v1alpha1.StateDegraded, v1alpha1.ReasonInstallPlanBundlesOthers, neighbour+".v1.1.0"))
		Expect(theirs(ctx)).To(Equal(neighbour + ".v1.0.0"))
		Expect(member.csvPhase(ctx, shop, demoCSV("v1.0.0"))).To(BeEmpty())

		By("going on when the owner has approved the plan that the message names")
		approvePlanOf(ctx, member, shop, "demo")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion(member.Name, "v1.0.0")))
		aim(ctx, w, "v1.1.0")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion(member.Name, "v1.1.0")))
		Expect(theirs(ctx)).To(Equal(neighbour + ".v1.1.0"))
	}, SpecTimeout(8*time.Minute))
})

var _ = Describe("When a version skips others", needsOLM, needsProcesses, func() {
	It("goes to that version at once, and does not go beyond a target that OLM would skip", func(ctx SpecContext) {
		shop := newShop(ctx)
		w := author(ctx, subscribedToOwn(ctx, shop, []string{"member-1"}, olm.Bundle{Version: "v1.0.0"}, olm.Bundle{Version: "v1.1.0"},
			olm.Bundle{Version: "v1.2.0", Replaces: "v1.0.0", Skips: []string{"v1.1.0"}}, olm.Bundle{Version: "v1.4.0", SkipRange: ">=1.0.0 <1.4.0"}).
			UpTo("demo", demoCSV("v1.0.0")))
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion("member-1", "v1.0.0")))
		aim(ctx, w, "v1.1.0")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(haveLine("member-1", v1alpha1.StateStalled, v1alpha1.ReasonUpgradeSkipsTarget, demoCSV("v1.4.0"), demoCSV("v1.1.0")))
		Expect(subscriptionField(w, "member-1", "installedCSV")(ctx)).To(Equal(demoCSV("v1.0.0")))
		aim(ctx, w, "v1.4.0")
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion("member-1", "v1.4.0")))
		for _, skipped := range []string{"v1.1.0", "v1.2.0"} {
			Expect(fleet.Member("member-1").csvPhase(ctx, shop, demoCSV(skipped))).To(BeEmpty())
		}
	}, SpecTimeout(6*time.Minute))
})
