// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// addMember adds a member to the sandbox for the rest of the spec, and returns its name. After the spec the member leaves the host and stops.
// The sandbox keeps the stopped member, so this cannot be done with a sandbox that stays for the next run.
func (f *TestFleet) addMember(ctx context.Context) string {
	GinkgoHelper()
	if keep() {
		Skip("the spec adds a member to the sandbox, which a later run with KEEP=1 would start and join again")
	}
	options := sandboxOptions(f.repo)
	options.Members++
	name := sandbox.MemberName(options.Members)
	DeferCleanup(func(ctx SpecContext) {
		delete(f.members, name)
		unjoined := f.Hostctl(ctx, "unjoin", name, "--yes")
		Expect(unjoined.Code).To(BeZero(), unjoined.Stderr)
		Expect(f.Stop(ctx, name)).To(Succeed())
	}, NodeTimeout(upWithin))
	box, err := sandbox.Up(ctx, options, progress.New(GinkgoWriter))
	Expect(err).NotTo(HaveOccurred())
	f.Sandbox, f.Provider = box, provider.OfSandbox{Sandbox: box} // the former value does not know the new member
	f.members[name] = f.connect(name)
	return name
}

// This is one spec and not several, because installing OLM and the operator on a fourth member takes minutes.
var _ = Describe("When OLM upgrades an operator on four members in three waves", longFirst, needsOLM, needsProcesses, func() {
	It("goes on after a kill of the manager at each boundary, waits for the approval of the last wave, and takes the canary back from a bad version", func(ctx SpecContext) {
		members := []string{"member-1", "member-2", "member-3", fleet.addMember(ctx)}
		shop := newShop(ctx)
		w := author(ctx, subscribedToOwn(ctx, shop, members, olm.Bundle{Version: "v1.0.0"}, olm.Bundle{Version: "v1.1.0"}, olm.Bundle{Version: "v1.2.0"},
			olm.Bundle{Version: "v1.3.0", MinKubeVersion: "99.0.0"}).UpTo("demo", demoCSV("v1.0.0")))
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveVersions(members, "v1.0.0", "v1.0.0", "v1.0.0", "v1.0.0")))
		last := build.Wave("last")
		last.Approval = v1alpha1.WaveManual
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.Waves = []v1alpha1.RolloutWave{build.Wave("canary", members[0]), build.Wave("second", members[1], members[2]), last}
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
		greeting := build.Manifest(`{apiVersion: %s, kind: %s, metadata: {name: hello, namespace: %s}, spec: {message: Hello, recipients: [ada]}}`,
			demooperator.GroupVersion, demooperator.Kind, shop)
		Expect(fleet.Member(members[0]).Create(ctx, greeting)).To(Succeed())
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.ProgressDeadlineSeconds = 30
			w.Spec.Upgrade.Subscriptions[0].TargetCSV = demoCSV("v1.3.0")
		})
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).WithPolling(time.Second).Should(haveLine(members[0], v1alpha1.StateProgressing,
			v1alpha1.ReasonReinstallAnnounced, demoCSV("v1.2.0"), demoCSV("v1.3.0"), "CRDs and custom resources stay"))
		Expect(fleet.Member(members[0]).csvPhase(ctx, shop, demoCSV("v1.3.0"))).NotTo(BeEmpty(), "nothing is removed while it is announced")

		By("taking the canary back to v1.2.0, while the others keep it")
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(haveVersions(members, "v1.2.0", "v1.2.0", "v1.2.0", "v1.2.0"),
			haveRollout(v1alpha1.RolloutRolledBack, "", v1alpha1.ReasonRolloutStopped)))
		for _, member := range members {
			Expect(fleet.Member(member).csvPhase(ctx, shop, demoCSV("v1.3.0"))).To(BeEmpty(), member)
		}
		Expect(fleet.Member(members[0]).fetch(ctx, greetingKind, shop, "hello").GetUID()).To(Equal(greeting.GetUID()), "the custom resource must be the same object")
	}, SpecTimeout(20*time.Minute))
})

// haveVersions matches a wrapper whose lines for the members are Healthy and have these versions, in the same order.
func haveVersions(members []string, versions ...string) types.GomegaMatcher {
	all := make([]types.GomegaMatcher, len(members))
	for i, member := range members {
		all[i] = haveVersion(member, versions[i])
	}
	return And(all...)
}
