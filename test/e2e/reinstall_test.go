// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// greetingKind is the kind of the demo operator's custom resources, as fetch needs it.
var greetingKind = demooperator.Kind + "." + demooperator.GroupVersion.Version + "." + demooperator.GroupVersion.Group

// greet creates a custom resource of the demo operator on a member, and returns its uid.
func greet(ctx context.Context, member *TestCluster, namespace string) types.UID {
	GinkgoHelper()
	hello := build.Manifest(`{apiVersion: %s, kind: %s, metadata: {name: hello, namespace: %s}, spec: {message: Hello, recipients: [ada]}}`,
		demooperator.GroupVersion, demooperator.Kind, namespace)
	Expect(member.Create(ctx, hello)).To(Succeed())
	return hello.GetUID()
}

// failUpgrade raises the target to v1.3.0, whose operator does not work. The deadline of a member passes after 30 s.
func failUpgrade(ctx context.Context, w *v1alpha1.Federated) {
	GinkgoHelper()
	edit(ctx, w, func(w *v1alpha1.Federated) {
		w.Spec.Rollout.ProgressDeadlineSeconds = 30
		w.Spec.Upgrade.Subscriptions[0].TargetCSV = demoCSV("v1.3.0")
	})
}

// haveAnnounced matches a wrapper whose status announces the reinstall of v1.3.0 on a member.
func haveAnnounced(member string) gomegatypes.GomegaMatcher {
	return haveLine(member, v1alpha1.StateProgressing, v1alpha1.ReasonReinstallAnnounced, demoCSV("v1.2.0"), demoCSV("v1.3.0"), "CRDs and custom resources stay")
}

// expectAnnounced waits until a wrapper matches announced, and checks that nothing is removed on these members meanwhile.
func expectAnnounced(ctx context.Context, w *v1alpha1.Federated, announced gomegatypes.GomegaMatcher, members ...string) {
	GinkgoHelper()
	Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).WithPolling(time.Second).Should(announced)
	for _, member := range members {
		Expect(fleet.Member(member).csvPhase(ctx, w.Namespace, demoCSV("v1.3.0"))).NotTo(BeEmpty(), "%s: nothing is removed while it is announced", member)
	}
}

// expectTakenBack waits until all members have v1.2.0 and the rollout has this state, wave and reason. It checks that the custom resource of
// greet on member-1 is the same object.
func expectTakenBack(ctx context.Context, w *v1alpha1.Federated, greeting types.UID, rollout gomegatypes.GomegaMatcher, members ...string) {
	GinkgoHelper()
	Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(haveVersions(members, slices.Repeat([]string{"v1.2.0"}, len(members))...), rollout))
	for _, member := range members {
		Expect(fleet.Member(member).csvPhase(ctx, w.Namespace, demoCSV("v1.3.0"))).To(BeEmpty(), member)
	}
	Expect(fleet.Member("member-1").fetch(ctx, greetingKind, w.Namespace, "hello").GetUID()).To(Equal(greeting), "the custom resource must be the same object")
}

// These specs first check that a failed upgrade stops at the canary, as upgrade_failure_test.go does for an upgrade that leaves no operator to
// reinstall. So the operator is installed once for both.
var _ = Describe("When an upgrade fails, and rollback: Reinstall takes it back", longFirst, needsOLM, needsProcesses, func() {
	It("takes the canary back when the operator crashes and a person retries, and keeps its custom resources", needsSimulation, func(ctx SpecContext) {
		shop, canary := newShop(ctx), fleet.Member("member-1")
		w := upgradedInWaves(ctx, shop, olm.Bundle{Version: "v1.3.0", Crashes: true}, canary.Name)
		greeting := greet(ctx, canary, shop)

		By("stopping at the canary, while the other member keeps the previous version")
		failUpgrade(ctx, w)
		expectStopped(ctx, w, haveLine(canary.Name, v1alpha1.StateDegraded, "CrashLoopBackOff", "from its log: This pod is simulated"), "member-2")

		By("keeping the operator after a retry, because OLM would delete its custom resources with the CSV")
		cleanUp := func(enabled bool) {
			csv := canary.fetch(ctx, csvKind, shop, demoCSV("v1.3.0"))
			patch := fmt.Appendf(nil, `{"spec": {"cleanup": {"enabled": %t}}}`, enabled)
			Expect(canary.Patch(ctx, csv, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
		}
		cleanUp(true)
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.OnFailure, w.Spec.Upgrade.Rollback = v1alpha1.FailureRollback, v1alpha1.RollbackReinstall
		})
		onCall(ctx, w, exit.Done, "retry", "--yes")
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(haveLine(canary.Name, v1alpha1.StateDegraded, v1alpha1.ReasonReinstallRefused, "cleanup.enabled"))

		By("reinstalling it when a user of the member has corrected the CSV")
		cleanUp(false)
		expectAnnounced(ctx, w, haveAnnounced(canary.Name), canary.Name)
		expectTakenBack(ctx, w, greeting, haveRollout(v1alpha1.RolloutRolledBack, "", v1alpha1.ReasonRolloutStopped), canary.Name, "member-2")
	}, SpecTimeout(12*time.Minute))

	It("takes one member of the canary back after the other to an earlier target, also if the manager is killed between removal and installation", func(ctx SpecContext) {
		shop, first, second := newShop(ctx), "member-1", "member-2"
		w := upgradedInWaves(ctx, shop, olm.Bundle{Version: "v1.3.0", MinKubeVersion: "99.0.0"}, first, second)
		greeting := greet(ctx, fleet.Member(first), shop)

		By("stopping at the canary, while the other member keeps the previous version")
		failUpgrade(ctx, w)
		fails := []gomegatypes.GomegaMatcher{}
		for _, member := range []string{first, second} {
			fails = append(fails, haveLine(member, v1alpha1.StateProgressing, "RequirementsNotMet", demoCSV("v1.3.0")))
		}
		expectStopped(ctx, w, And(fails...), "member-3")

		By("announcing the reinstall on one member, while the other waits for its turn")
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.MaxUnavailable, w.Spec.Upgrade.Rollback = ptr.To(intstr.FromInt32(1)), v1alpha1.RollbackReinstall
			w.Spec.Upgrade.Subscriptions[0].TargetCSV = demoCSV("v1.2.0")
		})
		announced := func(first, second string) gomegatypes.GomegaMatcher {
			return And(haveAnnounced(first), haveLine(second, v1alpha1.StateProgressing, v1alpha1.ReasonReinstallWaits, "other members come first"))
		}
		expectAnnounced(ctx, w, Or(announced(first, second), announced(second, first)), first, second) // the first turn goes to the member that is first known to be ahead
		if lineOf(w, second).Reason == v1alpha1.ReasonReinstallAnnounced {
			first, second = second, first
		}

		By("finishing it after a kill of the manager between the removal and the new Subscription")
		Eventually(ctx, func() string { return fleet.Member(first).csvPhase(ctx, shop, demoCSV("v1.2.0")) }).WithTimeout(2*time.Minute).WithPolling(200*time.Millisecond).
			Should(BeEmpty(), "the earlier version goes first")
		killManager(ctx)
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(haveLine(first, v1alpha1.StateProgressing, v1alpha1.ReasonReinstalling))
		expectTakenBack(ctx, w, greeting, haveRollout(v1alpha1.RolloutComplete, "", ""), first, second, "member-3")
	}, SpecTimeout(12*time.Minute))
})
