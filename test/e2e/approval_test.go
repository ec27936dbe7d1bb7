// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// everywhere selects every member. nowhere selects none, as after an author's typing error in a label.
var (
	everywhere = []metav1.LabelSelector{{}}
	nowhere    = []metav1.LabelSelector{{MatchLabels: map[string]string{"clowd": "aws"}}}
)

// replace replaces the placement's selectors in a wrapper.
func replace(ctx SpecContext, w *v1alpha1.Federated, selectors []metav1.LabelSelector) {
	GinkgoHelper()
	edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Placement.Clusters.Selectors = selectors })
}

// holding returns a function for Eventually that lists the members which have the wrapper's ConfigMap.
func holding(w *v1alpha1.Federated) func(context.Context) []string {
	return func(ctx context.Context) []string {
		var names []string
		for _, m := range fleet.Members() {
			if m.has("ConfigMap", w.Namespace, w.Name)(ctx) {
				names = append(names, m.Name)
			}
		}
		return names
	}
}

var _ = Describe("When a placement drops more members than the limit for an hour", func() {
	// slipped returns a wrapper that was on all three members until its author replaced the placement by nowhere. The
	// manager has removed it from one member, and waits for an Approval before it removes it from the other two.
	slipped := func(ctx SpecContext) *v1alpha1.Federated {
		GinkgoHelper()
		w := author(ctx, build.Federated("everywhere").In(newShop(ctx)).ToMatching().With(build.ConfigMap("everywhere", "colour", "blue")))
		expectReady(ctx, w)
		replace(ctx, w, nowhere)
		Eventually(ctx, reread(ctx, w)).Should(And(
			haveCondition(v1alpha1.ConditionPlaced, metav1.ConditionFalse, v1alpha1.ReasonRemovalNeedsApproval),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRemovalNeedsApproval),
			haveLine("member-2", v1alpha1.StateHeld, v1alpha1.ReasonRemovalNeedsApproval, "hostctl approve everywhere -n "+w.Namespace+" --removal"),
			haveLine("member-3", v1alpha1.StateHeld, v1alpha1.ReasonRemovalNeedsApproval)))
		Eventually(ctx, holding(w)).Should(Equal([]string{"member-2", "member-3"}))
		return w
	}

	It("keeps serving the members whose removal waits, and leaves them once the removal is approved", func(ctx SpecContext) {
		w := slipped(ctx)
		Expect(fleet.Kubectl(ctx, "get", "federation", "-n", w.Namespace).Stdout).To(ContainSubstring(v1alpha1.ReasonRemovalNeedsApproval))
		Expect(conditionMessage(w, v1alpha1.ConditionPlaced)).To(And(ContainSubstring("2 of the 3 members"), ContainSubstring("restore spec.placement or the labels")))

		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Objects[0] = build.Raw(build.ConfigMap("everywhere", "colour", "green"))
		})
		for _, name := range []string{"member-2", "member-3"} {
			Eventually(ctx, fleet.Member(name).field("ConfigMap", w.Namespace, "everywhere", "data", "colour")).Should(Equal("green"))
		}
		Expect(reread(ctx, w)(Default).Status.Placement.Withheld).To(Equal([]string{"member-2", "member-3"}))

		By("approving with a dry run, which writes nothing")
		rehearsal := fleet.Hostctl(ctx, "approve", w.Name, "-n", w.Namespace, "--removal", "--dry-run", "-o", "yaml")
		Expect(rehearsal).To(HaveField("Code", 0))
		Expect(rehearsal.Stdout).To(ContainSubstring("allow: Removal"))
		By("approving the removal from one of the two members")
		one := fleet.Hostctl(ctx, "approve", w.Name, "-n", w.Namespace, "--removal", "--cluster", "member-3", "--yes")
		Expect(one).To(HaveField("Code", 0))
		Expect(one.Stderr).To(And(ContainSubstring("will leave member-3 now (onDelete: KeepData)"), ContainSubstring("The wrapper stays on member-2")))
		Eventually(ctx, holding(w)).Should(Equal([]string{"member-2"}))
		By("approving the removal from the last member")
		Expect(fleet.Hostctl(ctx, "approve", w.Name, "-n", w.Namespace, "--removal", "--yes")).To(HaveField("Code", 0))
		Eventually(ctx, holding(w)).Should(BeEmpty())
		Eventually(ctx, reread(ctx, w)).Should(And(
			haveCondition(v1alpha1.ConditionPlaced, metav1.ConditionFalse, v1alpha1.ReasonNoClusterMatches),
			WithTransform(func(w *v1alpha1.Federated) []string { return w.Status.Placement.Leaving }, BeEmpty())))

		again := fleet.Hostctl(ctx, "approve", w.Name, "-n", w.Namespace, "--removal", "--yes")
		Expect(again.Code).To(Equal(1))
		Expect(again.Stderr).To(ContainSubstring("no removal waits"))
		approvals := &v1alpha1.ApprovalList{}
		Expect(fleet.Host.List(ctx, approvals, client.InNamespace(w.Namespace))).To(Succeed())
		Expect(approvals.Items).To(HaveLen(2))
		remove(ctx, w)
		Eventually(ctx, func(g Gomega) {
			g.Expect(fleet.Host.List(ctx, approvals, client.InNamespace(w.Namespace))).To(Succeed())
			g.Expect(approvals.Items).To(BeEmpty(), "Approvals are deleted with their wrapper")
		}).Should(Succeed())
	})

	It("can be approved by people without permission to write wrappers", func(ctx SpecContext) {
		shop := newShop(ctx)
		Expect(fleet.Kubectl(ctx, "create", "rolebinding", "approvers", "-n", shop, "--clusterrole=fairlead-approver", "--user=casey")).To(HaveField("Code", 0))
		may := func(verb, resource, namespace string) string {
			GinkgoHelper()
			return strings.TrimSpace(fleet.Kubectl(ctx, "auth", "can-i", verb, resource+"."+v1alpha1.Group, "-n", namespace, "--as=casey").Stdout)
		}
		Eventually(ctx, func() string { return may("create", "approvals", shop) }).Should(Equal("yes"))
		Expect(may("get", "federateds", shop)).To(Equal("yes"))
		Expect(may("update", "federateds", shop)).To(Equal("no"))
		Expect(may("create", "approvals", "default")).To(Equal("no"))
	})

	It("does not happen if the author puts the placement back", func(ctx SpecContext) {
		w := slipped(ctx)
		before := fleet.Member("member-2").version(ctx, "ConfigMap", w.Namespace, w.Name)
		replace(ctx, w, everywhere)
		expectReady(ctx, w)
		Expect(holding(w)(ctx)).To(HaveLen(3))
		Expect(fleet.Member("member-2").version(ctx, "ConfigMap", w.Namespace, w.Name)).To(Equal(before))
		Expect(w.Status.Placement).To(And(HaveField("Withheld", BeEmpty()), HaveField("Decision", BeEmpty())))
	})

	It("counts the removals of the hour across a restart of the manager", func(ctx SpecContext) {
		w := slipped(ctx)
		decision := w.Status.Placement.Decision
		killManager(ctx)
		Eventually(ctx, func() error { // until the manager serves the webhook, which admits the next wrapper
			return fleet.Host.Create(ctx, build.Federated("settings").In(w.Namespace).To("member-1").With(build.ConfigMap("settings")).Obj(), client.DryRunAll)
		}).WithTimeout(afterKill).Should(Succeed())
		settings := author(ctx, build.Federated("settings").In(w.Namespace).To("member-1").With(build.ConfigMap("settings")))
		Eventually(ctx, reread(ctx, settings)).WithTimeout(90*time.Second).Should(beReady(), "the new manager does its work")
		Consistently(ctx, holding(w)).Should(Equal([]string{"member-2", "member-3"}))
		Expect(reread(ctx, w)(Default).Status.Placement.Decision).To(Equal(decision))
	}, SpecTimeout(3*time.Minute))

	It("leaves all members at once if rollout.maxRemoval allows it, or the wrapper is deleted", func(ctx SpecContext) {
		w := slipped(ctx)
		remove(ctx, w)
		Expect(holding(w)(ctx)).To(BeEmpty())

		w = author(ctx, build.Federated("everywhere").In(w.Namespace).ToMatching().MaxRemoval("100%").With(build.ConfigMap("everywhere")))
		expectReady(ctx, w)
		replace(ctx, w, nowhere)
		Eventually(ctx, holding(w)).Should(BeEmpty())
	})
})
