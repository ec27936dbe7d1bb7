// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// greetingKind is the kind of the demo operator's custom resources, as fetch needs it.
var greetingKind = demooperator.Kind + "." + demooperator.GroupVersion.Version + "." + demooperator.GroupVersion.Group

// failUpgrade raises the target to v1.3.0, whose operator does not work, and waits until the reinstall is announced on member-1, the canary.
// It returns the uid of a custom resource there.
func failUpgrade(ctx context.Context, w *v1alpha1.Federated) (greeting types.UID) {
	GinkgoHelper()
	canary := fleet.Member("member-1")
	hello := build.Manifest(`{apiVersion: %s, kind: %s, metadata: {name: hello, namespace: %s}, spec: {message: Hello, recipients: [ada]}}`,
		demooperator.GroupVersion, demooperator.Kind, w.Namespace)
	Expect(canary.Create(ctx, hello)).To(Succeed())
	edit(ctx, w, func(w *v1alpha1.Federated) {
		w.Spec.Rollout.ProgressDeadlineSeconds = 30
		w.Spec.Upgrade.Subscriptions[0].TargetCSV = demoCSV("v1.3.0")
	})
	Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).WithPolling(time.Second).Should(haveLine(canary.Name, v1alpha1.StateProgressing,
		v1alpha1.ReasonReinstallAnnounced, demoCSV("v1.2.0"), demoCSV("v1.3.0"), "CRDs and custom resources stay"))
	Expect(canary.csvPhase(ctx, w.Namespace, demoCSV("v1.3.0"))).NotTo(BeEmpty(), "nothing is removed while it is announced")
	return hello.GetUID()
}

// expectTakenBack waits until all members have v1.2.0 and the rollout is rolled back, and checks that the custom resource of failUpgrade is
// the same object.
func expectTakenBack(ctx context.Context, w *v1alpha1.Federated, greeting types.UID, members ...string) {
	GinkgoHelper()
	Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(haveVersions(members, slices.Repeat([]string{"v1.2.0"}, len(members))...),
		haveRollout(v1alpha1.RolloutRolledBack, "", v1alpha1.ReasonRolloutStopped)))
	for _, member := range members {
		Expect(fleet.Member(member).csvPhase(ctx, w.Namespace, demoCSV("v1.3.0"))).To(BeEmpty(), member)
	}
	Expect(fleet.Member("member-1").fetch(ctx, greetingKind, w.Namespace, "hello").GetUID()).To(Equal(greeting), "the custom resource must be the same object")
}

var _ = Describe("When a failed upgrade is rolled back with rollback: Reinstall", needsOLM, needsProcesses, func() {
	// upgraded creates a wrapper that is rolled back with Reinstall, and waits until both of its members have v1.2.0.
	upgraded := func(ctx context.Context, shop string, last olm.Bundle) *v1alpha1.Federated {
		GinkgoHelper()
		w := upgradedInWaves(ctx, shop, last)
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.OnFailure, w.Spec.Upgrade.Rollback = v1alpha1.FailureRollback, v1alpha1.RollbackReinstall
		})
		Eventually(ctx, reread(ctx, w)).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))
		return w
	}

	// upgrade_fleet_test.go has the same for a version that needs another Kubernetes.
	It("takes the canary back to the previous version when the operator crashes, and keeps its custom resources", needsSimulation, func(ctx SpecContext) {
		w := upgraded(ctx, newShop(ctx), olm.Bundle{Version: "v1.3.0", Crashes: true})
		expectTakenBack(ctx, w, failUpgrade(ctx, w), "member-1", "member-2")
	}, SpecTimeout(12*time.Minute))

	It("ends well if the manager is killed between the removal and the new Subscription", func(ctx SpecContext) {
		shop := newShop(ctx)
		w := upgraded(ctx, shop, olm.Bundle{Version: "v1.3.0", MinKubeVersion: "99.0.0"})
		greeting := failUpgrade(ctx, w)
		Eventually(ctx, func() string { return fleet.Member("member-1").csvPhase(ctx, shop, demoCSV("v1.2.0")) }).WithTimeout(2*time.Minute).WithPolling(200*time.Millisecond).
			Should(BeEmpty(), "the earlier version goes first")
		killManager(ctx)
		expectTakenBack(ctx, w, greeting, "member-1", "member-2")
	}, SpecTimeout(12*time.Minute))
})
