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

// greetingKind is the kind of the demo operator's custom resources, as fetch needs it.
var greetingKind = demooperator.Kind + "." + demooperator.GroupVersion.Version + "." + demooperator.GroupVersion.Group

var _ = Describe("When a failed upgrade is rolled back with rollback: Reinstall", needsOLM, needsProcesses, func() {
	// fails raises the target to v1.3.0, whose operator does not work, and waits until the reinstall is announced on the canary.
	fails := func(ctx context.Context, shop string, last olm.Bundle) *v1alpha1.Federated {
		GinkgoHelper()
		w := upgradedInWaves(ctx, shop, last)
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.OnFailure, w.Spec.Upgrade.Rollback = v1alpha1.FailureRollback, v1alpha1.RollbackReinstall
		})
		Eventually(ctx, reread(ctx, w)).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))
		greeting := build.Manifest(`{apiVersion: %s, kind: %s, metadata: {name: hello, namespace: %s}, spec: {message: Hello, recipients: [ada]}}`,
			demooperator.GroupVersion, demooperator.Kind, shop)
		Expect(fleet.Member("member-1").Create(ctx, greeting)).To(Succeed())
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.ProgressDeadlineSeconds = 30
			w.Spec.Upgrade.Subscriptions[0].TargetCSV = demoCSV("v1.3.0")
		})
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).WithPolling(time.Second).Should(haveLine("member-1", v1alpha1.StateProgressing,
			v1alpha1.ReasonReinstallAnnounced, demoCSV("v1.2.0"), demoCSV("v1.3.0"), "CRDs and custom resources stay"))
		Expect(fleet.Member("member-1").csvPhase(ctx, shop, demoCSV("v1.3.0"))).NotTo(BeEmpty(), "nothing is removed while it is announced")
		return w
	}
	// isBack waits until the canary has v1.2.0 again, and checks that its custom resource is the same object.
	isBack := func(ctx context.Context, w *v1alpha1.Federated, greeting string) {
		GinkgoHelper()
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(haveVersion("member-1", "v1.2.0"), haveVersion("member-2", "v1.2.0"),
			haveRollout(v1alpha1.RolloutRolledBack, "", v1alpha1.ReasonRolloutStopped)))
		Expect(fleet.Member("member-1").csvPhase(ctx, w.Namespace, demoCSV("v1.3.0"))).To(BeEmpty())
		Expect(string(fleet.Member("member-1").fetch(ctx, greetingKind, w.Namespace, "hello").GetUID())).To(Equal(greeting), "the custom resource must be the same object")
	}
	uidOf := func(ctx context.Context, shop string) string {
		GinkgoHelper()
		return string(fleet.Member("member-1").fetch(ctx, greetingKind, shop, "hello").GetUID())
	}

	// upgrade_fleet_test.go has the same for a version that needs another Kubernetes.
	It("takes the canary back to the previous version when the operator crashes, and keeps its custom resources", needsSimulation, func(ctx SpecContext) {
		shop := newShop(ctx)
		w := fails(ctx, shop, olm.Bundle{Version: "v1.3.0", Crashes: true})
		isBack(ctx, w, uidOf(ctx, shop))
	}, SpecTimeout(12*time.Minute))

	It("ends well if the manager is killed between the removal and the new Subscription", func(ctx SpecContext) {
		shop := newShop(ctx)
		w := fails(ctx, shop, olm.Bundle{Version: "v1.3.0", MinKubeVersion: "99.0.0"})
		greeting := uidOf(ctx, shop)
		Eventually(ctx, func() string { return fleet.Member("member-1").csvPhase(ctx, shop, demoCSV("v1.2.0")) }).WithTimeout(2*time.Minute).WithPolling(200*time.Millisecond).
			Should(BeEmpty(), "the earlier version goes first")
		killManager(ctx)
		isBack(ctx, w, greeting)
	}, SpecTimeout(12*time.Minute))
})
