// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// awayForTooLong is a progress deadline in seconds. When it is over, a wave passes over a member that does not answer. It has to be long
// enough for the other members to become Healthy on a slow machine.
const awayForTooLong = 20

// colours returns a function for Eventually that lists the colour of the wrapper's ConfigMap on each member; nil where the member has
// no such ConfigMap.
func colours(w *v1alpha1.Federated) func(context.Context) []any {
	return func(ctx context.Context) []any {
		var found []any
		for _, m := range fleet.Members() {
			found = append(found, m.field("ConfigMap", w.Namespace, w.Name, "data", "colour")(ctx))
		}
		return found
	}
}

// paint changes the colour of a wrapper's ConfigMap.
func paint(ctx context.Context, w *v1alpha1.Federated, colour string) {
	GinkgoHelper()
	edit(ctx, w, func(w *v1alpha1.Federated) {
		w.Spec.Objects[0] = build.Raw(build.ConfigMap(w.Name, "colour", colour))
	})
}

// haveRollout matches a wrapper whose rollout has this state, this current wave and this reason to wait.
func haveRollout(state v1alpha1.RolloutState, wave, waitingFor string) types.GomegaMatcher {
	return WithTransform(func(w v1alpha1.Wrapper) v1alpha1.RolloutStatus {
		if w.WrapperStatus().ObservedGeneration != w.GetGeneration() {
			return v1alpha1.RolloutStatus{}
		}
		return w.WrapperStatus().Rollout
	}, And(HaveField("State", state), HaveField("Wave", wave), HaveField("WaitingFor", waitingFor)))
}

// invalidService returns a Service that every member refuses, because its port is too large.
func invalidService() *unstructured.Unstructured {
	return build.Manifest("{apiVersion: v1, kind: Service, metadata: {name: bad}, spec: {selector: {app: bad}, ports: [{port: 99999}]}}")
}

// approve runs hostctl approve with these arguments, as the on-call does.
func approve(ctx context.Context, args ...string) {
	GinkgoHelper()
	run := fleet.Hostctl(ctx, append([]string{"approve", "--yes"}, args...)...)
	Expect(run.Code).To(BeZero(), run.Stderr)
}

// manualLast returns three waves: canary has member-1, the second has member-2, and the last has the other
// members and needs an approval.
func manualLast() []v1alpha1.RolloutWave {
	last := build.ManualWave("last")
	return []v1alpha1.RolloutWave{build.Wave("canary", "member-1"), build.Wave("second", "member-2"), last}
}

// delivered creates a wrapper with a blue ConfigMap and these waves, and waits until its first rollout is complete.
func delivered(ctx SpecContext, onFailure v1alpha1.FailurePolicy, waves ...v1alpha1.RolloutWave) *v1alpha1.Federated {
	GinkgoHelper()
	w := author(ctx, build.Federated("wave").In(newShop(ctx)).ToMatching().With(build.ConfigMap("wave", "colour", "blue")).InWaves(onFailure, waves...))
	Eventually(ctx, reread(ctx, w)).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))
	return w
}

var _ = Describe("When a change goes out in waves", func() {
	It("updates wave after wave, waits for an approval, and keeps the old revision on members of later waves", func(ctx SpecContext) {
		shop := newShop(ctx)
		w := author(ctx, build.Federated("wave").In(shop).ToMatching().With(build.ConfigMap("wave", "colour", "blue")).InWaves("", manualLast()...))
		By("delivering the first revision in waves, too")
		Eventually(ctx, reread(ctx, w)).Should(And(haveRollout(v1alpha1.RolloutProgressing, "last", v1alpha1.ReasonWaveNeedsApproval),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonWaveNeedsApproval),
			haveLine("member-3", v1alpha1.StateWaiting, v1alpha1.ReasonWaveNeedsApproval, "hostctl approve wave -n "+shop+" --wave last")))
		Expect(colours(w)(ctx)).To(Equal([]any{"blue", "blue", nil}))
		approve(ctx, "wave", "-n", shop, "--wave", "last")
		Eventually(ctx, reread(ctx, w)).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))

		By("requiring another approval for the next change")
		paint(ctx, w, "green")
		Eventually(ctx, colours(w)).Should(Equal([]any{"green", "green", "blue"}))
		Eventually(ctx, reread(ctx, w)).Should(And(haveRollout(v1alpha1.RolloutProgressing, "last", v1alpha1.ReasonWaveNeedsApproval),
			haveLine("member-3", v1alpha1.StateHealthy, v1alpha1.ReasonWaveNeedsApproval),
			HaveField("Status.Counts.Updated", HaveValue(BeEquivalentTo(2)))))

		By("repairing drift on a waiting member back to its old revision")
		member := fleet.Member("member-3")
		member.setData(ctx, shop, "wave", "colour", "red", "kubectl-edit")
		Eventually(ctx, colours(w)).Should(Equal([]any{"green", "green", "blue"}))

		By("updating the last wave when it is approved")
		approve(ctx, "wave", "-n", shop, "--wave", "last")
		Eventually(ctx, colours(w)).Should(Equal([]any{"green", "green", "green"}))
		expectReady(ctx, w)
	})

	It("changes no further member after a failure, until the author corrects the wrapper", func(ctx SpecContext) {
		w := delivered(ctx, v1alpha1.FailurePause, build.Wave("canary", "member-1"))
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Objects = append(w.Spec.Objects, build.Raw(invalidService())) })
		Eventually(ctx, reread(ctx, w)).Should(And(haveRollout(v1alpha1.RolloutPaused, "canary", v1alpha1.ReasonRolloutStopped),
			haveLine("member-1", v1alpha1.StateStalled, v1alpha1.ReasonInvalid),
			haveLine("member-2", v1alpha1.StateHealthy, v1alpha1.ReasonRolloutStopped, "--retry"),
			HaveField("Status.Rollout.Failure.Cluster", "member-1")))
		Expect(fleet.Member("member-2").has("Service", w.Namespace, "bad")(ctx)).To(BeFalse())

		By("failing again with an edit that leaves the canary as it is")
		failed, other := w.Status.UpdateRevision, build.Override("ConfigMap", "wave")
		other.Clusters = &v1alpha1.ClusterSelection{Names: []string{"member-2"}}
		other.Patch = []v1alpha1.PatchOperation{build.Patch("replace", "/data/colour", "red")}
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Overrides = []v1alpha1.Override{other} })
		Eventually(ctx, reread(ctx, w)).Should(And(HaveField("Status.UpdateRevision", Not(Equal(failed))),
			haveRollout(v1alpha1.RolloutPaused, "canary", v1alpha1.ReasonRolloutStopped)))
		Expect(w.Status.Rollout.Failure).To(And(HaveField("Revision", w.Status.UpdateRevision), HaveField("Cluster", "member-1")))
		Expect(fleet.Member("member-2").has("Service", w.Namespace, "bad")(ctx)).To(BeFalse())

		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Objects, w.Spec.Overrides = w.Spec.Objects[:1], nil })
		paint(ctx, w, "green")
		Eventually(ctx, reread(ctx, w)).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))
		Expect(colours(w)(ctx)).To(Equal([]any{"green", "green", "green"}))
	})

	It("rolls the whole fleet back when the second wave fails, and tries again after hostctl approve", func(ctx SpecContext) {
		w := delivered(ctx, v1alpha1.FailureRollback, build.Wave("canary", "member-1"), build.Wave("second", "member-2"))
		bad := build.Override("ConfigMap", "wave")
		bad.Clusters = &v1alpha1.ClusterSelection{Names: []string{"member-2"}}
		bad.Patch = []v1alpha1.PatchOperation{build.Patch("add", "/data/-bad key", "x")}
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Overrides = []v1alpha1.Override{bad}
			w.Spec.Objects[0] = build.Raw(build.ConfigMap(w.Name, "colour", "green"))
		})
		Eventually(ctx, reread(ctx, w)).Should(And(haveRollout(v1alpha1.RolloutRolledBack, "", v1alpha1.ReasonRolloutStopped),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRolloutStopped),
			haveCondition(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonRolloutStopped),
			HaveField("Status.Rollout.Failure", And(HaveField("Wave", "second"), HaveField("Cluster", "member-2")))))
		Expect(colours(w)(ctx)).To(Equal([]any{"blue", "blue", "blue"}))
		Expect(w.Status.Rollout.RolledBackFrom).To(Equal(w.Status.UpdateRevision))
		killManager(ctx)
		Eventually(ctx, reread(ctx, w)).Should(haveRollout(v1alpha1.RolloutRolledBack, "", v1alpha1.ReasonRolloutStopped))
		Expect(colours(w)(ctx)).To(Equal([]any{"blue", "blue", "blue"}))
		approve(ctx, w.Name, "-n", w.Namespace, "--retry")
		Eventually(ctx, reread(ctx, w)).WithTimeout(afterKill).Should(And(HaveField("Status.Rollout.Retried.Time", Not(BeZero())),
			haveRollout(v1alpha1.RolloutRolledBack, "", v1alpha1.ReasonRolloutStopped)))
		Expect(colours(w)(ctx)).To(Equal([]any{"blue", "blue", "blue"}))
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Overrides = nil })
		Eventually(ctx, reread(ctx, w)).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))
		Expect(colours(w)(ctx)).To(Equal([]any{"green", "green", "green"}))
	})

	It("continues with the same wave when the manager is killed between two waves", func(ctx SpecContext) {
		w := delivered(ctx, v1alpha1.FailurePause, build.Wave("canary", "member-1"))
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.Waves = manualLast()
			w.Spec.Objects[0] = build.Raw(build.ConfigMap(w.Name, "colour", "green"))
		})
		Eventually(ctx, reread(ctx, w)).Should(haveRollout(v1alpha1.RolloutProgressing, "last", v1alpha1.ReasonWaveNeedsApproval))
		id := w.Status.Rollout.ID
		killManager(ctx)
		member := fleet.Member("member-3")
		member.setData(ctx, w.Namespace, "wave", "colour", "red", "kubectl-edit")
		Eventually(ctx, colours(w)).WithTimeout(afterKill).Should(Equal([]any{"green", "green", "blue"}))
		Expect(reread(ctx, w)(Default)).To(HaveField("Status.Rollout.ID", id))
		approve(ctx, w.Name, "-n", w.Namespace, "--wave", "last")
		killManager(ctx)
		Eventually(ctx, reread(ctx, w)).WithTimeout(afterKill).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))
		Expect(colours(w)(ctx)).To(Equal([]any{"green", "green", "green"}))
	})

	It("changes no more members than maxUnavailable, and none while it is suspended", func(ctx SpecContext) {
		w := author(ctx, build.Federated("wave").In(newShop(ctx)).ToMatching().With(build.ConfigMap("wave", "colour", "blue")))
		expectReady(ctx, w)
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Suspend, w.Spec.Rollout.MaxUnavailable = v1alpha1.SuspendRollout, ptr.To(intstr.FromString("34%"))
			w.Spec.Objects[0] = build.Raw(build.ConfigMap(w.Name, "colour", "green"))
		})
		Eventually(ctx, reread(ctx, w)).Should(haveRollout(v1alpha1.RolloutProgressing, "rest", v1alpha1.ReasonSuspended))
		Expect(colours(w)(ctx)).To(Equal([]any{"blue", "blue", "blue"}))
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Suspend = v1alpha1.SuspendNone })
		Eventually(ctx, reread(ctx, w)).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))
		Expect(colours(w)(ctx)).To(Equal([]any{"green", "green", "green"}))
	})

	It("brings a member that did not answer during two revisions to the right one", func(ctx SpecContext) {
		w := delivered(ctx, v1alpha1.FailurePause, build.Wave("canary", "member-1"))
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Rollout.ProgressDeadlineSeconds = awayForTooLong })
		fleet.Outage(ctx, "member-2")
		Eventually(ctx, reread(ctx, w)).Should(haveLine("member-2", v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable))
		paint(ctx, w, "green")
		Eventually(ctx, reread(ctx, w)).Should(haveRollout(v1alpha1.RolloutComplete, "", v1alpha1.ReasonUnreachable))
		paint(ctx, w, "red")
		Eventually(ctx, reread(ctx, w)).Should(haveRollout(v1alpha1.RolloutComplete, "", v1alpha1.ReasonUnreachable))
		Expect(fleet.Start(ctx, "member-2")).To(Succeed())
		Eventually(ctx, reread(ctx, w)).WithTimeout(afterKill).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))
		Expect(colours(w)(ctx)).To(Equal([]any{"red", "red", "red"}))
	})

	It("delivers to a member that did not answer at the first delivery, once it answers", func(ctx SpecContext) {
		fleet.Outage(ctx, "member-3")
		// An outage is noticed after up to 30 s where the member's address does not refuse connections, which is longer than the deadline below.
		Eventually(ctx, reread(ctx, registered("member-3"))).Should(haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, ""))
		w := build.Federated("wave").In(newShop(ctx)).ToMatching().With(build.ConfigMap("wave", "colour", "blue")).InWaves("", build.Wave("canary", "member-1")).Obj()
		w.Spec.Rollout.ProgressDeadlineSeconds = awayForTooLong
		fleet.Host.create(ctx, w)
		Eventually(ctx, reread(ctx, w)).Should(haveRollout(v1alpha1.RolloutComplete, "", v1alpha1.ReasonUnreachable))
		Expect(fleet.Member("member-1").field("ConfigMap", w.Namespace, "wave", "data", "colour")(ctx)).To(Equal("blue"))
		Expect(fleet.Start(ctx, "member-3")).To(Succeed())
		Eventually(ctx, reread(ctx, w)).WithTimeout(afterKill).Should(beReady())
		Expect(colours(w)(ctx)).To(Equal([]any{"blue", "blue", "blue"}))
	})

	DescribeTable("refuses an impossible strategy, and names the field", func(ctx SpecContext, change func(*v1alpha1.Rollout), words ...string) {
		w := build.Federated("bad").In("default").To("member-1").With(build.ConfigMap("bad")).Obj()
		change(&w.Spec.Rollout)
		err := fleet.Host.Create(ctx, w)
		Expect(err).To(HaveOccurred())
		for _, word := range words {
			Expect(err.Error()).To(ContainSubstring(word))
		}
	},
		Entry("two waves of one name", func(r *v1alpha1.Rollout) {
			r.Waves = []v1alpha1.RolloutWave{build.Wave("a", "member-1"), build.Wave("a")}
		}, "spec.rollout.waves[1]", "Duplicate value"),
		Entry("a percentage past 100", func(r *v1alpha1.Rollout) { r.MaxUnavailable = ptr.To(intstr.FromString("101%")) }, "spec.rollout.maxUnavailable", "from 1% to 100%"),
		Entry("a deadline below 1", func(r *v1alpha1.Rollout) { r.ProgressDeadlineSeconds = -1 }, "spec.rollout.progressDeadlineSeconds"),
		Entry("a wave rest that selects", func(r *v1alpha1.Rollout) {
			r.Waves = []v1alpha1.RolloutWave{build.Wave("rest", "member-1")}
		}, "spec.rollout.waves[0].clusters", "leave clusters out"),
	)
})
